"""The kernel's interfaces that Python has no function for: system calls, the seccomp filter, control groups.

It lies at the bottom because everything else here stands on it. Supervisors import it: standard library only.
"""
