"""The installation itself: its settings, mail, first-day checklist and machine."""
