"""The client: one object per address and caller, one attribute per kind of object."""

from collections.abc import Generator, Mapping

from corral_sdk._audit import Audit
from corral_sdk._endpoint import find_endpoint, find_token
from corral_sdk._history import History
from corral_sdk._inputs import Secrets, Uploads
from corral_sdk._me import Me, SessionResource, SshKeys, Tokens
from corral_sdk._people import Grants, Invitations, JoinCodes, Organisations, Roles, Users
from corral_sdk._platform import SettingsResource, SystemResource, events
from corral_sdk._queues import Flavors, QueueTree
from corral_sdk._transport import Transport
from corral_sdk._usage import Metrics, Samples, Usage
from corral_sdk._workloads import Workloads
from corral_sdk._zones import Devices, Hosts, Nodes, Pools, Zones
from corral_sdk.kinds import Kinds
from corral_sdk.models import Event

__all__ = ["Client"]


class Client(Kinds):
    """Talks to one Corral as one caller. Safe to share between threads.

    Without arguments it finds Corral by itself: see `find_endpoint`. `ca_file` (PEM) names certificates to
    trust beside the machine's own, where a private authority signed Corral's.

        client = Client()
        for user in client.users.list(search="chen"):
            print(user.display_name)
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout_seconds: float = 30.0,
        allow_plain_http: bool = False,
        ca_file: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.endpoint = find_endpoint(url, token, environ)
        transport = Transport(
            self.endpoint.url,
            self.endpoint.token,
            timeout_seconds,
            allow_plain_http,
            ca_file or self.endpoint.ca_file,
            find_token=lambda: find_token(self.endpoint.url, url, token, environ),
        )
        super().__init__(transport)
        self._transport = transport
        self.session = SessionResource(transport)
        self.me = Me(transport)
        self.tokens = Tokens(transport)
        self.ssh_keys = SshKeys(transport)
        self.organisations = Organisations(transport)
        self.users = Users(transport)
        self.grants = Grants(transport)
        self.roles = Roles(transport)
        self.invitations = Invitations(transport)
        self.join_codes = JoinCodes(transport)
        self.audit = Audit(transport)
        self.workloads = Workloads(transport)
        self.usage = Usage(transport)
        self.history = History(transport)
        self.uploads = Uploads(transport)
        self.secrets = Secrets(transport)
        self.samples = Samples(transport)
        self.metrics = Metrics(transport)
        self.settings = SettingsResource(transport)
        self.system = SystemResource(transport)
        self.zones = Zones(transport)
        self.hosts = Hosts(transport)
        self.pools = Pools(transport)
        self.nodes = Nodes(transport)
        self.devices = Devices(transport)
        self.queues = QueueTree(transport)
        self.flavors = Flavors(transport)

    def __repr__(self) -> str:
        return f"Client({self.endpoint.url!r})"

    def events(self, last_event_id: str | None = None) -> Generator[Event, None, None]:
        """Changes the caller may see, endlessly; continues after `last_event_id`."""
        return events(self._transport, last_event_id)
