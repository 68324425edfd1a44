"""What comes of a replay: jobs and measures, the files of a run, and the words for them."""
