"""Studies: repetitions of published experiments, one package each."""
