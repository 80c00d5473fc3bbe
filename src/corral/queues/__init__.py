"""Who is entitled to what: the queue tree, quotas per pool, and flavors to choose from."""
