"""Nothing that others wrote speaks to the reader's terminal."""

import ast
import io
import json
import re
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.cli import visible
from corral.cli.visible import OutputFilter, TerminalBytes, json_text, plain

ATTACKS = [
    "\x1b]52;c;ZWNobyBvd25lZA==\x07",  # the clipboard
    "\x1b]0;title\x1b\\",
    "\x1bP+q544e\x1b\\",  # DCS: the terminal answers
    "\x1b_G\x1b\\",
    "\x1b[6n",  # where is the cursor: the answer is typed into the shell
    "\x1b[c",
    "\x1b[2J\x1b[H",
    "\x1bc",
    "\x9b6n",
    "\x9d52;c;AA\x9c",
    "\x05\x0e\x08\x7f",
    "safe\u202egnp.exe",
    "a\u200bb\u2066c\ufeff",
    "\U000e0041\ud800",
]
# What an adversary would make output of: pieces of sequences, and any character.
_PIECES = st.sampled_from(
    [
        "\x1b",
        "[",
        "]",
        "52;c;",
        "0",
        "31",
        "m",
        "K",
        "6n",
        "\r",
        "\n",
        "\t",
        "\x07",
        "\x9b",
        "\\",
        "P",
        "_",
        ";",
    ]
)
OUTPUT = st.lists(_PIECES | st.characters() | st.sampled_from(ATTACKS), max_size=40).map("".join)
_ALLOWED = re.compile(r"\x1b\[(?:[0-9;:]*m|[0-2]?K)")


def assert_harmless(text: str, kept: str = "") -> None:
    for character in text:
        if character not in kept:
            assert unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"}, repr(text)
            assert unicodedata.bidirectional(character) not in {
                *("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"),
            }, repr(text)
            assert character not in "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\xad", repr(text)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_a_terminal_obeys_is_shown_as_what_it_is(attack: str) -> None:
    assert_harmless(plain(attack))
    assert "\\" in plain(attack)
    assert_harmless(OutputFilter(own=False).pass_on(attack), "\n\t")
    own = OutputFilter(own=True)
    assert "\x1b" not in own.pass_on(attack) + own.end()


def test_words_of_all_languages_stay() -> None:
    text = "größe 資料 данные שלום مرحبا नमस्ते 👍 é"
    assert plain(text) == text
    assert OutputFilter(own=False).pass_on(text + "\n\ta\n") == text + "\n\ta\n"


@given(OUTPUT)
def test_nothing_hidden_comes_out_of_text(text: str) -> None:
    assert_harmless(plain(text))
    assert_harmless(plain(text, lines=True), "\n\t")


@given(OUTPUT, st.lists(st.integers(0, 60), max_size=6), st.booleans())
def test_only_colours_and_erasing_come_out_of_output_wherever_it_is_cut(
    text: str, cuts: list[int], own: bool
) -> None:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    output = OutputFilter(own=own)
    parts = [output.pass_on(text[start:end]) for start, end in pairwise(places)]
    seen = "".join([*parts, output.end()])
    assert_harmless(_ALLOWED.sub("", seen) if own else seen, "\n\t\r" if own else "\n\t")
    whole = OutputFilter(own=own)
    assert seen == whole.pass_on(text) + whole.end()
    # No part leaves the terminal inside a sequence.
    assert all(_ALLOWED.sub("", part).count("\x1b") == 0 for part in parts)


def test_colours_and_progress_bars_of_ones_own_work_stay_and_end_with_it() -> None:
    text = "\x1b[1;32mepoch\x1b[0m 1\r 50 %\x1b[K\r100 %\x1b[31m\n"
    own = OutputFilter(own=True)
    assert own.pass_on(text) == text
    assert own.end() == "\x1b[0m"
    assert OutputFilter(own=False).pass_on("\x1b[31mred\r") == "\\x1b[31mred\\x0d"


@given(st.recursive(OUTPUT, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(OUTPUT, inner)))
def test_json_is_harmless_and_means_the_same(value: object) -> None:
    for indent in (2, None):
        text = json_text(value, indent=indent)
        assert_harmless(text, "\n")
        assert json.loads(text) == value


def test_bytes_for_a_terminal_are_cleaned_also_where_a_character_is_cut() -> None:
    terminal = io.StringIO()
    file = TerminalBytes(terminal)
    for byte in "é\x1b]52;\u202e資\n".encode() + b"\xff":
        file.write(bytes([byte]))
    assert terminal.getvalue() == "é\\x1b]52;\\u202e資\n\ufffd"


CLI = Path(visible.__file__).parent
# Where text may be written: behind the functions above, or raw by nature (a shell inside one's own work).
WRITERS = {"visible.py", "output.py", "refusals.py", "exec.py"}
STREAMS = {"sys.stdout", "sys.stderr"}


@pytest.mark.parametrize("file", sorted(CLI.glob("*.py")), ids=lambda file: file.name)
def test_commands_print_through_one_module(file: Path) -> None:
    """A command that writes by itself would be one more place to forget."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in {"print", "typer.echo", "typer.secho", "click.echo", "json.dumps"}:
                found.append((node.lineno, called))
            if called.endswith(".write") and any(stream in called for stream in STREAMS):
                found.append((node.lineno, called))
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in {
            "sys.stdout.buffer",
            "sys.stderr.buffer",
        }:
            found.append((node.lineno, ast.unparse(node)))
    assert not found or file.name in WRITERS, found
