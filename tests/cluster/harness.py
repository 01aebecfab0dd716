"""What the tests of scripts/cluster need: TAP lines, the script itself, and a look at what is left of a cluster."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

PROGRAMS = Path(__file__).resolve().parent
ROOT = PROGRAMS.parents[1]
sys.path.insert(0, str(ROOT / "bench"))
from calls.launch import end_by_exit  # noqa: E402

CLUSTER = str(ROOT / "scripts" / "cluster")
STATE_ROOT = Path("/run/dsop-cluster")
NAME = f"test{os.getpid()}"
OTHER_NAME = NAME + "b"
# Open MPI otherwise takes four seconds to end a run whose command failed.
ENVIRONMENT = os.environ | {"OMPI_MCA_odls_base_sigkill_timeout": "0", "PRTE_MCA_odls_base_sigkill_timeout": "0"}

tests_done = 0
tests_failed = 0

end_by_exit()  # else a signal leaves hosts behind


def end_tests() -> int:
    print(f"1..{tests_done}\n# {tests_done - tests_failed} passed, {tests_failed} failed")
    return 1 if tests_failed else 0


def check(what: str, holds: bool, details: object = "") -> None:
    global tests_done, tests_failed
    tests_done += 1
    tests_failed += not holds
    print(f"{'ok' if holds else 'not ok'} {tests_done} - {what}", flush=True)
    if not holds and details:
        print("\n".join("# " + line for line in str(details).splitlines()), flush=True)


def skip(what: str, why: str) -> None:
    global tests_done
    tests_done += 1
    print(f"ok {tests_done} - {what} # SKIP {why}", flush=True)


def cluster(*arguments: str, name: str = NAME, stdin: int = subprocess.DEVNULL, pass_fds: tuple[int, ...] = ()
            ) -> subprocess.CompletedProcess[str]:
    return subprocess.run([CLUSTER, "--name", name, *arguments], capture_output=True, text=True, timeout=60,
                          stdin=stdin, pass_fds=pass_fds, env=ENVIRONMENT)


def up(*arguments: str, name: str = NAME, stdin: int = subprocess.DEVNULL, pass_fds: tuple[int, ...] = ()) -> None:
    done = cluster("up", *arguments, name=name, stdin=stdin, pass_fds=pass_fds)
    check(f"up {' '.join(arguments)}", done.returncode == 0, done.stderr)


def build(folder: Path, program: str, mpi: str) -> str:
    binary = str(folder / f"{program}.{mpi}")
    subprocess.run([f"mpicc.{mpi}", "-O2", "-o", binary, str(PROGRAMS / f"{program}.c")], check=True)
    return binary


def traffic() -> dict[str, tuple[int, int]]:
    rows = [json.loads(line) for line in cluster("traffic", "--json").stdout.splitlines()]
    return {row.get("host") or row["rack"]: (row["sent_bytes"], row["received_bytes"]) for row in rows}


def lines_of(*command: str) -> set[str]:
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())


def links() -> set[str]:
    return {line.split()[0].split("@")[0] for line in lines_of("ip", "-br", "link")}


def written_down() -> str:
    """The links of all clusters that are up."""
    texts = []
    for path in STATE_ROOT.glob("*/made"):
        with contextlib.suppress(FileNotFoundError):  # its cluster goes down meanwhile
            texts.append(path.read_text())
    return " ".join(texts)


def left_behind(links_before: set[str]) -> list[str]:
    """What of this test's clusters is still there; other people's clusters may come and go meanwhile."""
    spaces = [line for line in lines_of("ip", "netns", "list") if NAME in line]
    folders = [str(path) for path in STATE_ROOT.glob(NAME + "*")]
    before, there, after = written_down(), links(), written_down()
    return spaces + folders + [link for link in there - links_before if link not in before and link not in after]


def processes_with(word: str, start: str = "") -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if word in line and line.startswith(start):
            found.append(path.parent.name)
    return found


def wait_until(when: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Or until the process ends, but not for ever."""
    end = time.monotonic() + 20
    while not when() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


def interrupt(arguments: list[str], when: Callable[[], bool], to_group: bool = True) -> int:
    """Starts a command, sends SIGINT as Ctrl-C does (or to the script alone) once `when` holds; gives its exit code."""
    process = subprocess.Popen([CLUSTER, "--name", NAME, *arguments], start_new_session=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    wait_until(when, process)
    if to_group:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    return process.wait(timeout=20)
