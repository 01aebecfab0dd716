#!/usr/bin/python3
"""Writes the module dsop for Fortran: dsop.h's functions into a frame. Usage: make_fortran.py DSOP_H FRAME >dsop.f90"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# What a value is, and what a pointer points to that the caller fills in: other pointers are addresses by value.
VALUES = {"int": "integer(c_int)", "double": "real(c_double)", "size_t": "integer(c_size_t)",
          "uint64_t": "integer(c_int64_t)", "dsop_type": "integer(c_int)"}
STRUCTURES = ("dsop_matrix", "dsop_factor", "dsop_vector")


def declaration(parameter: str, handles: set[str]) -> tuple[str, str]:
    """A parameter's name, and its declaration in Fortran."""
    if "(*" in parameter:
        name = re.search(r"\(\*(\w+)\)", parameter).group(1)  # type: ignore[union-attr]
        return name, f"type(c_funptr), value :: {name}"
    kind, name = re.fullmatch(r"(.*?)(\w+)", parameter).groups()  # type: ignore[union-attr]
    kind = kind.strip()
    if not kind.endswith("*"):
        return name, f"{'integer(c_int64_t)' if kind in handles else VALUES[kind]}, value :: {name}"
    target = kind[:-1].strip()
    if target == "const char":
        return name, f"character(kind=c_char), intent(in), optional :: {name}(*)"
    if target.removeprefix("const ") in STRUCTURES:
        intent = "in" if target.startswith("const") else "out"
        return name, f"type({target.removeprefix('const ')}), intent({intent}), optional :: {name}"
    if target in handles:
        return name, f"integer(c_int64_t), intent(out) :: {name}"
    if target.endswith("*"):
        return name, f"type(c_ptr), intent(out), optional :: {name}"
    if target in VALUES:
        return name, f"{VALUES[target]}, intent(out), optional :: {name}"
    return name, f"type(c_ptr), value :: {name}"


def interface(result: str, name: str, parameters: list[str], handles: set[str]) -> list[str]:
    declared = [declaration(parameter, handles) for parameter in parameters]
    names = [parameter for parameter, _ in declared]
    lines, line = [], f"    {'subroutine' if result == 'void' else 'function'} {name}("
    for i, parameter in enumerate(names):
        word = parameter + (", " if i + 1 < len(names) else "")
        if len(line) + len(word) > 100:
            lines.append(line + "&")
            line = "        "
        line += word
    lines += [line + ") &", f'        bind(c, name="{name}")',
              "      import :: c_int, c_double, c_size_t, c_int64_t, c_char, c_ptr, c_funptr, &",
              "                dsop_matrix, dsop_factor, dsop_vector",
              *(f"      {text}" for _, text in declared)]
    if result != "void":
        lines.append(f"      {'type(c_ptr)' if '*' in result else 'integer(c_int)'} :: {name}")
    return [*lines, f"    end {'subroutine' if result == 'void' else 'function'}"]


def split(parameters: str) -> list[str]:
    parts = re.split(r",(?![^(]*\))", " ".join(parameters.split()))
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def interfaces_of(header: str) -> str:
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    handles = set(re.findall(r"typedef uint64_t (\w+);", text))
    functions = re.findall(r"^DSOP_API ([\w ]+?\*?) ?(dsop_\w+)\((.*?)\);", text, flags=re.DOTALL | re.MULTILINE)
    lines = [f"  public :: {name}" for _, name, _ in functions] + ["", "  interface"]
    for result, name, parameters in functions:
        lines += interface(result, name, split(parameters), handles)
    return "\n".join([*lines, "  end interface", ""])


if __name__ == "__main__":
    header, frame = (Path(path).read_text(encoding="utf-8") for path in sys.argv[1:3])
    sys.stdout.write(frame.replace("@INTERFACES@", interfaces_of(header)))
