#!/usr/bin/python3
"""Draws benchmark results: JSON lines in, a folder with one page, its pictures (PNG, SVG) and tables (CSV) out.

Times of different hosts, commits, link rates or number types never share a picture: each setting is a section.
Exit status: 0, or 1 if no line could be used, or 2 if an argument or a file can't be used.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from report_parts.chapters import rates_chapter, section_chapter
from report_parts.measures import ESTIMATORS, winners
from report_parts.page import write_page
from report_parts.rows import Refusal, Row, read_rows
from report_parts.heat_maps import rate_families
from report_parts.sections import Section, make_sections
from report_parts.style import make_looks
from report_parts.tables import write_table

DEFAULT_BASE = "allreduce-mpi"


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", metavar="RESULTS.jsonl", nargs="+", type=Path, help="benchmark rows, one JSON object a line")
    parser.add_argument("--out", metavar="FOLDER", required=True, type=Path, help="written to; made if it does not exist")
    parser.add_argument("--base", metavar="ALGORITHM", help=f"base case of the speedups (default: {DEFAULT_BASE})")
    parser.add_argument("--title", metavar="TEXT", default="Sums of outer products", help="heading of the page")
    parser.add_argument("--interval", choices=sorted(ESTIMATORS), default="order",
                        help="95 %% interval of run times: order statistics (default; under the "
                        "benchmark's stopping rule where a row states one) or percentile bootstrap")
    return parser.parse_args(arguments)


def complain(text: str) -> None:
    print(f"report.py: {text}", file=sys.stderr)


def unknown_base(base: str | None, rows: list[Row]) -> str | None:
    """What is wrong with --base; without the option, the default base may be missing."""
    known = sorted({row.algorithm for row in rows})
    if base is None or base in known:
        return None
    return f"--base is '{base}', expected an algorithm of the rows: {', '.join(known)}"


def summary_of(rows: int, sections: list[Section]) -> str:
    unverified = sum(row.wrong is None for section in sections for row in section.rows)
    used = sum(len(section.rows) for section in sections)
    division = f"{len(sections)} sections that must not be compared with each other" if len(sections) > 1 else "one section"
    return f"{used} of {rows} rows used, in {division}. {unverified} of them carry no verification of the result."


def write_report(options: argparse.Namespace, rows: list[Row], refusals: list[Refusal]) -> None:
    lines = len(rows) + len(refusals)
    sections, doubled = make_sections(rows)
    refusals += doubled
    looks = make_looks([name for row in rows for name in (row.algorithm, row.auto_choice) if name])
    options.out.mkdir(parents=True, exist_ok=True)
    chapters = []
    for section in sections:
        chapter, unpaired = section_chapter(section, options.base or DEFAULT_BASE, options.interval, looks, options.out)
        chapters.append(chapter)
        refusals += unpaired
    found = {section.number: winners(section, options.interval) for section in sections}
    chapters.append(rates_chapter(rate_families(sections), found, looks, options.out))
    for table in (table for chapter in chapters for table in chapter.tables):
        write_table(table, options.out)
    for refusal in refusals:
        complain(f"{refusal.source}: {refusal.reason}")
    write_page(options.out, options.title, summary_of(lines, sections), chapters, refusals)


def main(arguments: list[str]) -> int:
    options = parse_arguments(arguments)
    try:
        rows, refusals = read_rows(options.results)
        problem = unknown_base(options.base, rows)
        if rows and problem:
            complain(problem)
            return 2
        if not rows:
            for refusal in refusals:
                complain(f"{refusal.source}: {refusal.reason}")
            complain(f"no usable row in {', '.join(map(str, options.results))}, expected at least one")
            return 1
        write_report(options, rows, refusals)
    except OSError as error:
        complain(f"{error.filename}: {error.strerror}")
        return 2
    print(options.out / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
