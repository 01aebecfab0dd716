"""Prints what a run of `meson test` has left out, and why. Usage: skipped.py testlog.json"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

for line in Path(sys.argv[1]).read_text().splitlines():
    test = json.loads(line)
    # As runner.py and cluster/harness.py say it.
    reasons = re.findall(r"(?m)^(?:skipped \d+ of \d+: |.*# SKIP ).*$", test.get("stdout", ""))
    if test["result"] == "SKIP" and not reasons:
        reasons = ["skipped"]
    for reason in reasons:
        print(f"{test['name'].split('dsop:')[-1]}: {reason}")
