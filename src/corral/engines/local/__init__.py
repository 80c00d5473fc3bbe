"""Work on this machine: a supervisor per attempt, a sandbox per replica, doors as file descriptors."""
