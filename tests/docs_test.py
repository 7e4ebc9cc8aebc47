#!/usr/bin/env python3
"""The man page, the README and the documents keep up with the program: every command is described, and every relative
link leads somewhere."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def commands():
    text = subprocess.run([os.environ["RAILBED"], "--help"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^  ([\w-]+) {2,}", text.split("Subcommands:")[1].split("\n\n")[0], re.M)


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


def complaints():
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
