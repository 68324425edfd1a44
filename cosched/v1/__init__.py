"""The protocol, generated from proto/cosched/v1 by `make proto`: do not edit the modules here."""
