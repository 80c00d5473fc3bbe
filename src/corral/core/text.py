"""How names are cleaned and compared."""

import unicodedata


def clean_name(text: str) -> str:
    """The text in one Unicode form, without space at the ends or runs of space inside."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def name_key(text: str) -> str:
    """What two names share when people would read them as the same: compatibility form, case folded."""
    return unicodedata.normalize("NFKC", clean_name(text)).casefold()


def has_control_characters(text: str) -> bool:
    """Whether the text has characters that change how other text is shown (controls, bidirectional marks)."""
    return any(unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn"} for character in text)
