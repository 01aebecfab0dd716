"""How test programs end: as unittest.main(), but that Meson hears of what was skipped.

Usage: runner.py MODULE...
"""

from __future__ import annotations

import sys
import unittest
from collections import Counter

ALL_SKIPPED = 77  # an exit status that Meson knows


def main(argv: list[str], verbosity: int = 1, module: str | None = "__main__") -> None:
    """Run the cases, say how many were skipped and why, and end the program."""
    program = unittest.main(module, argv=argv, verbosity=verbosity, exit=False)
    result, count = program.result, program.test.countTestCases()
    skipped = [reason for case, reason in result.skipped if not hasattr(case, "test_case")]  # which a subTest() has
    for reason, times in Counter(skipped).items():
        print(f"skipped {times} of {count}: {reason}", flush=True)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(ALL_SKIPPED if skipped and len(skipped) == count else 0)


if __name__ == "__main__":
    main(sys.argv, module=None)
