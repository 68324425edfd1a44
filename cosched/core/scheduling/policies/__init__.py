"""Who comes first (ordering) and who may pass whom (backfilling)."""
