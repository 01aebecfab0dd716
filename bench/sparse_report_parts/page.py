"""Markdown: tables, pictures, and where in a page they go."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from report_parts.json_lines import Refused
from report_parts.sheet import Picture
from report_parts.tables import Table, Value



@dataclass
class Part:
    """What was measured for one part of the page."""

    name: str
    findings: list[str] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    table: Table | None = None
    shown: set[Value] | None = None  # of the table's column "P"; None: all


def _cell(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value)


def _table(table: Table, shown: set[Value] | None) -> list[str]:
    numeric = [all(isinstance(row[i], (int, float, type(None))) for row in table.rows) for i in range(len(table.columns))]
    rows = [row for row in table.rows if shown is None or row[table.columns.index("P")] in shown]
    return (["| " + " | ".join(column.replace("_", " ") for column in table.columns) + " |",
             "| " + " | ".join("--:" if right else "---" for right in numeric) + " |"]
            + ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows])


def markdown(part: Part, pictures_at: str) -> str:
    """Findings, pictures with their captions, and the table; links go to files in `pictures_at`."""
    blocks = [[f"- {finding}" for finding in part.findings]]
    for picture in part.pictures:
        blocks += [[f"![{picture.title}]({pictures_at}/{picture.name}.png)"], [picture.caption]]
    if part.table is not None and part.table.rows:
        blocks.append(_table(part.table, part.shown))
        what = "As a file"
        if part.shown is not None:
            ranks = {int(row[part.table.columns.index("P")]) for row in part.table.rows}
            what = f"For P = {', '.join(map(str, sorted(ranks)))}"
        blocks.append([f"{what}: [{part.table.name}.csv]({pictures_at}/{part.table.name}.csv)."])
    return "\n\n".join("\n".join(block) for block in blocks if block)


def fill_page(page: Path, parts: Iterable[Part], pictures_at: str) -> None:
    """Puts each part between the lines <!-- NAME --> and <!-- end of NAME --> of the page. Refused if one is not there."""
    text = page.read_text(encoding="utf-8")
    for part in parts:
        begin, end = f"<!-- {part.name} -->\n", f"<!-- end of {part.name} -->"
        text, count = re.subn(re.escape(begin) + ".*?" + re.escape(end),
                              lambda _: f"{begin}\n{markdown(part, pictures_at)}\n\n{end}", text, flags=re.DOTALL)
        if count != 1:
            raise Refused(f"{page}: {count} places for '{part.name}', expected one between '{begin.strip()}' and '{end}'")
    page.write_text(text, encoding="utf-8")
