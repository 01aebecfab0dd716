"""From the texts people write to values; a text that is not understood raises BadValue, which says what was expected."""

from __future__ import annotations

import re
from typing import Callable

MOST_NUMBERS = 10000


class BadValue(ValueError):
    """What was expected instead."""


def whole_number(least: int, most: int = 10**6) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
            raise BadValue(f"a whole number from {least} to {most}")
        return int(text)
    return parse


def number_list(least: int) -> Callable[[str], list[int]]:
    """1,2,4 or first:last:step, as dsop-bench has them; a number that comes twice counts once."""
    expected = f"whole numbers of at least {least} like 1,2,4 or first:last:step, at most {MOST_NUMBERS} of them"

    def parse_part(part: str) -> range:
        if not re.fullmatch(r"[0-9]{1,9}(:[0-9]{1,9}:[0-9]{1,9})?", part):
            raise BadValue(expected)
        first, last, step = [int(digits) for digits in part.split(":")] if ":" in part else [int(part), int(part), 1]
        if first < least or last < first or step == 0:
            raise BadValue(expected)
        return range(first, last + 1, step)

    def parse(text: str) -> list[int]:
        parts = [parse_part(part) for part in text.split(",")]
        if sum(map(len, parts)) > MOST_NUMBERS:
            raise BadValue(expected)
        return list(dict.fromkeys(number for part in parts for number in part))
    return parse


def columns(text: str) -> list[int] | None:
    """None stands for "same": as many columns as rows."""
    if text == "same":
        return None
    try:
        return number_list(1)(text)
    except BadValue as error:
        raise BadValue(f"same, or {error}") from None


def names(text: str) -> list[str]:
    name = r"[a-z0-9-]+(\([0-9,]+\))?"  # perhaps with its parameters
    if not re.fullmatch(f"{name}(,{name})*", text):
        raise BadValue("all, auto, or names of algorithms with commas between")
    return list(dict.fromkeys(found.group() for found in re.finditer(name, text)))


def layers(text: str) -> list[list[int]]:
    if not re.fullmatch(r"[1-9][0-9]{0,8}x[1-9][0-9]{0,8}(,[1-9][0-9]{0,8}x[1-9][0-9]{0,8})*", text):
        raise BadValue("rows x columns of each layer, like 1024x2048,2048x100")
    return [[int(side) for side in layer.split("x")] for layer in dict.fromkeys(text.split(","))]


def shares(text: str) -> list[float]:
    number = r"[0-9]*\.?[0-9]+(e-?[0-9]+)?"
    if not re.fullmatch(f"{number}(,{number})*", text) or not all(0 < float(part) <= 1 for part in text.split(",")):
        raise BadValue("numbers above 0 and up to 1, like 0.001,0.01")
    return list(dict.fromkeys(map(float, text.split(","))))


def one_of(*known: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in known:
            raise BadValue(f"{', '.join(known[:-1])} or {known[-1]}")
        return text
    return parse


def percentage(text: str) -> str:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?%", text) or not 0 < float(text[:-1]) < 100:
        raise BadValue("a percentage like 5%")
    return text


def yes_or_no(text: str) -> bool:
    return one_of("yes", "no")(text) == "yes"


def jobs_per_point(text: str) -> int | None:
    """None stands for "all": one job for each repetition."""
    if text == "all":
        return None
    try:
        return whole_number(1)(text)
    except BadValue as error:
        raise BadValue(f"all, or {error}") from None


def sbatch_options(text: str) -> str:
    if "\n" in text or not text.startswith("-"):
        raise BadValue("options of sbatch on one line, as --partition=long --time=4:00:00")
    return text


def folder_name(text: str) -> str:
    if not text or re.search(r"[\s%\\'\"]", text):
        raise BadValue("a folder's name without blanks, %, \\ and quotation marks, which sbatch reads in its own way")
    return text


def file_name(text: str) -> str:
    if not text:
        raise BadValue("a file's name")
    return text
