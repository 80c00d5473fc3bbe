"""What a person declares an upload to be, and the words when it is refused."""

from corral.core.refusals import Invalid, UnknownType
from corral.engines.archives.limits import BadArchive, Form, UnreadableArchive

# By the media type of the request.
FORMS = {
    "application/x-tar": Form.TAR,
    "application/gzip": Form.GZIP,
    "application/x-gzip": Form.GZIP,
}


def declared(content_type: str | None) -> Form:
    """The type is what the sender says; the content is never asked what it might be."""
    said = (content_type or "").partition(";")[0].strip().lower()
    if said not in FORMS:
        raise UnknownType(
            "It is not said what kind of archive this is."
            if not said
            else f"Archives of the type {said[:80]!r} are not taken.",
            "Send a tar archive with Content-Type: application/x-tar, or application/gzip if it is gzipped.",
        )
    return FORMS[said]


def refused(error: BadArchive, form: Form) -> Invalid:
    """The same words, with what to do."""
    detail = str(error)
    if isinstance(error, UnreadableArchive):
        other = "application/gzip" if form is Form.TAR else "application/x-tar"
        return Invalid.field(
            "body", detail, f"Pack the directory anew; or was {other} meant as its Content-Type?"
        )
    return Invalid.field(
        "body", detail, "Leave it out (a line in .corralignore), or pack the directory anew."
    )
