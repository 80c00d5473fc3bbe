"""What happened, recorded for what-if, reports and balances: shares of queues, arrivals and run times."""
