"""Chooses machines for an application by a model of its performance, as GrADS does (Dail, Casanova, Berman 2002)."""
