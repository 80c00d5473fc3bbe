"""Directories that users can write to: workspaces, homes, runtimes, and how much may lie in them.

Whoever owns such a directory can exchange anything in it at any moment. So it is touched through `user_files`
alone, and everything that counts, copies, bounds or removes users' files is in this room.
"""
