"""What this machine has and can do: hardware, isolation, and the tools that Corral brings along.

AdoptedAttempts once when the engine is opened. What cannot be found here cannot be given to work.
"""
