"""The numbers and claims of the paper beside our results."""
