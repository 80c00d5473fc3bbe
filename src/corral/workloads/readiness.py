"""Ports and readiness of a document as engines take them."""

from corral.engines.tasks import HttpReadiness, OutputReadiness, Port, PortProtocol, Readiness, TcpReadiness
from corral.workloads.documents import DamagedDocumentError, Document


def ports_of(document: Document) -> tuple[Port, ...]:
    return tuple(Port(one.name, one.number, PortProtocol(one.protocol)) for one in document.ports)


def readiness_of(document: Document) -> Readiness | None:
    asked = document.readiness
    if asked is None:
        return None
    if asked.output is not None:
        return OutputReadiness(asked.output)
    if asked.port is None:
        raise DamagedDocumentError("readiness: neither port nor output")
    return TcpReadiness(asked.port) if asked.path is None else HttpReadiness(asked.port, asked.path)
