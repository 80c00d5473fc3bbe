"""Archives as an attacker or a careless program would make them."""

import io
import tarfile


def entry(name: str, content: bytes = b"", **more: object) -> tuple[tarfile.TarInfo, bytes]:
    made = tarfile.TarInfo(name)
    made.size = len(content)
    for key, value in more.items():
        setattr(made, key, value)
    return made, content


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, type=kind, linkname=target)


def directory(name: str) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, type=tarfile.DIRTYPE, mode=0o755)


def tar_of(*entries: tuple[tarfile.TarInfo, bytes], packed: bool = False) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz" if packed else "w") as tar:
        for made, content in entries:
            tar.addfile(made, io.BytesIO(content))
    return file.getvalue()
