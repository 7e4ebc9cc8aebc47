#!/usr/bin/env python3
"""Every parser has a fuzzer, or is seen to have none: fuzz/parsers.md names each function of a header that looks like one, and each
fuzzer."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A function that takes a text of somebody's under one of these names.
PARSER = re.compile(r"\b((?:parse|read|decode|used|take|cut|find|add)_\w+|\w+_from_json)\([^;{)]*std::string_view "
                    r"(?:text|body|raw|line|output|page|came|bytes|record|head|stat|status|log|environment|document|answer)\b")


def parsers():
    for path in sorted((ROOT / "src").rglob("*.h")):
        if "testing" not in path.parts:
            for name in PARSER.findall(path.read_text()):
                yield name, path.relative_to(ROOT)


def main():
    page = (ROOT / "fuzz/parsers.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")][1:]
    named = set(re.findall(r"`([\w:]+)", page))
    fuzzers = {path.name.removesuffix("_fuzz.cc") for path in (ROOT / "fuzz").glob("*_fuzz.cc")}
    said = {word for row in rows for word in re.findall(r"\w+", row[2]) if row[2] != "all that read JSON"}
    faults = [f"{path}: {name} is no row of fuzz/parsers.md: which fuzzer feeds it?" for name, path in parsers() if name not in named]
    faults += [f"fuzz/parsers.md: there is no fuzz/{one}_fuzz.cc" for one in sorted(said - fuzzers - {"none"})]
    faults += [f"fuzz/parsers.md: fuzz/{one}_fuzz.cc is in no row" for one in sorted(fuzzers - said)]
    print("\n".join(faults))
    print(f"{len(rows)} formats, {len(fuzzers)} fuzzers, {sum(row[2] == 'none' for row in rows)} without one")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
