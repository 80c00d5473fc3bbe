"""What was used: samples that are rolled up, and the ledger that is exact."""
