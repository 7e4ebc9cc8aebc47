#!/usr/bin/env python3
"""What the documents show of a command's output is what it prints. A block of code without a language is such a sample:

    $ railbed check examples/v100-pair.yaml
    v100-pair: 2 nodes, 2 rails
    …

`…` alone on a line stands for lines that are left out, within a line for text. Every other block names its language (sh: commands
to type, text: what is none). A comment above the block, which no reader sees, tells of a sample that needs more than this machine:

    <!-- sample: railbed verify --root TREE -->   what the shell is given here instead
    <!-- sample: varies, because … -->            there is nothing to compare it with, and why
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ["RAILBED"]).resolve()
BLOCK = re.compile(r"(?:<!-- sample: (?P<mark>[^\n]*?) -->\s*\n)?^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```", re.M | re.S)


def pages():
    for pattern in ("*.md", "docs/**/*.md", "bench/**/*.md", "tests/**/*.md"):
        yield from sorted(ROOT.glob(pattern))


def printed_by(command):
    """What the command prints, standard error included, in a folder that looks like the repository."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("examples", "tests"):
            (pathlib.Path(folder) / name).symlink_to(ROOT / name)
        environment = {"PATH": f"{BINARY.parent}:{os.environ['PATH']}", "HOME": folder, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        return subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=60).stdout


def pattern(line):
    return ".*".join(re.escape(part) for part in line.split("…"))


def agree(shown, printed):
    """Whether the lines that are shown are those that were printed, but for what … stands for."""
    lines = [r"(?:.*\n)*?" if line.strip() == "…" else pattern(line) + r"\n" for line in shown.splitlines()]
    text = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines()) + "\n"
    return re.fullmatch("".join(lines), text) is not None


def split(text):
    """The command of a sample and what is shown of its output."""
    found = re.match(r"\$ (railbed .*(?:\\\n.*)*)\n", text)
    return (found[1], text[found.end():]) if found else ("", text)


def complaints(page, text, compared):
    for block in BLOCK.finditer(text):
        place = f"{page}:{text[:block.start('text')].count(chr(10))}"
        mark = block["mark"]
        if block["language"]:
            if mark:
                yield f"{place}: a comment says that this is a sample, and it has a language"
            continue
        shown_command, shown = split(textwrap.dedent(block["text"]))
        if mark and mark.startswith("varies"):
            if not re.match(r"varies, because \S+ \S+", mark):
                yield f"{place}: the comment says that this sample varies, and not why: varies, because …"
            continue
        command = mark or shown_command
        if mark and shown_command and " ".join(shown_command.split()[:2]) not in mark:
            yield f"{place}: the comment runs another command than the sample shows"
            continue
        if not command:
            yield f"{place}: a block without a language is a sample: begin it with its command ($ railbed …), or say in a comment " \
                  "what prints it; commands alone are ```sh, what is none of both ```text"
            continue
        printed = printed_by(command)
        compared.append(place)
        if not agree(shown, printed):
            yield f"{place}: this is not what it prints: {command}\n{textwrap.indent(printed, '    ')}"


def self_test():
    """What must not pass does not."""
    assert agree("a 1\n…\nd …\n", "a 1\nb\nc\nd 4 s\n")
    assert agree("…\nd\n", "d\n")
    for wrong in ("a 2\n…\nd …\n", "a 1\nd …\n", "a 1\n…\n…e\n", "a 1\n", "…\nc\n"):
        assert not agree(wrong, "a 1\nb\nc\nd 4 s\n"), wrong
    version = printed_by("railbed version").strip()
    for sample, count in ((f"```\n$ railbed version\n{version}\n```\n", 0), ("```\n$ railbed version\nrailbed 0.0.1\n```\n", 1),
                          ("```\nrailbed 0.0.1\n```\n", 1), ("<!-- sample: varies -->\n```\n1 s\n```\n", 1),
                          ("<!-- sample: varies, because of time -->\n```\n1 s\n```\n", 0), ("```text\n→\n```\n", 0),
                          ("<!-- sample: railbed version -->\n```\n$ railbed verify\nrailbed 0.0.1\n```\n", 1),
                          (f"1. x\n   ```\n   $ railbed version\n   {version}\n   ```\n", 0)):
        assert len(list(complaints("self-test", sample, []))) == count, sample


def main():
    self_test()
    compared = []
    found = [one for page in pages() for one in complaints(page.relative_to(ROOT), page.read_text(), compared)]
    if len(compared) < 8:
        found.append(f"only {len(compared)} samples were found to compare")
    print("\n".join(found) if found else f"{len(compared)} samples are what the commands print")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
