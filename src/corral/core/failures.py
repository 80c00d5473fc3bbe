"""What went wrong, in words that may be shown: no parameters, no paths of the server, no traces."""

from pathlib import PurePath

from corral.core.refusals import Refusal

MOST_CHARACTERS = 300


def in_words(error: BaseException, *, with_names: bool = False) -> str:
    """`with_names` adds the last part of a file's name: for whoever may see what it belongs to."""
    text = _text(error, with_names=with_names)
    shown = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
    return shown if len(shown) <= MOST_CHARACTERS else f"{shown[: MOST_CHARACTERS - 1]}…"


def _text(error: BaseException, *, with_names: bool) -> str:
    match error:
        case BaseExceptionGroup():
            return "; ".join(dict.fromkeys(in_words(one, with_names=with_names) for one in error.exceptions))
        case Refusal():
            return error.detail.rstrip(".")
        case TimeoutError():
            return "it took too long"
        case OSError():
            what = error.strerror or type(error).__name__
            named = with_names and isinstance(error.filename, str) and PurePath(error.filename).name
            return f"{what}: {named}" if named else what
    kind = type(error)
    if kind.__module__.startswith("sqlalchemy"):
        return f"the database refused it ({kind.__name__})"
    return f"an error of Corral itself ({kind.__name__}); its log has more"
