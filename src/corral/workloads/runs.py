"""How runs are named: a run is one replica of one attempt."""


def run_name(workload_id: str, attempt: int, replica: int) -> str:
    """How the engine and the ledger name a replica of an attempt, for ever."""
    return f"{workload_id}-{attempt}-{replica}"
