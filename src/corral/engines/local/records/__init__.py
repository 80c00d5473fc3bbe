"""What is written down about an attempt, and where: the intent, locks, endings, output, counters.

Corral and its supervisors share nothing but these files and one socket, and supervisors of an older Corral
live on across an upgrade. So what is on disk is a protocol: names and fields here change only with a new
version.
"""
