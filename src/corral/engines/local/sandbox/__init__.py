"""One replica in its sandbox: what it sees of the machine, how it is launched, how it is entered later.

The room knows bubblewrap and namespaces and nothing of attempts, records or Corral, so that `trial` can start
a sandbox just as a supervisor does. Standard library only.
"""
