"""How names are cleaned and compared."""

import unicodedata


def clean_name(text: str) -> str:
    """The text in one Unicode form, without space at the ends or runs of space inside."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def name_key(text: str) -> str:
    """What two names share when people would read them as the same: compatibility form, case folded."""
    return unicodedata.normalize("NFKC", clean_name(text)).casefold()


# Controls, bidirectional and zero-width marks, tags, halves of characters, private and unassigned ones, and
# separators of lines.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# What else is drawn as nothing: joiners, fillers of Hangul and Khmer, a Braille blank, variation selectors.
_HIDDEN = frozenset(
    map(
        chr,
        (
            *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
            *range(0x180B, 0x1810),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ),
    )
)


def hidden_character(text: str) -> str | None:
    """The first character that cannot be seen, or that changes how other text is shown, as `U+202E`."""
    for character in text:
        if character in _HIDDEN or unicodedata.category(character) in _HIDDEN_CATEGORIES:
            return f"U+{ord(character):04X}"
    return None
