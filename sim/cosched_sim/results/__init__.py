"""The results of a replay: jobs and metrics, the files of a run, and the words for them."""
