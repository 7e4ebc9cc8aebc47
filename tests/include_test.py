#!/usr/bin/env python3
"""Holds every #include under src/ against the table of rooms in ARCHITECTURE.md.

An arrow that points up or sideways, a third-party header outside the files that may hold it, and a literal
/sys or /proc path outside os/, nvidia/, host/, facts/ and apply/ (but for our own descriptors) each fail with the file and line.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

# Third-party headers and the files (patterns under src/) that may include them.
THIRD_PARTY = {
    r"nlohmann/": [r"base/json\.h"],
    r"yaml-cpp/": [r"base/yaml\.cc"],
    r"CLI/": [r"cli/([a-z]+/)?[a-z_]+\.cc"],
    r"sqlite3": [r"store/store(_test)?\.cc"],
    r"infiniband/": [r"host/verbs[a-z_]*\.cc", r"bench/verbs/verbs[a-z_]*\.h"],
    r"tl/expected": [r"base/result\.h"],
    r"curl/": [r"os/curl\.h"],
    r"archive(_entry)?\.h": [r"host/support/archive\.cc"],
    r"boost/": [r"monitor/web/web_[a-z_]+\.(cc|h)", r"base/student\.cc"],
    r"openssl/": [r"monitor/web/web_[a-z_]+\.(cc|h)"],
    r"crypt\.h": [r"monitor/web/web_[a-z_]+\.cc"],
}


def rooms_table():
    """Room → rooms it may use, from the tables in ARCHITECTURE.md (`room/` in the first column, uses in the last).

    A folder within a room has a row `room/folder/`, which names the room's other folders that it may use, or is meant by
    the row `room/*/`.
    """
    table = {}
    for line in (ROOT / "ARCHITECTURE.md").read_text().splitlines():
        row = re.match(r"\| `(\w+(?:/[\w*]+)?)/` \|.*\|([^|]*)\|$", line)
        if row:
            table[row[1]] = set(re.findall(r"\w+", row[2]))
    return table


def allowed(table, room, target):
    uses = table[room]
    return target == room or "all" in uses or target in uses


def folder_of(table, name):
    """The "room/folder" that a path lies in, if the room has rows for its folders and this one is no place of tests'."""
    parts = name.split("/")
    divided = any(row.startswith(parts[0] + "/") for row in table)
    return "/".join(parts[:2]) if divided and parts[1] != "testing" else None


def uses_of(table, folder):
    """The folders of its room that a folder may use; None: it has no row."""
    return table.get(folder, table.get(folder.split("/")[0] + "/*"))


def may_include(table, name, included):
    """Why the file may not include the other; None: it may."""
    room, target = name.split("/")[0], included.split("/")[0]
    if target not in table:
        return None
    if not allowed(table, room, target):
        return f"{room}/ may not use {target}/"
    folder, other = folder_of(table, name), folder_of(table, included)
    if room != target or not folder or not other or other == folder:
        return None
    if uses_of(table, folder) & {"all", other.split("/")[1]}:
        return None
    return f"{folder}/ may not use {other}/"


# Commands parse, call, print and end; what they do over nodes is campaign's. (All but the tests of both.)
CLI_LINES = 250
NOT_IN_CLI = r'#include "(fleet/|bench/core/typed|bench/engines/handlers|bench/\w+/\w*(socket|handlers)|verify/rules)'
NOT_IN_CAMPAIGN = r"\bfmt::print|\bprintf\(|\bstd::c(out|err)\b|\bstderr\b|\bstdout\b|\bgetenv\("


def complaints_of_commands(name, text):
    if name.startswith("cli/") and len(text.splitlines()) > CLI_LINES and name != "cli/commands.cc":
        yield f"src/{name}: {len(text.splitlines())} lines; a command has {CLI_LINES} at most: what it does goes to campaign/"
    pattern = {"cli": NOT_IN_CLI, "campaign": NOT_IN_CAMPAIGN}.get(name.split("/")[0])
    for number, line in enumerate(text.splitlines(), 1):
        if pattern and re.search(pattern, line.split("//")[0]):
            yield f"src/{name}:{number}: not here: {line.strip()}"


def complaints():
    table = rooms_table()
    if "base" not in table:
        yield "ARCHITECTURE.md: no table of rooms found"
        return
    for path in sorted(SRC.rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        name = path.relative_to(SRC).as_posix()
        room = name.split("/")[0]
        if room not in table:
            yield f"src/{name}: the room {room}/ is not in ARCHITECTURE.md's table"
            continue
        folder = folder_of(table, name)
        if folder and (uses_of(table, folder) is None or "." in folder):
            yield f"src/{name}: the folder {folder}/ is not in ARCHITECTURE.md's table"
            continue
        test = name.endswith(("_test.cc", "_bench.cc")) or "/testing/" in name
        if not test:
            yield from complaints_of_commands(name, path.read_text())
        for number, line in enumerate(path.read_text().splitlines(), 1):
            where = f"src/{name}:{number}"
            own = re.match(r'#include "(\w+/[\w/.]+)"', line)
            why = own and not test and may_include(table, name, own[1])
            if why:
                yield f"{where}: {why}"
            for pattern, places in THIRD_PARTY.items():
                if re.match(rf"#include [<\"]{pattern}", line) and not any(re.fullmatch(p, name) for p in places):
                    yield f"{where}: {line.split()[1]} belongs in {' or '.join(places)}"
            code = line.split("//")[0]
            if not test and room not in ("os", "nvidia", "host", "facts", "verify", "hardware", "apply", "diagnose") and re.search(r'"/(sys/|proc/(?!(self|{})/fd/))', code):
                yield f"{where}: a literal /sys or /proc path outside os/, nvidia/, host/, facts/, apply/ and the rooms that name them to people"


def main():
    found = list(complaints())
    print("\n".join(found) if found else "every include points the right way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
