#!/usr/bin/env python3
"""Holds that a file which uses a name of a library or of the project reaches its header through its own includes.

Files are compiled in batches, and compilers' headers include each other as they like: what a file got by chance from a
neighbour, or from one version of a compiler, it loses with the next. Only includes that stand in the project's files are
followed. Of the project's own names, those count that mean one thing wherever they stand. Of 100 includes without which a
file does not compile by itself, the complaints named 96; the preset `alone` finds the rest, in ten minutes.
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
    "CLI/": r"\bCLI::(?!(App|Option|ParseError|Validator)\b)\w+",
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


@functools.lru_cache(None)
def code_of(name):
    """A file without its comments, texts, includes and names of tests."""
    code = re.sub(r'R"(\w*)\((.*?)\)\1"', '""', (SRC / name).read_text(), flags=re.S)
    code = re.sub(r"^(#include|TEST(_[FP])?\(|INSTANTIATE).*", "", code, flags=re.M)
    return re.sub(r"//.*", "", re.sub(r'"(\\.|[^"\\\n])*"', '""', code))


# What the system's headers or a template's parameters declare, too.
NOT_OURS_ALONE = set("Pair Values fits parse read take text write".split())
TEMPLATE = r"(?:template <[^\n]*>\s*)?"
TYPE = r"(?:struct|class|enum class|enum|using)"
DECLARED = [
    rf"^{TEMPLATE}{TYPE} (?:\[\[\w+\]\] )?(\w+)\b(?! *<)",
    r"^(?:inline |extern |static )?(?:constexpr|const) [^;={(]*?(\w+)(?:\[[^\]]*\])?\s*(?:=|\{|;)",
]
FUNCTION = r"^(?![#} ]|using |namespace |return |static_assert)[\w:<>,&*\[\]. ]+?[ &*>](\w+)\("
# The same inside of a class, of a template's parameters or of a function.
INNER = [
    rf"^ +{TYPE} (\w+)\b",
    r"\b(?:class|typename) (\w+)(?=[,>])",
    r"^ +(?:\[\[\w+\]\] )?(?!return |else |co_return |case |new |delete |throw )"
    r"(?:(?:static|const|inline|constexpr|virtual|explicit|friend) )*[\w:]+(?:<[^()=;]*>)?[&*]* [&*]?(\w+)\(",
]


@functools.lru_cache(None)
def declared(name):
    """Names that a file declares outside of all classes and functions."""
    return frozenset(found for pattern in [*DECLARED, FUNCTION] for found in re.findall(pattern, code_of(name), re.M))


@functools.lru_cache(None)
def inner(name):
    """Names that a file declares within those."""
    code = code_of(name)
    found = {one for pattern in INNER for one in re.findall(pattern, code, re.M)}
    for body in re.findall(r"\benum\b[^{;]*\{([^}]*)\}", code):
        found |= set(re.findall(r"\bk\w+", body))
    return frozenset(found)


def headers_by_name(names):
    """Name → the headers that declare it. A name of many headers is one function of many types."""
    headers = {}
    for name in names:
        if name.endswith(".h"):
            for one in declared(name):
                headers.setdefault(one, set()).add(name)
    return {one: where for one, where in headers.items() if len(where) <= 20}


def missing_of_project(name, headers):
    """Names that a file uses, and a header of which it reaches none. What the file or a header that it reaches declares in
    some class or function is taken for that."""
    code, reaches = code_of(name), {one for one in reached(name) if (SRC / one).exists()} | {name}
    known = declared(name).union(*(inner(one) for one in reaches))
    tokens = set(re.findall(r"\w+", code))
    for one in sorted((tokens & headers.keys()) - known - NOT_OURS_ALONE):
        if headers[one] & reaches:
            continue
        as_function = one[0].islower() and not re.match("k[A-Z]", one)
        used = re.search(rf"(?<![\w.>:])(?:railbed::|nccl::|json::)?{one}" + (r"[(<]" if as_function else r"\b"), code)
        own = re.search(rf"\b(auto|bool|int|(?:constexpr|const)\b[^;(=]*|[\w:>][&*]?) {one}\b *(\[[^\]]*\])?[=;,){{]|, {one} = ", code)
        if used and not own:
            yield one, min(headers[one])


def complaints():
    names = [path.relative_to(SRC).as_posix() for path in sorted(SRC.rglob("*")) if path.suffix in (".h", ".cc")]
    headers_of = headers_by_name(names)
    for name in names:
        code, headers = code_of(name), reached(name)
        for header, pattern in NEEDS.items():
            used = re.search(pattern, code)
            if used and not any(one == header or (header.endswith("/") and one.startswith(header)) for one in headers):
                yield f"src/{name}: {used[0].rstrip('(<')} wants {header}"
        for one, header in missing_of_project(name, headers_of):
            yield f"src/{name}: {one} wants {header}"


def main():
    found = list(complaints())
    print("\n".join(found) if found else "every file includes what it uses")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
