#!/usr/bin/env python3
"""Holds that compiling files together means what compiling them one by one means.

Release builds join the files of a room (docs/decisions/0008). A name in one file's anonymous namespace is then seen by
the next files, where a constant or type would hide the same name of a header without a word. So a constant or type in
an anonymous namespace is declared in one file of its room only, and by no header that the room may include. (Functions
of one name are overloads, and the compiler says when they clash.)

And two headers of different rooms never give one namespace two types of the same name: no file includes both, so no
compiler sees it, and the linker keeps one of two templates made of them, which then takes the other's memory for its own.
"""
import collections
import pathlib
import re
import sys

from include_test import allowed, rooms_table

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

CONSTANT = re.compile(r"^(?:inline |static )*(?:constexpr|const) [\w:<>,*& ]*?(k[A-Z]\w*)(?:\[[^]]*\])?(?: =|\{|;)")
TYPE = re.compile(r"^(?:template <[^>]*>\s*)?(?:struct|class|enum class|enum) (\w+)(?: final)?(?: :[^{;]*)?\s*\{")
ALIAS = re.compile(r"^using (\w+) =")


def declared(lines):
    """Names that stand at the beginning of lines, which is where namespaces declare: (name, line number, line)."""
    for number, line in lines:
        for pattern in (CONSTANT, TYPE, ALIAS):
            found = pattern.match(line)
            if found:
                yield found[1], number, line


def anonymous_part(text):
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"namespace \{", line):
            inside = True
        elif inside and re.match(r"\}  // namespace$", line):
            inside = False
        elif inside:
            yield number, line


def namespace_of(text):
    found = re.search(r"^namespace railbed::(\w+)", text, re.M)
    return found[1] if found else ""


def header_names():
    """Name → (room, namespace, place) of every header that declares it."""
    names = collections.defaultdict(list)
    for path in sorted(SRC.rglob("*.h")):
        text = path.read_text()
        relative = path.relative_to(SRC)
        for name, number, _ in declared(enumerate(text.splitlines(), 1)):
            names[name].append((relative.parts[0], namespace_of(text), f"src/{relative}:{number}"))
    return names


def twice_in_headers(headers):
    for name, places in headers.items():
        homes = collections.defaultdict(set)
        for _, inner, there in places:
            homes[inner].add(there)
        for there in homes.values():
            if len({place.split(":")[0] for place in there}) > 1 and name[0].isupper():
                yield f"{name} is declared in {' and '.join(sorted(there))}"


def complaints():
    headers = header_names()
    yield from twice_in_headers(headers)
    table = rooms_table()
    seen = collections.defaultdict(dict)
    for path in sorted(SRC.rglob("*.cc")):
        relative = path.relative_to(SRC)
        if "testing" in relative.parts:
            continue
        text = path.read_text()
        room = relative.parts[0]
        test = path.stem.endswith("_test")
        for name, number, line in declared(anonymous_part(text)):
            where = f"src/{relative}:{number}"
            for owner, inner, there in headers[name]:
                if inner in ("", namespace_of(text)) and allowed(table, room, owner):
                    yield f"{where}: {name} is declared in {there} as well"
            first, first_line, there = seen[room, test].setdefault(name, (relative, line, where))
            if first != relative and first_line != line:
                yield f"{where}: {name} is declared in {there} as well"


def main():
    found = list(complaints())
    print("\n".join(found) if found else "no name of one file is another file's too")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
