#!/usr/bin/python3
"""Draws the sweeps of scripts/sparse-report: its folder of rows in, pictures (PNG) and tables (CSV) in FOLDER/report out.

With --page, a page of Markdown gets the tables and findings in the places marked for them, and its folder PAGE without .md
the pictures and tables. Exit status: 0, or 2 if an argument or a file can't be used.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from report_parts.json_lines import Refused
from report_parts.tables import write_table
from sparse_report_parts.dense_sums import dense_sums
from sparse_report_parts.latency import latency
from sparse_report_parts.page import Part, fill_page, markdown
from sparse_report_parts.rows import Row, machine_text, read_rows
from sparse_report_parts.selecting import ablations, read_selecting, selected_words
from sparse_report_parts.summation import layouts, read_sums, summation
from sparse_report_parts.sweeps import early_switching, lower_bounds, static_and_dynamic, switching
from sparse_report_parts.volumes import volume_findings, volume_table

SHOWN_RANKS = {2, 8, 12, 32}


def rows_of(folder: Path, name: str) -> list[Row]:
    """None where that sweep was not made."""
    path = folder / f"{name}.jsonl"
    return read_rows(path) if path.exists() else []


def make_parts(folder: Path, pictures: Path) -> list[Part]:
    """A part for each sweep whose rows are there."""
    volumes, switches, sweep, groups = (rows_of(folder, name) for name in ("volumes", "dense-sums", "switching", "groups"))
    parts = []
    if volumes:
        table = volume_table(volumes)
        parts.append(Part("volumes", volume_findings(table), [], table, SHOWN_RANKS))
        parts.append(latency(volumes))
    if switches:
        parts.append(dense_sums(switches))
    if sweep:
        machines = {ranks: json.loads((folder / f"machine-{ranks}.json").read_text(encoding="utf-8"))
                    for ranks in {row.vectors.ranks for row in sweep}}
        parts += [switching(sweep, pictures), static_and_dynamic(sweep, pictures), lower_bounds(sweep, machines, pictures)]
    if groups:
        parts.append(early_switching(groups, pictures))
    sums = folder / "sums.jsonl"
    if sums.exists():
        parts.append(layouts(read_sums(sums)))
    if sums.exists() and sweep:
        parts.append(summation(read_sums(sums), machine_text(sweep[0].host), pictures))
    for name, make in (("selected", selected_words), ("ablations", lambda rows: ablations(rows, pictures))):
        if (folder / f"{name}.jsonl").exists():
            parts.append(make(read_selecting(folder / f"{name}.jsonl")))
    if not parts:
        raise Refused(f"{folder}: no rows of scripts/sparse-report")
    return parts


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="what scripts/sparse-report has written")
    parser.add_argument("--page", metavar="PAGE.md", type=Path, help="to be filled in")
    options = parser.parse_args(arguments)
    out = options.page.with_suffix("") if options.page else options.folder / "report"
    try:
        out.mkdir(parents=True, exist_ok=True)
        parts = make_parts(options.folder, out)
        for part in parts:
            write_table(part.table, out)
        if options.page:
            fill_page(options.page, parts, out.name)
        else:
            text = "".join(f"# {part.name}\n\n{markdown(part, '.')}\n\n" for part in parts)
            (out / "report.md").write_text(text, encoding="utf-8")
    except Refused as problem:
        print(f"sparse_report.py: {problem}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"sparse_report.py: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    print(options.page or out / "report.md")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
