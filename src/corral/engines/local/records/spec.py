"""The intent: what a supervisor is to start, as it is written down before anything starts. No secrets."""

from dataclasses import asdict, dataclass, field

NO_SANDBOX = "none"


@dataclass(frozen=True, slots=True)
class ReplicaSpec:
    """One replica. `devices` are device files, `held` what it holds of which device (None: all of it)."""

    run: str
    replica: str
    command: tuple[str, ...]
    environment: dict[str, str]
    cpu_milli: int
    memory_mib: int
    processes: int
    disk_mib: int
    devices: tuple[str, ...] = ()
    held: tuple[tuple[str, int | None], ...] = ()
    readiness: dict[str, object] | None = None  # how to find out that it is ready; None: when it runs


@dataclass(frozen=True, slots=True)
class Spec:
    """One attempt. `mode` is that of the sandbox, or that there is none; `allowed` see `addresses`."""

    attempt: str
    workload: str
    node: str
    owner: str
    mode: str
    uid: int
    gid: int
    workspace: str
    sockets: str
    replicas: tuple[ReplicaSpec, ...]
    home: str | None = None
    home_mib: int = 0  # how much may lie there; 0 does not bound it
    files: int = 0  # how many files may lie in the workspace, and in the home; 0 does not bound them
    person_mib: int = 0  # how much may lie in all workspaces of its owner, and how many files
    person_files: int = 0
    person_counts: str = ""  # where supervisors write down what they counted
    home_count: str = ""  # where supervisors tell each other how much does
    runtime: str | None = None  # the path at which an environment is shown
    runtime_source: str | None = None  # where it lies
    builds: str | None = None  # where it makes an environment
    sealed: str | None = None  # where that is kept when it has ended well
    shown: tuple[tuple[str, str], ...] = ()  # files of Corral's own: where they are, where they appear
    network: bool = False
    allowed: tuple[str, ...] = ()
    time_limit_seconds: int | None = None
    disk_look_seconds: float = 10
    groups: dict[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    intended: int = 0

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def spec_from(content: dict[str, object]) -> Spec:
    """Reads what `as_dict` made, also of another version: what is unknown is left out."""
    fields = {key: value for key, value in content.items() if key in Spec.__slots__}
    replicas = fields["replicas"]
    assert isinstance(replicas, list)
    fields["replicas"] = tuple(_replica(entry) for entry in replicas)
    for name in ("notes", "allowed"):
        fields[name] = tuple(fields.get(name, ()))  # type: ignore[arg-type]
    return Spec(**fields)  # type: ignore[arg-type]


def _replica(content: dict[str, object]) -> ReplicaSpec:
    fields = {key: value for key, value in content.items() if key in ReplicaSpec.__slots__}
    fields["command"] = tuple(fields["command"])  # type: ignore[arg-type]
    fields["devices"] = tuple(fields["devices"])  # type: ignore[arg-type]
    fields["held"] = tuple(tuple(use) for use in fields["held"])  # type: ignore[attr-defined]
    return ReplicaSpec(**fields)  # type: ignore[arg-type]
