"""Rows of a CSV file; what is wrong is named by file and line."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from corral.core.refusals import Invalid


class Row:
    """One line of a table, with the place it came from."""

    __slots__ = ("_cells", "_place")

    def __init__(self, cells: dict[str, str], place: str) -> None:
        self._cells = cells
        self._place = place

    def text(self, column: str) -> str:
        found = self._cells.get(column) or ""
        if not found:
            raise self.wrong(column, "is empty", "Fill it in, or leave the line out.")
        return found

    def optional(self, column: str) -> str:
        return self._cells.get(column) or ""

    def number(self, column: str, *, least: int = 0) -> float:
        text = self.text(column)
        try:
            number = float(text)
        except ValueError:
            raise self.wrong(column, f"{text!r} is not a number", "Write a number, as 12 or 12.5.") from None
        # Written so that a NaN is refused too.
        if not least <= number < 1e15:
            raise self.wrong(column, f"{text} is not between {least} and 10^15", "Correct it.")
        return number

    def whole(self, column: str, *, least: int = 0) -> int:
        number = self.number(column, least=least)
        if number != int(number):
            raise self.wrong(column, f"{self.text(column)} is not a whole number", "Round it.")
        return int(number)

    def seconds(self, column: str, *, least: int = 0) -> int:
        """Whole seconds of a number that may have a fraction."""
        return max(least, round(self.number(column)))

    def wrong(self, column: str, message: str, remedy: str) -> Invalid:
        return Invalid.field(f"{self._place}, {column}", f"{message[0].upper()}{message[1:]}.", remedy)


def read_rows(file: Path, columns: Sequence[str]) -> Iterator[Row]:
    """The rows of `file`, which must have these columns."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as opened:
            reader = csv.DictReader(opened)
            missing = [column for column in columns if column not in (reader.fieldnames or ())]
            if missing:
                raise Invalid.field(
                    f"{file}, line 1",
                    f"The table has no column {', '.join(missing)}.",
                    f"Its columns must be: {', '.join(columns)}.",
                )
            for cells in reader:
                yield Row(cells, f"{file}, line {reader.line_num}")
    except OSError as error:
        raise unreadable(file, error) from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise Invalid.field(str(file), f"It is no CSV file: {error}.", "Name a CSV file in UTF-8.") from None


def header_of(file: Path) -> list[str]:
    """The names of the columns."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as opened:
            return next(csv.reader(opened), [])
    except OSError as error:
        raise unreadable(file, error) from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise Invalid.field(str(file), f"It is no CSV file: {error}.", "Name a CSV file in UTF-8.") from None


def unreadable(file: Path, error: OSError) -> Invalid:
    return Invalid.field(
        str(file), f"The file cannot be read: {error.strerror}.", "Name a file that is there."
    )
