#!/usr/bin/python3
"""The Python package under mpirun: mpi4py's communicators, and ranks that end before the others.

Usage: python_mpi_test.py MPIRUN
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import runner

MPIRUN = sys.argv[1]
MINIMAL = Path(__file__).parent.parent / "examples/numpy_minimal.py"


def printed_by(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=60,
                          check=True).stdout


HAS_MPI4PY = importlib.util.find_spec("mpi4py") is not None
MPI_OF_DSOP = printed_by("import dsop; print(dsop.info()['mpi'], end='')")
MPI_OF_MPI4PY = printed_by("from mpi4py import MPI; print(MPI.Get_library_version())") if HAS_MPI4PY else ""
SHARES_MPI = HAS_MPI4PY and MPI_OF_MPI4PY.startswith(MPI_OF_DSOP)
WAITS_FOR_RANK_1 = """
import os, sys, time
import numpy as np
import dsop
comm = dsop.communicator()
dsop.allreduce(np.ones(3))
"""


def run(program: str, ranks: int = 3) -> subprocess.CompletedProcess[str]:
    return subprocess.run([MPIRUN, "-n", str(ranks), sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=60, check=False)


class PythonMpiTest(unittest.TestCase):
    def test_minimal_program(self) -> None:
        for ranks in (1, 4):
            done = subprocess.run([MPIRUN, "-n", str(ranks), sys.executable, MINIMAL], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"every element is {(ranks - 1) / 2:g}\n", done.stdout)

    def test_without_a_launcher_mpi_is_not_touched(self) -> None:
        done = subprocess.run([sys.executable, "-c", "import dsop\nprint(dsop.communicator().size, "
                               "dsop.info()['mpi_initialized'])"], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.stdout, "1 False\n", done.stderr)

    @unittest.skipUnless(HAS_MPI4PY and not SHARES_MPI, "mpi4py is of dsop's MPI")
    def test_mpi4py_of_another_mpi(self) -> None:
        for comm in ("None", "MPI.COMM_WORLD"):
            done = run(f"""
from mpi4py import MPI
import dsop
try:
    dsop.communicator({comm})
except dsop.ArgumentError as error:
    print("refused:", error)
""")
            self.assertIn("refused: this process has loaded ", done.stdout, done.stderr)  # MPICH loses a rank's words

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_another_mpi_that_is_loaded_first(self) -> None:
        other = "Other MPI 7.0" if MPI_OF_DSOP.startswith("Open MPI") else "Open MPI v0.7"
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", folder + "/other.so"], text=True, check=True,
                           input="#include <string.h>\nint MPI_Get_library_version(char* version, int* length) "
                                 f'{{ *length = {len(other)}; strcpy(version, "{other}"); return 0; }}')
            done = subprocess.run([sys.executable, "-W", "always", "-c", "import dsop; dsop.info()"], capture_output=True,
                                  text=True, timeout=60, check=True,
                                  env={**os.environ, "LD_PRELOAD": folder + "/other.so"})
        self.assertIn(f"RuntimeWarning: this process has loaded {other}, expected the MPI that dsop is built for",
                      done.stderr)

    def test_exception_ends_all_though_another_hook_was_set_since(self) -> None:
        for before in ("", "dsop.init()", "sys.ps1 = 'left by code.interact()'"):
            done = run(WAITS_FOR_RANK_1 + before + """
dsop.communicator()
sys.excepthook = lambda kind, error, traceback: print("told", error, file=sys.stderr)
if comm.rank == 1:
    raise KeyError("mine")
dsop.allreduce(np.ones(3))
""", ranks=2)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("told 'mine'", done.stderr)

    def test_exception_that_the_program_has_survived_ends_nothing(self) -> None:
        done = run("""
