#!/usr/bin/env python3
"""Holds that a file which uses a name of the standard library or of {fmt} reaches its header through its own includes.

Files are compiled in batches, and compilers' headers include each other as they like: what a file got by chance from a
neighbour, or from one version of a compiler, it loses with the next. Only includes that stand in the project's files are
followed. The project's own headers need no such check: the preset `alone` compiles each file by itself.
"""
import functools
import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parent.parent / "src"

# Header → what needs it. Names that most headers bring along (string, vector, utility) are left to the compiler.
ALGORITHMS = ("all_of any_of clamp copy copy_n count count_if equal fill find find_if find_if_not for_each "
              "lower_bound max max_element min min_element none_of nth_element remove replace reverse rotate sort "
              "stable_sort transform unique upper_bound").split()
NEEDS = {
    "algorithm": rf"std::(ranges::)?({'|'.join(ALGORITHMS)})\b\(?",
    "array": r"std::array\b",
    "atomic": r"std::atomic\b",
    "charconv": r"std::(from_chars|to_chars)\b",
    "chrono": r"std::chrono\b",
    "cmath": r"std::(ceil|exp|floor|hypot|isfinite|isinf|isnan|log|log2|lround|pow|round|sqrt)\(",
    "condition_variable": r"std::condition_variable",
    "cstdlib": r"std::(getenv|system|abort|exit)\(",
    "cstring": r"std::(memcmp|memcpy|memset|strchr|strerror|strlen)\b",
    "deque": r"std::deque\b",
    "filesystem": r"std::filesystem\b",
    "fstream": r"std::([io]?fstream)\b",
    "functional": r"std::(function|invoke)\b",
    "future": r"std::(async|future)\b",
    "map": r"std::map\b",
    "memory": r"std::((unique|shared|weak)_ptr|make_(unique|shared))\b",
    "mutex": r"std::(mutex|lock_guard|unique_lock|scoped_lock)\b",
    "numeric": r"std::(accumulate|iota|reduce)\b",
    "optional": r"std::(optional|nullopt)\b",
    "random": r"std::(mt19937|mt19937_64|random_device|uniform_int_distribution)\b",
    "set": r"std::set\b",
    "span": r"std::span\b",
    "sstream": r"std::([io]?stringstream)\b",
    "stop_token": r"std::stop_(token|source|callback)\b",
    "thread": r"std::(jthread|thread|this_thread)\b",
    "fmt/": r"\bfmt::\w+\(",
    "CLI/": r"\bCLI::(?!(App|Option|Validator)\b)\w+",
    "yaml-cpp/": r"\bYAML::\w+",
    "nlohmann/": r"\bnlohmann::\w+",
    "tl/": r"\btl::\w+",
}


@functools.lru_cache(None)
def reached(name):
    """Every header that a file includes, itself or through headers of the project."""
    found = set()
    for included in re.findall(r'^#include [<"]([^>"]+)[>"]', (SRC / name).read_text(), re.M):
        found.add(included)
        if (SRC / included).exists():
            found |= reached(included)
    return frozenset(found)


def complaints():
    for path in sorted(SRC.rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        code = re.sub(r"//.*", "", path.read_text())
        headers = reached(path.relative_to(SRC).as_posix())
        for header, pattern in NEEDS.items():
            used = re.search(pattern, code)
            if used and not any(one == header or (header.endswith("/") and one.startswith(header)) for one in headers):
                yield f"src/{path.relative_to(SRC)}: {used[0].rstrip('(<')} wants {header}"


def main():
    found = list(complaints())
    print("\n".join(found) if found else "every file includes what it uses")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
