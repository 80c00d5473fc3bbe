"""Places with machines: zones, their pools, nodes and devices, and the journal that scheduling reads."""
