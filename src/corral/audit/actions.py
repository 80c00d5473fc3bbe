"""Every action that the audit log can tell of. A word that is not here is not recorded."""

ACTIONS: dict[str, str] = {
    "audit.export": "Exported entries of the audit log",
}
