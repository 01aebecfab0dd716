#!/usr/bin/python3
"""The example of a policy of the program's own. Usage: sign_policy_test.py PROGRAM"""

import subprocess
import sys

words = subprocess.run(sys.argv[1:], capture_output=True, text=True, timeout=50, check=True).stdout.split()
assert [int(word) for word in words] == list(range(8)), words
