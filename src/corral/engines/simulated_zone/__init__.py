"""The engine of a zone of kind `simulated`: a world that is a function of rows and real time.

- `inventory`: nodes and devices, from a short text or a document.
- `world`: pure. What a run is at an instant, and how a signal, a kill or a lost node changes what follows.
- `tables`, `rows`: what is kept, and how it is read and written inside a transaction.
- `logs`, `measure`: output and use, computed from the same rows.
- `engine`: the interface of engines on top of them.

A run's row has the instants at which its phases begin, those ahead included. Nobody has to be there when one
comes: whoever looks later finds the same. Every zone has a horizon, the latest instant that somebody was told
about or wrote at. Time of a zone never goes behind it, whatever the clocks of its drivers say, and a write
changes only what lies after it. So what was told stays true, and a cursor is just an instant.
"""
