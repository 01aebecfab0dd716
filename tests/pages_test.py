#!/usr/bin/env python3
"""README.md and the pages under docs/: links that lead somewhere, programs shown as they are, and a README that is short.

Called with: ROOT [MPIRUN MINIMAL].
"""

import re
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

import runner

ROOT = Path(sys.argv[1])
MPIRUN_AND_MINIMAL = sys.argv[2:4]
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

    def test_guides_begin_with_the_programs_that_are_tested(self) -> None:
        for page, program in (("python.md", "numpy_minimal.py"), ("pytorch.md", "torch_mlp.py"),
                              ("c-and-fortran.md", "minimal.c"), ("install.md", "threads_minimal.cpp")):
            shown = re.search(r"^```\w+\n(.*?)^```", (ROOT / "docs/guide" / page).read_text(), re.MULTILINE | re.DOTALL)
            assert shown is not None
            self.assertEqual(shown.group(1), (ROOT / "examples" / program).read_text())

    def test_every_page_is_linked_from_the_index(self) -> None:
        index = ROOT / "docs/README.md"
        linked = {(index.parent / link).resolve() for link in re.findall(r"\]\(([^)#\s]+)\)", index.read_text())}
        pages = {page.resolve() for page in (ROOT / "docs").rglob("*.md")} - {index.resolve()}
        self.assertEqual(sorted(map(str, pages - linked)), [], "docs/README.md does not link these pages")

    def test_readme_is_short(self) -> None:
        self.assertLessEqual(len(README.read_text().splitlines()), 180)

    def test_glossary_has_at_most_twenty_terms(self) -> None:
        rows = re.findall(r"^\| (.*?) \|", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
        self.assertEqual(rows[:2], ["term", "---"])
        self.assertLessEqual(len(rows) - 2, 20)

    def test_programs_are_shown_word_for_word(self) -> None:
        for language, name in (("cpp", "minimal.cpp"), ("python", "torch_minimal.py")):
            example = (ROOT / "examples" / name).read_text()
            self.assertIn(f"```{language}\n{example}```", README.read_text(), f"the program differs from examples/{name}")
        example = (ROOT / "examples/synchronizer.cpp").read_text()
        sample = example[example.index("    dsop::Synchronizer<float>") : example.index("    if (rank == 0)")]
        self.assertIn(textwrap.dedent(sample).strip(), (ROOT / "docs/guide/synchronizer.md").read_text(),
                      "the sample differs from examples/synchronizer.cpp")

    @unittest.skipUnless(MPIRUN_AND_MINIMAL, "built without MPI")
    def test_readme_shows_what_the_program_prints(self) -> None:
        mpirun, minimal = MPIRUN_AND_MINIMAL
        result = subprocess.run([mpirun, "-n", "4", minimal], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn(f"```\n{result.stdout}```", README.read_text(), "the README shows another output")


if __name__ == "__main__":
    runner.main(sys.argv[:1], verbosity=2)
