"""Checks of files and flags: types of settings, fields shared by several models, mistakes described in one line."""
