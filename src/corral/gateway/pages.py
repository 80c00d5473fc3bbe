"""What the gateway says itself: short pages without scripts of others, that say what to do."""

import html
from http import HTTPStatus

from corral.gateway.front import Refused
from corral.gateway.heads import Header

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:15vh auto;max-width:34rem;padding:0 1.5rem;color:#1f2328;"
    "background:#fff}h1{font-size:1.25rem}a,button{color:#0b6a75}button{font:inherit;padding:.4rem 1rem;"
    "border:1px solid;border-radius:6px;background:none;cursor:pointer}p.more{color:#656d76}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}a,button{color:#5bb8c4}}"
)
_POLICY = b"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
_REFRESH_SECONDS = 2


def page(
    status: HTTPStatus,
    title: str,
    text: str,
    *,
    link: tuple[str, str] | None = None,
    button: tuple[str, str] | None = None,
    refresh: bool = False,
    headers: tuple[Header, ...] = (),
) -> Refused:
    """`link` and `button` are an address and its words; a button posts to this host."""
    parts = [f"<h1>{html.escape(title)}</h1><p>{html.escape(text)}</p>"]
    if button is not None:
        action, words = (html.escape(each) for each in button)
        parts.append(f'<form method="post" action="{action}"><button>{words}</button></form>')
    if link is not None:
        parts.append(f'<p><a href="{html.escape(link[0])}">{html.escape(link[1])}</a></p>')
    again = f'<meta http-equiv="refresh" content="{_REFRESH_SECONDS}">' if refresh else ""
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>{again}'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>{"".join(parts)}</html>\n'
    )
    own: tuple[Header, ...] = (
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-security-policy", _POLICY),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
    )
    return Refused(int(status), body.encode(), own + headers)


def plain(status: HTTPStatus, text: str) -> Refused:
    """For programs, which read no page."""
    headers = ((b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store"))
    return Refused(int(status), text.encode() + b"\n", headers)
