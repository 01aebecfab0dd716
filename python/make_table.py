#!/usr/bin/python3
"""Writes python/dsop/_table.py, what ctypes must know of dsop.h. Usage: make_table.py DSOP_H >_table.py"""

from __future__ import annotations

import re
import sys
from pathlib import Path

POINTERS = {  # what is handed out, or filled in by the caller
    "const char": "c_char_p", "char": "c_void_p", "void": "c_void_p", "const void": "c_void_p",
    "const dsop_factor": "POINTER(Factor)", "const dsop_matrix": "POINTER(Matrix)", "const dsop_vector": "POINTER(Vector)",
    "dsop_vector": "POINTER(Vector)", "int": "POINTER(c_int)", "double": "POINTER(c_double)",
    "size_t": "POINTER(c_size_t)", "const size_t": "c_void_p", "uint64_t": "POINTER(c_uint64)",
    "uint32_t": "c_void_p", "const char*": "POINTER(c_char_p)", "const void*": "POINTER(c_void_p)",
    "const uint32_t*": "POINTER(c_void_p)", "const size_t*": "POINTER(c_void_p)",
}
VALUES = {"int": "c_int", "double": "c_double", "size_t": "c_size_t", "uint64_t": "c_uint64", "dsop_type": "c_int",
          "uint32_t": "c_uint32"}
STRUCTURES = {"dsop_matrix": "Matrix", "dsop_factor": "Factor", "dsop_vector": "Vector"}


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def ctype(declaration: str, handles: set[str]) -> str:
    """Of a parameter or a field as C declares it, its name perhaps behind it."""
    declaration = " ".join(declaration.split())
    if "(*" in declaration:
        result, parameters = re.fullmatch(r"(.*?) ?\(\*\w*\)\((.*)\)", declaration).groups()  # type: ignore[union-attr]
        given = [] if parameters == "void" else parameters.split(",")
        return f"CFUNCTYPE({', '.join([ctype(result, handles), *(ctype(p, handles) for p in given)])})"
    if declaration == "void":
        return "None"
    kind = re.sub(r"(?<=[\w*]) ?\b\w+$", "", declaration) if re.search(r"[ *]\w+$", declaration) else declaration
    if kind in ("", "const"):
        kind = declaration
    kind = kind.strip()
    if kind.endswith("*"):
        target = kind[:-1].strip()
        return "POINTER(c_uint64)" if target in handles else POINTERS[target]
    return "c_uint64" if kind in handles else VALUES[kind]


def split_parameters(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [" ".join(part.split()) for part in parts if part.strip() and part.strip() != "void"]


def table_of(header: str) -> str:
    text = without_comments(header)
    handles = set(re.findall(r"typedef uint64_t (\w+);", text))
    lines = ['"""Made from dsop.h by make_table.py: don\'t edit."""', "", "from __future__ import annotations", "",
             "from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_size_t, c_uint32, c_uint64,",
             "                    c_void_p)", "from typing import Any", ""]
    version = [re.search(rf"DSOP_VERSION_{part} (\d+)", text).group(1)  # type: ignore[union-attr]
               for part in ("MAJOR", "MINOR", "PATCH")]
    lines += [f'VERSION = "{".".join(version)}"', ""]
    lines += [f"{name} = {value}" for name, value in re.findall(r"\b(DSOP_\w+) = (\d+)", text)] + [""]
    for fields, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", text, flags=re.DOTALL):
        lines += ["", f"class {STRUCTURES[name]}(Structure):", "    _fields_ = ["]
        for field in filter(None, (" ".join(f.split()) for f in fields.split(";"))):
            kind = "c_void_p" if "*" in field else ctype(field, handles)
            lines.append('        ("%s", %s),' % (re.findall(r"\w+", field)[-1], kind))
        lines += ["    ]", ""]
    lines += ["", "FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {"]
    for result, name, parameters in re.findall(r"DSOP_API ([\w ]+?\*?) ?(dsop_\w+)\((.*?)\);", text, flags=re.DOTALL):
        given = ", ".join(ctype(p, handles) for p in split_parameters(parameters))
        lines.append(f'    "{name}": ({ctype(result, handles)}, [{given}]),')
    return "\n".join([*lines, "}"]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table_of(Path(sys.argv[1]).read_text(encoding="utf-8")))
