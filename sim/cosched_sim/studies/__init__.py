"""Studies: experiments with several replications, published ones among them. Each package says what is its own."""
