"""Tests of what Grid Engine's commands print, without it."""
