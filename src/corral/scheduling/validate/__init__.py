"""Validation: the snapshot, its JSON form, and the checks that the form cannot make.

Nothing else in the package checks its input: what comes through here is complete and consistent. Every
error names the field and the remedy.
"""
