#!/usr/bin/python3
"""A minimal program alone and with four ranks. Usage: minimal_test.py MPIRUN PROGRAM"""

import re
import subprocess
import sys

for launcher, expected in (([], 0.0), ([sys.argv[1], "-n", "4"], 1.5)):
    words = subprocess.run([*launcher, sys.argv[2]], capture_output=True, text=True, timeout=50, check=True).stdout
    found = re.findall(r"every element is *([\d.]+)", words)
    assert [float(number) for number in found] == [expected], words
