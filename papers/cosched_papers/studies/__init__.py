"""The studies, each with its set-up, measures, comparisons and words; `cosched study` carries them out."""
