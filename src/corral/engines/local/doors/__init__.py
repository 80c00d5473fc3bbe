"""The network of a sandbox, which has loopback alone: connections in, and a proxy out.

Both are file descriptors that cross the border, never addresses: there is no interface, route or firewall
rule to get wrong. Which addresses the proxy may connect to is decided in one place (`address_policy`).
"""
