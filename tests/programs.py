"""How tests of command lines start programs otherwise than by a plain run."""

import os
import pty
import re
import subprocess
from pathlib import Path


OF_RANK = str(Path(__file__).resolve().with_name("of_rank"))


def each_rank(mpirun: str, *commands: list[str]) -> list[str]:
    """An MPI program whose rank r is the r-th command."""
    return [mpirun, "-n", str(len(commands)), OF_RANK, *(word for command in commands for word in [*command, "::"])][:-1]


def run_in(folders: list[Path], mpirun: str, *command: str) -> subprocess.CompletedProcess:
    """A process in each of the folders."""
    commands = [["env", "-C", str(folder), *command] for folder in folders]
    return subprocess.run(each_rank(mpirun, *commands), capture_output=True, text=True, timeout=60)


def shown_on_terminal(line: bytes, command: list[str], folder: Path) -> bytes:
    """What the command, run in the folder, shows on a terminal until a line like that is there; then it is ended."""
    terminal, its_end = pty.openpty()
    with (subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=its_end) as process,
          open(terminal, "rb", 0) as screen):
        os.close(its_end)
        shown = b""
        while not re.search(line, shown) and len(shown) < 4000:
            shown += screen.read(1000)
        process.kill()
    return shown
