"""How a benchmark shows what it measured: a table for people, a file for programs."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


def parser(benchmark: str, description: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog=f"python -m benchmarks.{benchmark}", description=description)
    made.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    return made


def show(benchmark: str, rows: Sequence[Row], file: Path | None) -> None:
    """Prints the rows, whose columns are those of the first; writes them to `file` if there is one."""
    columns = list(rows[0])
    cells = [columns, *([_words(row[column]) for column in columns] for row in rows)]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    for line in cells:
        first, *others = zip(line, widths, strict=True)
        numbers = "  ".join(cell.rjust(width) for cell, width in others)
        print(f"{first[0].ljust(first[1])}  {numbers}".rstrip())
    if file is not None:
        file.write_text(json.dumps({"benchmark": benchmark, "rows": list(rows)}, indent=2) + "\n")


def _words(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) < 10 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
