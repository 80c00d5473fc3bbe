"""How Corral is reached: address, TLS, names, and how many may be connected."""

import ipaddress
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import field_validator, model_validator
from pydantic_core import PydanticCustomError

from corral.core.networks import is_loopback
from corral.server.settings.values import (
    HOST_NAME,
    Group,
    Names,
    OptionalPath,
    WholeNumber,
    absolute,
    address_of,
    conflict,
    in_url,
    setting,
    split_url,
)

_PUBLIC_WITHOUT_TLS = (
    "other machines could reach this address, and without TLS they could read passwords on the way. "
    "Give tls_certificate and tls_key, or behind_proxy = https://<name> when a proxy ends TLS. "
    "Without either, stay on 127.0.0.1 and use an SSH tunnel from the other machine: "
    "ssh -L {port}:127.0.0.1:{port} <user>@<this machine>, then open http://127.0.0.1:{port} there"
)


class Network(Group):
    host: str = setting(
        "127.0.0.1",
        "The address to listen on. Anything but loopback needs TLS: a certificate, or behind_proxy.",
        "an IP address or host name of this machine",
        min_length=1,
        max_length=253,
    )
    port: WholeNumber = setting(
        8710, "The port of console and API.", "a whole number from 1 to 65535", ge=1, le=65535
    )
    apps_port: WholeNumber = setting(
        8711,
        "The port of apps: what workloads serve to browsers, each on a host name of its own. 0: any that is "
        "free.",
        "a whole number from 0 to 65535",
        ge=0,
        le=65535,
    )
    apps_domain: str = setting(
        "",
        "The domain below which apps have their host names, such as apps.example.org: its DNS entry and its "
        "certificate are a wildcard (*.apps.example.org). It should share no more with the console than the "
        "top-level domain. Empty: localhost where Corral is reached without TLS, and no apps where it is "
        "reached with TLS.",
        "empty, or a domain name without port",
        max_length=200,
    )
    tls_certificate: OptionalPath = setting(
        None,
        "Certificate chain (PEM), when Corral serves HTTPS itself. Needs tls_key. Both are read at start: "
        "start Corral again after a renewal.",
        "empty, or the path of a readable PEM file",
    )
    tls_key: OptionalPath = setting(
        None, "Private key (PEM) of tls_certificate.", "empty, or the path of a readable PEM file"
    )
    behind_proxy: str = setting(
        "",
        "The public https:// address, when a proxy in front of Corral ends TLS. It must pass Host and append "
        "the caller's address to X-Forwarded-For.",
        "empty, or https://<name> or https://<name>:<port>, without a path",
    )
    trusted_proxies: Names = setting(
        ("127.0.0.1", "::1"),
        "Addresses or networks whose X-Forwarded-* headers are trusted while behind_proxy is set.",
        "IP addresses or networks, separated by commas",
    )
    host_names: Names = setting(
        (),
        "Further names under which browsers reach Corral; the first is used in links. Needed when Corral "
        "serves HTTPS itself on all interfaces. A request that names another host is refused.",
        "host names without port, separated by commas",
    )
    internal_url: str = setting(
        "",
        "Where the other hosts of this Corral reach this one, and nobody else in its place. Empty: its own "
        "address. Needed when a proxy in front ends TLS.",
        "empty, https://<name> or https://<name>:<port>, or http:// with a loopback address",
    )
    internal_ca: OptionalPath = setting(
        None,
        "Certificate authority (PEM) that signed the certificates of the other hosts, if it is not one that "
        "this machine trusts anyway.",
        "empty, or the path of a readable PEM file",
    )
    connections: WholeNumber = setting(
        2000,
        "Connections that are open at a time; at most half of the open files that the system allows. When "
        "all are taken, the one that has waited longest without a request is closed.",
        "a whole number from 64 to 30000",
        ge=64,
        le=30000,
    )
    connections_per_address: WholeNumber = setting(
        500,
        "Of these, how many may come from one address. This machine and trusted_proxies have as many as "
        "there are.",
        "a whole number from 8 to 30000",
        ge=8,
        le=30000,
    )
    header_seconds: WholeNumber = setting(
        20,
        "How long a client may take to agree on TLS, and to send the header of a request, which has at most "
        "64 KiB.",
        "a whole number from 1 to 600",
        ge=1,
        le=600,
    )
    stalled_seconds: WholeNumber = setting(
        30,
        "A client that sends nothing of the body that it announced, or reads nothing of what it is sent, is "
        "dropped after this many seconds. A body may come at 1 KiB/s, no slower.",
        "a whole number from 1 to 600",
        ge=1,
        le=600,
    )

    @field_validator("host")
    @classmethod
    def _known_host_form(cls, host: str) -> str:
        if address_of(host) is None and not HOST_NAME.fullmatch(host):
            raise PydanticCustomError("host", "it is not an IP address or host name")
        return host.lower()

    @field_validator("tls_certificate", "tls_key", "internal_ca")
    @classmethod
    def _readable_file(cls, path: Path | None) -> Path | None:
        if path is None:
            return None
        path = absolute(path)
        try:
            with path.open("rb"):
                return path
        except OSError as error:
            raise PydanticCustomError(
                "file", "it cannot be read: {why}", {"why": error.strerror or "?"}
            ) from None

    @field_validator("behind_proxy")
    @classmethod
    def _https_origin(cls, url: str) -> str:
        if not url:
            return url
        parts = split_url(url)
        if parts is None or parts.scheme != "https" or not parts.hostname:
            raise PydanticCustomError("proxy", "it is not an https:// address")
        if parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
            raise PydanticCustomError("proxy", "only name and port may follow https://")
        # Browsers leave the usual port out of Origin, and it is compared with this.
        return f"https://{parts.netloc.lower().removesuffix(':443')}"

    @field_validator("internal_url")
    @classmethod
    def _safe_origin(cls, url: str) -> str:
        if not url:
            return url
        parts = split_url(url)
        if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
            raise PydanticCustomError("proxy", "it is no https:// address")
        if parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
            raise PydanticCustomError("proxy", "only name and port may follow https://")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise PydanticCustomError("proxy", "without TLS others could read code and shells on the way")
        return f"{parts.scheme}://{parts.netloc.lower()}"

    @field_validator("apps_domain")
    @classmethod
    def _plain_domain(cls, domain: str) -> str:
        if domain and not HOST_NAME.fullmatch(domain):
            raise PydanticCustomError("host", "it is no domain name")
        return domain.lower()

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        for network in networks:
            try:
                ipaddress.ip_network(network)
            except ValueError:
                raise PydanticCustomError(
                    "network", "{what} is not an address or network", {"what": network}
                ) from None
        return networks

    @field_validator("host_names")
    @classmethod
    def _plain_host_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if address_of(name) is None and not HOST_NAME.fullmatch(name):
                raise PydanticCustomError("host", "{what} is not a host name", {"what": name})
        return tuple(name.lower() for name in names)

    @model_validator(mode="after")
    def _reached_safely(self) -> Self:
        if self.tls_certificate and not self.tls_key:
            raise conflict("tls_key", "tls_certificate is set, and a certificate needs its private key")
        if self.tls_key and not self.tls_certificate:
            raise conflict("tls_certificate", "tls_key is set, and a key needs its certificate")
        if not self.is_loopback and not self.is_tls:
            raise conflict("host", _PUBLIC_WITHOUT_TLS.format(port=self.port))
        if self.apps_port and self.apps_port == self.port:
            raise conflict("apps_port", "console and apps need a port each")
        if self.serves_tls and self._is_wildcard and not (self.host_names or self.behind_proxy):
            raise conflict("host_names", "Corral listens on all interfaces and cannot know its name")
        return self

    @property
    def _is_wildcard(self) -> bool:
        address = address_of(self.host)
        return address is not None and address.is_unspecified

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the port."""
        address = address_of(self.host)
        if address is not None:
            return address.is_loopback
        return self.host == "localhost" or self.host.endswith(".localhost")

    @property
    def serves_tls(self) -> bool:
        """Whether Corral itself ends TLS, with its own certificate."""
        return self.tls_certificate is not None

    @property
    def is_tls(self) -> bool:
        """Whether browsers reach Corral over https: decides cookie names and flags."""
        return self.serves_tls or bool(self.behind_proxy)

    @property
    def public_url(self) -> str:
        """The address people open, without a trailing slash."""
        if self.behind_proxy:
            return self.behind_proxy
        if self.serves_tls:
            port = "" if self.port == 443 else f":{self.port}"
            return f"https://{in_url(self.host_names[0] if self.host_names else self.host)}{port}"
        return f"http://{in_url(self.host)}:{self.port}"

    @property
    def apps_names(self) -> tuple[str, str] | None:
        """Scheme and domain, with its port, of the host names of apps; None where there are none."""
        if not self.is_tls:
            return "http", f"{self.apps_domain or 'localhost'}:{self.apps_port}"
        if not self.apps_domain:
            return None
        port = "" if self.behind_proxy or self.apps_port == 443 else f":{self.apps_port}"
        return "https", f"{self.apps_domain}{port}"

    @property
    def local_url(self) -> str:
        """The address for programs on this machine, past any proxy."""
        if self.serves_tls:
            return self.public_url
        host = "127.0.0.1" if self._is_wildcard else self.host
        return f"http://{in_url(host)}:{self.port}"

    @property
    def announced_url(self) -> str:
        """The address for other hosts; empty where there is none that is safe."""
        if self.internal_url:
            return self.internal_url
        if self.serves_tls:
            return self.public_url
        return self.local_url if self.is_loopback else ""

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """Names a request's Host header may carry (without port), lower case; all else is refused."""
        names = ["localhost", "127.0.0.1", "::1"]
        if not self._is_wildcard:
            names.append(self.host)
        if self.behind_proxy:
            names.append(urlsplit(self.behind_proxy).hostname or "")
        if self.internal_url:
            names.append(urlsplit(self.internal_url).hostname or "")
        return tuple(dict.fromkeys([*names, *self.host_names]))
