"""The page of a domain: what people see of its jobs with a browser. It changes nothing."""
