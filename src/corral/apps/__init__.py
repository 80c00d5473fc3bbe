"""Apps: the ports of workloads as people open them in a browser. Who may enter is decided here; the gateway,
a process of its own, asks and carries the bytes."""
