"""Explaining: why a workload waits, when it will probably start, and what would help.

Remedies are never guessed: each is applied, scheduled and undone. Reasons are codes with facts; `wording`
turns them into English.
"""
