"""Uploaded archives: one bounded reader, for the check when one arrives and for unpacking when work starts.

Whatever reads an archive runs in a process of its own with limits (`child`); nothing here is decompressed in
the process that answers requests. The type is what the sender declared: nothing is guessed from the content.
"""
