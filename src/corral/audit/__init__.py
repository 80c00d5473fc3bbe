"""The audit log: who did what to what. Written in the transaction of the change, kept for ever, indexed."""
