"""Reports: what a replay, a sweep or a study found, as one HTML page with its figures."""
