"""The way to what people run: HTTP and WebSockets to the ports of workloads, each on a host name of its own.

The gateway is a process of its own. It has no database: it asks the API who may enter, and gets a connected
descriptor for every connection to a workload, so that what is open goes on when the API ends.
"""
