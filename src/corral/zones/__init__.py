"""Places with machines: zones, pools, nodes, devices, and the journal of what scheduling can see."""
