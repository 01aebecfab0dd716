#!/usr/bin/python3
"""dsop.h: made into ctypes' table, and with a form of every public C++ operation.

Usage: dsop_h_test.py SOURCE_ROOT LIBRARY
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import runner

ROOT = Path(sys.argv[1])
LIBRARY = sys.argv[2]
HEADER = (ROOT / "include/dsop/dsop.h").read_text(encoding="utf-8")
FUNCTIONS = set(re.findall(r"^DSOP_API [\w ]+?\*? ?(dsop_\w+)\(", HEADER, flags=re.MULTILINE))

# Each public operation of the C++ headers, by header: its name there, in C without dsop_, and in Python.
OPERATIONS = {
    "algorithms.hpp": {"describe_algorithms": ("algorithm_describe", "algorithms"),
                       "algorithm_names": ("algorithm_describe", "algorithms")},
    "collectives.hpp": {name: (name, name) for name in
                        ("allreduce", "broadcast", "reduce", "start_allreduce", "start_broadcast", "start_reduce")},
    "counting.hpp": {"payload": ("communicator_traffic", "Communicator.traffic"),
                     "agreement": ("communicator_traffic", "Communicator.traffic")},
    "dsop.hpp": {"dsop": ("sum_outer_products", "outer_product"),
                 "machine": ("machine_of", "Machine.of"),
                 "set_stall_watch": ("set_stall_watch", "Communicator.set_stall_watch"),
                 "arrivals": ("arrivals", "Communicator.arrivals"),
                 "last_plan": ("last_plan", "Communicator.last_plan"),
                 "run": ("outer_product_run", "OuterProduct.run"),
                 "run_rows": ("outer_product_run_rows", "OuterProduct.run_rows"),
                 "start": ("outer_product_start", "OuterProduct.start"),
                 "run_sharded": ("outer_product_run_sharded", "OuterProduct.run_sharded"),
                 "plan": ("outer_product_plan", "OuterProduct.plan")},
    "machine.hpp": {"default_threads_machine": ("machine_default", "Machine"),
                    "check_machine": ("machine_of_text", "Machine"), "read_machine": ("machine_read", "Machine"),
                    "write_machine": ("machine_write", "Machine.write"),
                    "message_seconds": ("machine_seconds", "Machine.seconds"),
                    "exchange_seconds": ("machine_seconds", "Machine.seconds"),
                    "product_seconds": ("machine_seconds", "Machine.seconds"),
                    "addition_seconds": ("machine_seconds", "Machine.seconds")},
    "pending.hpp": {"wait": ("wait", "Pending.wait"), "test": ("test", "Pending.test")},
    "plan.hpp": {"make_plan": ("plan_outer_products", "plan_outer_products"),
                 "algorithm_text": ("outer_product_plan", "OuterProduct.algorithm")},
    "product_method.hpp": {"best_instruction_set": ("info", "info")},
    "selection.hpp": {"select": ("selector_select", "Selector.select"), "state": ("selector_state", "Selector.state")},
    "sparse_allreduce.hpp": {"make_sparse_plan": ("plan_sparse", "plan_sparse"),
                             "sparse_allreduce": ("sum_sparse", "sparse_allreduce"),
                             "start_sparse_allreduce": ("start_sum_sparse", "start_sparse_allreduce"),
                             "run": ("sparse_allreduce_run", "SparseAllreduce.run"),
                             "start": ("sparse_allreduce_start", "SparseAllreduce.start")},
    "synchronizer.hpp": {"add": ("synchronizer_add", "Synchronizer.add"),
                         "set_policy": ("synchronizer_set_policy", "Synchronizer.set_policy"),
                         "begin": ("synchronizer_begin", "Synchronizer.begin"),
                         "give": ("synchronizer_give_factors", "Synchronizer.give_factors"),
                         "fail": ("synchronizer_fail", "Synchronizer.fail"),
                         "finish": ("synchronizer_finish", "Synchronizer.finish"),
                         "describe": ("synchronizer_describe", "Synchronizer.describe"),
                         "residual": ("synchronizer_residual", "Synchronizer.residual"),
                         "reset_residuals": ("synchronizer_reset_residuals", "Synchronizer.reset_residuals"),
                         "last_step": ("synchronizer_last_step", "Synchronizer.last_step"),
                         "save": ("synchronizer_save", "Synchronizer.save"),
                         "load": ("synchronizer_load", "Synchronizer.load")},
    "tcp.hpp": {"file_store": ("communicator_from_file", "connect"),
                "connect_over_tcp": ("communicator_from_store", "connect")},
    "threads.hpp": {"run_on_threads": ("run_on_threads", "run_on_threads")},
    "topk_allreduce.hpp": {"run": ("topk_allreduce_run", "TopKAllreduce.run"),
                           "start": ("topk_allreduce_start", "TopKAllreduce.start"),
                           "state": ("topk_allreduce_state", "TopKAllreduce.state"),
                           "topk_cost": ("plan_topk", "plan_topk")},
}
# What only the planner, an algorithm or a transport of one's own needs, plain values, and what the language does itself.
CXX_ALONE: dict[str, set[str] | None] = {
    "algorithms.hpp": set(), "collectives.hpp": set(), "errors.hpp": set(), "mpi.hpp": {"get"},
    "counting.hpp": {"raise_to", "node", "has_native_collectives", "native_allreduce", "native_allgather",
                     "native_broadcast", "native_reduce", "inner", "allows_progress_thread", "calls", "come_to",
                     "ranks_behind", "start_send", "piggybacked_bytes", "probe", "payload_bytes_leaving"},
    "dsop.hpp": {"transport", "planned_pairs"},
    "machine.hpp": {"sparse_product_seconds", "memory_seconds", "native_seconds", "why_not_valid"},
    "plan.hpp": {"seconds", "raise_to", "idle_seconds", "hide", "algorithm_name", "chosen", "cost", "is_off"},
    "problem.hpp": None, "sparse.hpp": None, "transport.hpp": None, "types.hpp": None, "views.hpp": None,
    "product_method.hpp": {"name"}, "stall_watch.hpp": {"text"},
    "sparse_allreduce.hpp": {"ranks", "total_nonzeros", "largest_nonzeros", "expected_union", "drawn_from_of",
                             "algorithm_name", "algorithm_text", "cost", "seconds", "adapt_plan"},
    "topk_allreduce.hpp": {"text", "from_text"},
    "policy.hpp": None,
}

# What a call is told and says beside arrays: a structure of the C++ headers, and the functions of C and Python that have
# each of its fields, as a parameter or, in C, as an option.
FIELDS = {
    ("collectives.hpp", "CollectiveOptions"): ("collective_options", "allreduce"),
    ("dsop.hpp", "Options"): ("sum_options layer_options", "OuterProduct"),
    ("sparse_allreduce.hpp", "SparseAllreduceOptions"): ("allreduce_options", "sparse_allreduce"),
    ("topk_allreduce.hpp", "TopKOptions"): ("allreduce_options", "TopKAllreduce"),
    ("synchronizer.hpp", "SynchronizerOptions"): ("synchronizer_options", "Synchronizer"),
    ("synchronizer.hpp", "Step"): ("dsop_synchronizer_begin", "Synchronizer.begin"),
    ("synchronizer.hpp", "Update"): ("dsop_synchronizer_give_factors", "Synchronizer.give_factors"),
    ("synchronizer.hpp", "ParameterStep"): ("dsop_synchronizer_last_step dsop_synchronizer_last_selection", "Synchronizer.last_step"),
    ("topk_allreduce.hpp", "TopKSum"): ("dsop_sum_chosen", "TopKSum"),
    ("selection.hpp", "Selection"): ("dsop_selector_select dsop_selector_last", "Selector"),
    ("selection.hpp", "SelectionState"): ("dsop_selector_state", "Selector"),
}
# Of a sum: got by dsop_sum_get() in C, named `values` in Python.
OF_EVERY_SUM = {"sum", "memory", "algorithm"}


def operations_of(header: Path) -> set[str]:
    """The names of functions that the header declares, constructors and operators left out."""
    text = re.sub(r"//.*", "", header.read_text(encoding="utf-8"))
    text = re.sub(r'"[^"]*"', '""', text)
    text = re.sub(r"private:.*?\n};", "", text, flags=re.DOTALL)
    found = re.findall(r"^(?:  )?(?:\[\[nodiscard\]\] )?(?:static |virtual |constexpr )*[\w:<>,&* ]*[\w>&*] [&*]?(\w+)\(",
                       text, flags=re.MULTILINE)
    return {name for name in found if name[0].islower()
            and name not in ("return", "if", "requires", "for", "get", "reserve")} | (
        {"get"} if header.name == "mpi.hpp" else set())


def fields_of(header: Path, structure: str) -> set[str]:
    text = re.sub(r"//.*", "", header.read_text(encoding="utf-8"))
    body = re.search(rf"\bstruct {structure} \{{(.*?)\n}};", text, flags=re.DOTALL)
    assert body is not None, f"{header.name} has no struct {structure}"
    return set(re.findall(r"^  [\w:<>\[\], ]+ (\w+)(?: = |;)", body.group(1), flags=re.MULTILINE))


class DsopHTest(unittest.TestCase):
    def test_ctypes_table_is_made_from_it(self) -> None:
        made = subprocess.run([sys.executable, ROOT / "python/make_table.py", ROOT / "include/dsop/dsop.h"], check=True,
                              capture_output=True, text=True).stdout
        self.assertEqual(made, (ROOT / "python/dsop/_table.py").read_text(encoding="utf-8"),
                         "make it anew: python/make_table.py include/dsop/dsop.h >python/dsop/_table.py")

    def test_library_shows_these_functions_alone(self) -> None:
        lines = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True)
        symbols = {line.split()[2].split("@")[0] for line in lines.stdout.splitlines() if line.split()[1] in "TDBVW"}
        self.assertEqual(symbols, FUNCTIONS)

    def test_the_abi_that_later_ones_are_compared_with_has_every_function(self) -> None:
        dump = (ROOT / "src/c/libdsop_c.abi").read_text(encoding="utf-8")
        self.assertEqual(set(re.findall(r"'ShortName' => '(dsop_\w+)'", dump)), FUNCTIONS, "scripts/abi --write")

    def test_every_function_is_fuzzed(self) -> None:
        fuzzed = set(re.findall(r"DSOP_FUNCTION\((dsop_\w+),", (ROOT / "tests/c_fuzz.cpp").read_text(encoding="utf-8")))
        never_fail = {"dsop_last_error", "dsop_version", "dsop_abort", "dsop_finalize"}
        self.assertEqual(fuzzed, FUNCTIONS - never_fail)

    def test_version_is_the_project_s(self) -> None:
        project = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text(encoding="utf-8"))
        assert project is not None
        self.assertEqual(".".join(re.findall(r"DSOP_VERSION_\w+ (\d+)", HEADER)), project.group(1))
        packages = (ROOT / "debian/changelog").read_text(encoding="utf-8")
        self.assertTrue(packages.startswith(f"dsop ({project.group(1)})"), "debian/changelog has another")

    def test_every_operation_has_its_form_in_c_and_python(self) -> None:
        import dsop  # noqa: PLC0415
        wrong = []
        for header in sorted((ROOT / "include/dsop").glob("*.hpp")):
            alone = CXX_ALONE.get(header.name, set())
            if alone is None:
                continue
            for name in operations_of(header) - alone:
                in_c, in_python = OPERATIONS.get(header.name, {}).get(name, ("", ""))
                if f"dsop_{in_c}" not in FUNCTIONS:
                    wrong.append(f"{header.name}: {name} has no form in C")
                found: object = dsop
                for part in in_python.split("."):
                    found = getattr(found, part, None)
                if found is None:
                    wrong.append(f"{header.name}: {name} has no form in Python")
        self.assertEqual(wrong, [])

    def test_every_field_has_its_form_in_c_and_python(self) -> None:
        import dsop  # noqa: PLC0415
        options = "".join((ROOT / "src/c" / name).read_text(encoding="utf-8") for name in ("options.cpp", "options.hpp"))
        for (header, structure), (in_c, in_python) in FIELDS.items():
            fields = fields_of(ROOT / "include/dsop" / header, structure) - (OF_EVERY_SUM if structure == "TopKSum" else set())
            if in_c.startswith("dsop_"):
                told: set[str] = set()
                for function in in_c.split():
                    parameters = re.search(rf"\b{function}\((.*?)\);", HEADER, flags=re.DOTALL)
                    assert parameters is not None
                    told |= set(re.findall(r"(\w+)(?:,|$)", parameters.group(1)))
                self.assertLessEqual(fields, told, in_c)
            else:
                read: set[str] = set()
                for function in in_c.split():
                    body = re.search(rf"^[\w:<>]+ {function}\(.*?\n}}", options, flags=re.DOTALL | re.MULTILINE)
                    assert body is not None
                    read |= set(re.findall(r'{"(\w+)", &', body.group()))
                self.assertLessEqual(fields, read, in_c)
            found: Any = dsop
            for part in in_python.split("."):
                found = getattr(found, part)
            known = set(inspect.signature(found).parameters) | set(re.findall(r"\w+", found.__doc__))
            self.assertLessEqual(fields, known, in_python)

    def test_table_names_operations_that_there_are(self) -> None:
        for header, operations in OPERATIONS.items():
            text = (ROOT / "include/dsop" / header).read_text(encoding="utf-8")
            for name in operations:
                self.assertRegex(text, rf"\b{name}\(", f"{header} has no {name}")


if __name__ == "__main__":
    runner.main(sys.argv[:1])
