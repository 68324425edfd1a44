"""Studies: published experiments carried out again, one package each."""

NAMES = ("tang2011", "reference")
