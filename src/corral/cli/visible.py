"""What others wrote, shown so that it cannot speak to the terminal.

A terminal obeys what is printed on it: it can be told to change the clipboard (OSC 52), to answer into the
shell's input, to write over lines. Characters that do such things, turn the direction of text or cannot be
seen are shown as what they are: `\\x1b`, `\\u202e`.
"""

import codecs
import json
import re
from typing import TextIO

__all__ = ["OutputFilter", "TerminalBytes", "json_text", "plain"]

# Controls (C0, DEL, C1), marks of direction, invisible and zero-width characters, halves of characters.
_HIDDEN = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSAFE = re.compile(f"[{_HIDDEN}]")
_UNSAFE_IN_LINES = re.compile(f"(?![\n\t])[{_HIDDEN}]")
# Colours, and erasing within the line: what a progress bar needs, together with a carriage return.
_STYLE = re.compile(r"\x1b\[(?:[0-9;:]{0,30}m|[0-2]?K)")
_BEGUN_STYLE = re.compile(r"\x1b(?:\[[0-9;:]{0,30})?\Z")
_OWN = re.compile(f"(?P<style>{_STYLE.pattern})|(?![\n\t\r])[{_HIDDEN}]")
_RESET = "\033[0m"


def plain(text: str, *, lines: bool = False) -> str:
    """The text without anything that a terminal obeys; with `lines`, it may have several, and tabs."""
    return (_UNSAFE_IN_LINES if lines else _UNSAFE).sub(_shown, text)


def json_text(value: object, *, indent: int | None = 2) -> str:
    """JSON in which characters that a terminal obeys are escaped; it means the same."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return _UNSAFE_IN_LINES.sub(lambda found: json.dumps(found[0])[1:-1], text)


class OutputFilter:
    """Output of work, part by part. In the caller's own output (`own`), colours and progress bars stay."""

    def __init__(self, *, own: bool) -> None:
        self._own = own
        self._begun = ""
        self._styled = False

    def pass_on(self, text: str) -> str:
        """What may be printed of it; a sequence that is not whole yet waits for the next part."""
        if not self._own:
            return plain(text, lines=True)
        text = self._begun + text
        begun = _BEGUN_STYLE.search(text)
        self._begun = begun[0] if begun else ""
        return self._cleaned(text.removesuffix(self._begun) if begun else text)

    def end(self) -> str:
        """What is left at the end, and an end to colours."""
        rest = self._cleaned(self._begun) + (_RESET if self._styled else "")
        self._begun, self._styled = "", False
        return rest

    def _cleaned(self, text: str) -> str:
        return _OWN.sub(self._kept, text)

    def _kept(self, found: re.Match[str]) -> str:
        if found["style"] is None:
            return _shown(found)
        self._styled = True
        return found[0]


class TerminalBytes:
    """A file of bytes for what is written to a terminal as text."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: bytes) -> int:
        self._terminal.write(plain(self._decoder.decode(data), lines=True))
        return len(data)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
