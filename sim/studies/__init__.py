"""Studies: published experiments carried out again, one package each."""