import ctypes
ctypes.pythonapi.PyRun_SimpleString(b"import no_such_module")  # prints it, as programs that embed Python
""" + WAITS_FOR_RANK_1, ranks=2)
        self.assertIn("no_such_module", done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_interactive_python_goes_on(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".py") as typed:  # of each rank: MPICH never ends the input of rank 1
            typed.write("dsop.init()\nprint('goes on')\n")
            typed.flush()
            done = subprocess.run([MPIRUN, "-n", "2", "sh", "-c", 'exec "$0" -i -c "$1" < "$2"', sys.executable,
                                   WAITS_FOR_RANK_1 + "raise KeyError('mine')", typed.name],
                                  capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.stdout.count("goes on"), 2, done.stderr)

    def test_launcher_of_another_mpi(self) -> None:
        """Whose processes know nothing of each other: each would be rank 0 of 1."""
        alone = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_COMM", "PMI"))}
        done = subprocess.run([sys.executable, "-c", "import dsop\ntry:\n    dsop.communicator()\n"
                               "except dsop.ArgumentError as error:\n    print(error)"], capture_output=True, text=True,
                              timeout=60, check=False, env={**alone, "PMI_SIZE": "2"})
        self.assertIn("a launcher has started 2 processes, of which MPI sees this one alone, expected the mpirun of dsop's "
                      + MPI_OF_DSOP, done.stdout, done.stderr)

    def test_exception_of_a_forked_child_ends_the_child_alone(self) -> None:
        done = run(WAITS_FOR_RANK_1 + """
child = os.fork() if comm.rank == 1 else None
if child == 0:
    raise KeyError("of the child")
if child is not None:
    assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 1
dsop.allreduce(np.ones(3))
print("done")
""")
        self.assertEqual((done.returncode, done.stdout.count("done")), (0, 3), done.stderr)
        self.assertIn("of the child", done.stderr)

    @unittest.skipUnless(SHARES_MPI, "no mpi4py of dsop's MPI")
    def test_communicators_of_mpi4py(self) -> None:
        done = run("""
from mpi4py import MPI
import numpy as np
import dsop
halves = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2)
for comm in (None, MPI.COMM_WORLD, halves, MPI.COMM_SELF):
    values = np.ones(3)
    dsop.allreduce(values, comm)
    assert values[0] == (MPI.COMM_WORLD if comm is None else comm).size, values
try:
    dsop.allreduce(values, MPI.COMM_NULL)
except dsop.ArgumentError as error:
    assert "MPI_COMM_NULL" in str(error)
layer = dsop.OuterProduct(2, 2, 1, comm=MPI.COMM_WORLD)
MPI.Finalize()
for call in (lambda: dsop.allreduce(values), lambda: dsop.communicator(MPI.COMM_WORLD), dsop.init,
             lambda: layer.run(np.ones((1, 2), np.float32), np.ones((1, 2), np.float32))):
    try:
        call()
    except dsop.ArgumentError as error:
        assert "MPI is" in str(error), error
    else:
        raise AssertionError("nothing was raised")
print("done")
""")
        self.assertEqual((done.returncode, done.stdout.count("done")), (0, 3), done.stderr)

    def test_machine_is_measured(self) -> None:
        done = run("""
import os
os.environ["DSOP_MACHINE"] = "probe"
import dsop
machine = dsop.Machine.of()
for value in (machine["flops_per_second"], machine["ring_step_seconds"][5], machine["native_allreduce_seconds"][5]):
    assert value > 0, value
assert "; machine: probe of 3 ranks on 1 node" in dsop.OuterProduct(300, 300, 200, allow_native=True).plan
print("done")
""")
        self.assertEqual((done.returncode, done.stdout.count("done")), (0, 3), done.stderr)

    def test_exception_of_one_rank_ends_the_others(self) -> None:
        for start in ["", "from mpi4py import MPI\n"] if SHARES_MPI else [""]:
            before = time.monotonic()
            done = run(start + WAITS_FOR_RANK_1 + """
if comm.rank == 1:
    raise KeyError("mine")
dsop.allreduce(np.ones(3))
""")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("KeyError: 'mine'", done.stderr)
            self.assertLess(time.monotonic() - before, 10)

    def test_exception_before_the_first_call_ends_the_others(self) -> None:
        """They wait for this one in a call of dsop's, or in MPI's end."""
        if not SHARES_MPI:
            self.skipTest("no mpi4py of dsop's MPI")
        for imports in ("from mpi4py import MPI\nimport dsop", "import dsop\nfrom mpi4py import MPI"):
            before = time.monotonic()
            done = run(f"""
{imports}
import numpy as np
if MPI.COMM_WORLD.rank == 1:
    raise KeyError("mine")
