"""Studies that repeat papers on coscheduling and scheduling, and go on from them."""
