"""People: the organisation tree, users, roles, how they log in and what they may do."""
