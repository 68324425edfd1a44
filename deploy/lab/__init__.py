"""What the laboratories of all batch systems share: waiting, processes that end with the laboratory, services."""
