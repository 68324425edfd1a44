"""One live policy domain: its turns, its jobs and its story; no network and no process."""
