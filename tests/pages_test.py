#!/usr/bin/env python3
"""README.md and the pages under docs/: links that lead somewhere, programs shown as they are.

Called with: ROOT.
"""

import re
import sys
import textwrap
import unittest
from pathlib import Path

ROOT = Path(sys.argv[1])
README = ROOT / "README.md"
PAGES = [README, ROOT / "examples/README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def without_code(text: str) -> str:
    """The page without what stands in fences, in indented blocks or between backticks: no links are there."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives a page's headings."""
    found: set[str] = set()
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ +(.*?) *$", text, flags=re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = sum(1 for other in found if re.fullmatch(re.escape(name) + r"(-\d+)?", other))
        found.add(f"{name}-{number}" if name in found else name)
    return found


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{page.relative_to(ROOT)}: {link}")
    return broken


class Pages(unittest.TestCase):
    def test_links_lead_to_files_and_headings(self) -> None:
        self.assertGreater(len(PAGES), 10)
        self.assertEqual([link for page in PAGES for link in broken_links(page)], [])

    def test_programs_are_shown_word_for_word(self) -> None:
        example = (ROOT / "examples/minimal.cpp").read_text()
        self.assertIn(f"```cpp\n{example}```", README.read_text(), "the program differs from examples/minimal.cpp")
        example = (ROOT / "examples/synchronizer.cpp").read_text()
        sample = example[example.index("    dsop::Synchronizer<float>") : example.index("    if (rank == 0)")]
        self.assertIn(textwrap.dedent(sample).strip(), README.read_text(),
                      "the sample differs from examples/synchronizer.cpp")


if __name__ == "__main__":
    unittest.main("__main__", argv=sys.argv[:1], verbosity=2)
