"""`python -m tests.bench.loop`: how long a busy domain's loop is taken up at a time, by kind of scheduler."""
