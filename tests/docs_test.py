#!/usr/bin/env python3
"""The man page, the README and the documents keep up with the program: every command is described, and every relative
link leads somewhere; what they tell to type runs as printed where it needs neither hardware nor another machine. That every other
command can be typed is src/cli/documented_test.cc's."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def commands():
    text = subprocess.run([os.environ["RAILBED"], "--help"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^  ([a-z][\w-]*) {2,}", text, re.M)


# What is no sentence: code, tables, headings, pictures, comments.
def paragraphs(text):
    text = re.sub(r"^```.*?^```\s*$", "\n", text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    for paragraph in re.split(r"\n\s*\n", text):
        paragraph = paragraph.strip()
        if paragraph and not paragraph.startswith(("#", "|", "<", "![")):
            yield paragraph


# A list's entry may end with the command that it is about; a paragraph may not.
def cut_off(text):
    for paragraph in paragraphs(text):
        last = paragraph.splitlines()[-1].strip()
        is_text = not paragraph.startswith(("-", "*")) and not last.startswith("|")
        if is_text and not re.search(r"[.!?:)*`>][\"”]?$", last):
            yield last


# Commands that look at files alone, and what makes others do so.
OF_FILES = {"check", "rules", "explain", "advise", "predict", "completion", "report", "tour", "version", "help"}
BY_FILES = {"--root", "--no-look"}
# They go on until they are ended; these want a history or a log of the reader's own.
ENDLESS = {"watch", "monitor", "top", "compare"}
OWN = {"last", "baseline", "log", "--listen"}
STANDS_FOR = re.compile(r"[A-Z][A-Z_]*$|.*[…<>\[\]{}$]")


def typed(line):
    """The words of a command that this test may run; none of any other."""
    found = re.match(r"(?:\$ )?railbed ((?:[^#|;&>]|(?<=\S)[#&>])*)", line)
    try:
        words = shlex.split(re.split(r"\s{3,}", found[1].strip())[0]) if found else []
    except ValueError:
        return []
    if not words or words[0] in ENDLESS or OWN & set(words) or not (words[0] in OF_FILES or BY_FILES & set(words)):
        return []
    if any(STANDS_FOR.match(word) for word in words) or words in (["predict", "train"], ["predict", "experts"]):  # of this machine's GPUs
        return []
    paths = [word for word in words if "/" in word or re.search(r"\.(yaml|json|tree|log|csv|gz|xz)$", word)]
    outputs = {words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-o", "--output", "--svg", "--page", "--labels")}
    return words if all((ROOT / path).exists() for path in paths if path not in outputs) else []


def documented():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/**/*.md"), *ROOT.glob("tests/**/*.md")]:
        text = page.read_text()
        blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)
        lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
        for line in lines + re.findall(r"`(railbed [^`]*\s[^-`\s][^`\s]*)`", text):
            if words := typed(line.strip()):
                yield page, words


def runs():
    for page, words in documented():
        with tempfile.TemporaryDirectory() as folder:
            for name in ("examples", "tests", "docs"):
                (pathlib.Path(folder) / name).symlink_to(ROOT / name)
            done = subprocess.run([os.environ["RAILBED"], *words], cwd=folder, env=os.environ | {"HOME": folder, "XDG_STATE_HOME": folder},
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if done.returncode not in (0, 1, 2):
            yield f"{page.relative_to(ROOT)}: railbed {' '.join(words)}: exit code {done.returncode}: {done.stderr.strip()}"


def complaints():
    ran = list(documented())
    if len(ran) < 10:
        yield f"only {len(ran)} commands of the documents were found to run"
    yield from runs()
    manual = (ROOT / "man/railbed.1").read_text().replace("\\-", "-")
    for command in commands():
        if not re.search(rf"\\fB{command}\\fR", manual):
            yield f"man/railbed.1 does not describe the command {command}"
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.md")]:
        if "build" in page.relative_to(ROOT).parts:
            continue
        text = page.read_text()
        for last in cut_off(text):
            yield f"{page.relative_to(ROOT)}: a paragraph ends in mid-sentence: \"{last}\""
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if not re.match(r"\w+:", target) and not (page.parent / target).exists():
                yield f"{page.relative_to(ROOT)}: the link {target} leads nowhere"


def main():
    found = list(complaints())
    print("\n".join(found) if found else "the documents keep up")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
