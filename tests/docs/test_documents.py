"""What the documents say is true: links lead somewhere, named commands exist."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("sdk/**/*.md"), *ROOT.glob("examples/*.md")]
)

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_INLINE_CODE = re.compile(r"`([^`\n]+)`")


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)


@cache
def text_of(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def code_of(document: Path) -> list[str]:
    """The lines of code blocks, fenced or indented, and every piece of inline code."""
    text = text_of(document)
    blocks = [line for block in _FENCE.findall(text) for line in block.splitlines()[1:-1]]
    prose = _FENCE.sub("", text)
    indented = [line.strip() for line in prose.splitlines() if line.startswith("    ")]
    return [line.strip() for line in [*blocks, *indented, *_INLINE_CODE.findall(prose)]]


def anchors_of(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", text_of(document)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_document
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    broken = []
    for link in _LINK.findall(_FENCE.sub("", text_of(document))):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []


@every_document
def test_make_targets_that_are_named_exist(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {match[1] for line in code_of(document) if (match := re.match(r"make ([a-z-]+)", line))}
    assert named <= targets


@every_document
def test_document_begins_with_its_title(document: Path) -> None:
    assert re.match(r"# \S", text_of(document))
