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
BLOCK = re.compile(r"(?:<!-- sample: (?P<mark>[^\n]*?) -->\s*\n)?"
                   r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```", re.M | re.S)


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


def command_of(block):
    """What the shell is given for a sample, and what is shown of its output; else why there is neither."""
    shown_command, shown = split(textwrap.dedent(block["text"]))
    mark = block["mark"]
    if not (mark or shown_command):
        raise ValueError("a block without a language is a sample: begin it with its command ($ railbed …), or say in a comment what "
                         "prints it; commands alone are ```sh, what is none of both ```text")
    if mark and shown_command and " ".join(shown_command.split()[:2]) not in mark:
        raise ValueError("the comment runs another command than the sample shows")
    return mark or shown_command, shown


def complaint(block):
    """What is wrong with one block of code; nothing for one that is no sample, or that varies for a reason."""
    mark = block["mark"] or ""
    if block["language"]:
        is_sample = mark or re.search(r"^ *\$ railbed ", block["text"], re.M)
        return "this is a sample, and samples have no language" if is_sample else None
    if mark.startswith("varies"):
        return None if re.match(r"varies, because \S+ \S+", mark) else "say why this sample varies: varies, because …"
    try:
        command, shown = command_of(block)
    except ValueError as why:
        return str(why)
    printed = printed_by(command)
    return None if agree(shown, printed) else f"this is not what it prints: {command}\n{textwrap.indent(printed, '    ')}"


def is_compared(block):
    return not block["language"] and not (block["mark"] or "").startswith("varies")


def complaints(page, text):
    for block in BLOCK.finditer(text):
        if found := complaint(block):
            yield f"{page}:{text.count(chr(10), 0, block.start('text'))}: {found}"


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
                          (f"```sh\n$ railbed version\n{version}\n```\n", 1),
                          ("<!-- sample: railbed version -->\n```\n$ railbed verify\nrailbed 0.0.1\n```\n", 1),
                          (f"1. x\n   ```\n   $ railbed version\n   {version}\n   ```\n", 0)):
        assert len(list(complaints("self-test", sample))) == count, sample


def main():
    self_test()
    texts = {page.relative_to(ROOT): page.read_text() for page in pages()}
    found = [one for page, text in texts.items() for one in complaints(page, text)]
    compared = sum(is_compared(block) for text in texts.values() for block in BLOCK.finditer(text))
    if compared < 8:
        found.append(f"only {compared} samples were found to compare")
    print("\n".join(found) if found else f"{compared} samples are what the commands print")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
