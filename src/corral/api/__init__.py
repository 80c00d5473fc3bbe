"""What every route is made of: callers and permissions, problems, pages, versions, idempotent creation."""