dsop.allreduce(np.ones(3))
""")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("KeyError: 'mine'", done.stderr)
            self.assertLess(time.monotonic() - before, 10)

    def test_exception_of_a_rank_that_can_print_nothing_ends_the_others(self) -> None:
        for breaks in ("sys.stdout.close()", "sys.stdout = sys.stderr = None",
                       "sys.stdout = open('/dev/full', 'w'); print('log')", "signal.setitimer(0, 0.1, 0.01)"):
            before = time.monotonic()
            done = run(WAITS_FOR_RANK_1 + f"""
import signal
signal.signal(signal.SIGALRM, signal.default_int_handler)
if comm.rank == 1:
    {breaks}
    raise KeyError("mine")
dsop.allreduce(np.ones(3))
""")
            self.assertNotEqual(done.returncode, 0, breaks)
            self.assertLess(time.monotonic() - before, 10)

    def test_exception_after_init_alone_ends_the_others(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            before = time.monotonic()
            done = run(f"""
import os, time
import dsop
dsop.init()
try:
    os.mkdir({folder + "/of-one-rank"!r})
except FileExistsError:
    time.sleep(30)
raise KeyError("mine")
""")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("KeyError: 'mine'", done.stderr)
        self.assertLess(time.monotonic() - before, 10)

    def test_interrupt_of_one_rank_ends_all(self) -> None:
        for wait in ("dsop.allreduce(np.ones(3))", "dsop.start_allreduce(np.ones(3)).wait()",
                     "dsop.start_sparse_allreduce(np.ones(3)).wait()"):
            with tempfile.TemporaryDirectory() as folder:
                number = Path(folder) / "number"
                program = WAITS_FOR_RANK_1 + f"""
if comm.rank == 1:
    time.sleep(60)
open({str(number)!r} + ".new", "w").write(str(os.getpid())) if comm.rank == 0 else None
os.rename({str(number)!r} + ".new", {str(number)!r}) if comm.rank == 0 else None
{wait}
"""
                with subprocess.Popen([MPIRUN, "-n", "3", sys.executable, "-c", program], stderr=subprocess.PIPE,
                                      stdout=subprocess.DEVNULL, text=True) as job:
                    while not number.exists():
                        time.sleep(0.05)
                    time.sleep(0.5)
                    before = time.monotonic()
                    subprocess.run(["kill", f"-{signal.SIGINT.value}", number.read_text()], check=True)
                    _, words = job.communicate(timeout=30)
                self.assertLess(time.monotonic() - before, 5)
                self.assertNotEqual(job.returncode, 0)
                self.assertIn("KeyboardInterrupt", words)

    def test_interrupts_where_python_drops_what_is_raised(self) -> None:
        cases = [("destructor that asks", 0.3, "dsop.start_allreduce(values)"),
                 ("destructor that does not", 0.3, "pending = dsop.start_allreduce(values); del counting"),
                 ("on_stall", 0.5, "comm.set_stall_watch(0.1, lambda text: time.sleep(10)); dsop.allreduce(values)"),
                 ("before on_stall", 0.15, "comm.set_stall_watch(0.19, len); dsop.allreduce(values)")]  # asks at 0.1, 0.2
        for name, seconds, statement in cases:
            program = WAITS_FOR_RANK_1 + f"""
import signal
values = np.ones(3)
counting = comm.counting()  # whose end waits for calls that were started
if comm.rank == 1:
    time.sleep(2)
    dsop.allreduce(values)
    time.sleep(30)
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, {seconds})
{statement}
time.sleep(30)
"""
            with self.subTest(name):
                before = time.monotonic()
                done = run(program, 2)
                self.assertLess(time.monotonic() - before, 20, done.stderr)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("KeyboardInterrupt", done.stderr)

    def test_handler_that_raises_nothing_ends_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = run(WAITS_FOR_RANK_1 + f"""
import signal
heard = {str(Path(folder) / "heard")!r}
if comm.rank == 0:
    signal.signal(signal.SIGALRM, lambda *_: open(heard, "w").close())
    signal.setitimer(signal.ITIMER_REAL, 0.2)
while comm.rank == 1 and not os.path.exists(heard):  # rank 0 waits meanwhile
    time.sleep(0.05)
values = np.ones(3)
dsop.allreduce(values)
os.write(1, f"{{values[0]}} {{os.path.exists(heard)}}\\n".encode())  # in one piece
""")
        self.assertEqual(done.stdout, "3.0 True\n" * 3, done.stderr)


if __name__ == "__main__":
    runner.main([sys.argv[0], *sys.argv[2:]])
