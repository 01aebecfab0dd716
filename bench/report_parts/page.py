"""index.html: one file that needs no other, no network and no script."""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass, field
from pathlib import Path

from .rows import Refusal
from .sections import Section
from .sheet import Picture
from .style import facts_text
from .tables import Table, Value, exact

STYLE = """
body { font: 15px/1.5 "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; color: #222; max-width: 1120px;
       margin: 2em auto; padding: 0 1.2em; }
h1 { font-size: 1.6em; } h2 { font-size: 1.25em; margin-top: 2.5em; border-top: 1px solid #ccc; padding-top: 1em; }
figure { margin: 1.8em 0; } figure img { max-width: 100%; } figcaption { color: #444; max-width: 62em; font-size: 0.92em; }
.facts, .small { color: #555; font-size: 0.9em; } .refused { color: #8a1f00; }
table { border-collapse: collapse; font-size: 0.8em; font-variant-numeric: tabular-nums; }
th, td { padding: 0.15em 0.7em; text-align: right; border-bottom: 1px solid #e6e6e6; white-space: nowrap; }
th { border-bottom: 1px solid #888; } .wide { overflow-x: auto; max-height: 30em; }
summary { cursor: pointer; margin: 0.4em 0; }
"""
LONGEST_TABLE = 400  # rows shown in the page; the CSV file has all


@dataclass
class Chapter:
    """What the page shows of one section, or of several together (section is None)."""

    heading: str
    section: Section | None = None
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _escaped(text: str) -> str:
    return html.escape(text, quote=True)


def _picture(picture: Picture, folder: Path) -> str:
    drawing = base64.b64encode((folder / f"{picture.name}.svg").read_bytes()).decode("ascii")
    return (f'<figure id="{picture.name}"><img alt="{_escaped(picture.title)}" '
            f'src="data:image/svg+xml;base64,{drawing}">\n<figcaption>{_escaped(picture.caption)} '
            f'<a href="{picture.name}.png">PNG</a> <a href="{picture.name}.svg">SVG</a></figcaption></figure>')


def _shown(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else exact(value)


def _table(table: Table) -> str:
    heading = "".join(f"<th>{_escaped(column.replace('_', ' '))}</th>" for column in table.columns)
    lines = ["<tr>" + "".join(f"<td>{_escaped(_shown(value))}</td>" for value in row) + "</tr>"
             for row in table.rows[:LONGEST_TABLE]]
    more = "" if len(table.rows) <= LONGEST_TABLE else f", the first {LONGEST_TABLE} of them here"
    return (f"<details><summary>{_escaped(table.name)}: {len(table.rows)} rows{more} "
            f'(<a href="{table.name}.csv">CSV</a>)</summary><div class="wide"><table><tr>{heading}</tr>\n'
            + "\n".join(lines) + "</table></div></details>")


def _list(items: list[str], style: str = "") -> str:
    return f'<ul class="{style}">' + "".join(f"<li>{_escaped(item)}</li>" for item in items) + "</ul>" if items else ""


def _chapter(chapter: Chapter, folder: Path) -> str:
    parts = [f"<h2>{_escaped(chapter.heading)}</h2>"]
    if chapter.section is not None:
        ranks = [problem.ranks for problem in chapter.section.problems]
        parts.append(f'<p class="facts">{_escaped(facts_text(chapter.section, ranks))}.</p>')
    parts.append(_list(chapter.notes, "small"))
    parts += [_picture(picture, folder) for picture in chapter.pictures]
    if chapter.left_out:
        parts.append("<p>Left out:</p>" + _list(chapter.left_out))
    parts += [_table(table) for table in chapter.tables]
    return "\n".join(part for part in parts if part)


def write_page(folder: Path, title: str, summary: str, chapters: list[Chapter], refusals: list[Refusal]) -> None:
    """Writes index.html; the pictures' SVG files must stand in the folder."""
    parts = [f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{_escaped(title)}</title>',
             f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>',
             f"<h1>{_escaped(title)}</h1>", f"<p>{_escaped(summary)}</p>"]
    if refusals:
        parts.append(f'<details open class="refused"><summary>{len(refusals)} lines were not used, or not everywhere:</summary>')
        parts.append(_list([f"{refusal.source}: {refusal.reason}" for refusal in refusals], "small") + "</details>")
    parts += [_chapter(chapter, folder) for chapter in chapters]
    parts.append("</body></html>\n")
    (folder / "index.html").write_text("\n".join(parts), encoding="utf-8")
