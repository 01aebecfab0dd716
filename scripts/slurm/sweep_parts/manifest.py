"""manifest.json: what was asked for, of which dsop-bench, and which jobs were submitted for it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from .settings import COMMANDS, SIZES, Settings, SweepError

NAME = "manifest.json"


def _output_of(bench: Path, *arguments: str) -> list[str]:
    command = [str(bench), *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    except OSError as error:
        raise SweepError(f"--bench is '{bench}', expected dsop-bench: {error.strerror}") from None
    if done.returncode != 0:
        raise SweepError(f"--bench is '{bench}', expected dsop-bench: '{' '.join(command)}' ended with {done.returncode}")
    return done.stdout.splitlines()


def facts_of(bench: Path) -> dict[str, str]:
    """Host, CPU, MPI, BLAS, commit and so on as dsop-bench finds them where this runs: `info` until its first empty line."""
    lines = _output_of(bench, "info", "--ranks", "1")
    head = lines[:lines.index("")] if "" in lines else []
    facts = {line[:14].strip(): line[14:] for line in head}
    if not {"mpi", "commit"} <= set(facts):
        raise SweepError(f"--bench is '{bench}', expected dsop-bench: its info tells no MPI library and no commit")
    if facts["mpi"] == "none":
        raise SweepError(f"--bench is '{bench}', expected a dsop-bench built with MPI (meson setup -Dmpi=enabled)")
    return facts


def known_algorithms(bench: Path, command: str) -> list[str]:
    lines = [line.split(maxsplit=2) for line in _output_of(bench, "list")]
    return [words[1] for words in lines if words and words[0] == COMMANDS[command].family]


def read_manifest(out: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((out / NAME).read_text())
        return manifest
    except OSError as error:
        raise SweepError(f"{out / NAME}: {error.strerror}, expected the manifest of a sweep") from None
    except (ValueError, RecursionError) as error:
        raise SweepError(f"{out / NAME}: not JSON: {error}") from None


def write_manifest(out: Path, manifest: dict[str, Any]) -> None:
    new = out / (NAME + ".new")
    new.write_text(json.dumps(manifest, indent=2) + "\n")
    new.replace(out / NAME)


def settings_in(manifest: dict[str, Any]) -> Settings:
    return Settings(**_began_with(manifest))


def _began_with(manifest: dict[str, Any]) -> dict[str, Any]:
    began: dict[str, Any] = manifest["settings"]
    before = {"calibrate": False, "nodes": None, "exclusive": False, "side_by_side": True, "command": "outer-product"}
    return SIZES | before | began  # of a sweep from before there was a choice


def begin_or_continue(out: Path, settings: Settings, facts: dict[str, str]) -> dict[str, Any]:
    """The manifest in `out`, or a new one where there is none; SweepError where another sweep's results are."""
    if not (out / NAME).exists():
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise SweepError(f"--out is '{out}', expected a folder that is empty, or that of a sweep with its {NAME}")
        return {"settings": settings.as_json(), "facts": facts, "submissions": []}
    manifest = read_manifest(out)
    asked = settings.as_json() | {"commit": facts["commit"]}
    began = _began_with(manifest) | {"commit": manifest["facts"]["commit"]}
    for name, value in asked.items():
        if began.get(name) != value:
            what = "the commit of --bench" if name == "commit" else f"--{name.replace('_', '-')}"
            raise SweepError(f"--out is '{out}', where a sweep began with another setting: {what} is {value}, "
                             f"expected {began.get(name)}; give other settings another folder")
    return manifest
