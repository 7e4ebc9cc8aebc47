#!/usr/bin/env python3
"""The guides' pages set each file of theirs beside what comes out of an example: what stands there as railbed's is rendered, in these
words, and every file that is rendered stands there. RAILBED names the program."""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = {"from-the-v100-guide.md": "v100-pair", "from-the-infiniband-guide.md": "infiniband-trio",
         "from-the-dgx-spark-guide.md": "dgx-spark-pair"}
HEADING = re.compile(r"^## The guide's [^\n]*railbed's[^\n]*\n(.*?)(?=^## |\Z)", re.M | re.S)


def rendered(example):
    """Paths of the files, and all their text with the commands, as they are typed."""
    cluster = str(ROOT / "examples" / f"{example}.yaml")
    answer = subprocess.run([os.environ["RAILBED"], "render", cluster, "--json"], capture_output=True, text=True, timeout=60)
    shown = subprocess.run([os.environ["RAILBED"], "render", cluster], check=True, capture_output=True, text=True, timeout=60)
    nodes = json.loads(answer.stdout)["nodes"]
    return {file["path"] for node in nodes for setting in node["settings"] for file in setting["files"]}, shown.stdout


def rows(page):
    section = HEADING.search((ROOT / "docs/how-to" / page).read_text())
    lines = section[1].splitlines() if section else []
    for line in [line for line in lines if line.startswith("|")][2:]:
        yield [cell.strip() for cell in line.strip("|").split(" | ")]


def complaints(page, example):
    paths, text = rendered(example)
    told = set()
    count = 0
    for cells in rows(page):
        count += 1
        if len(cells) != 3 or not all(cells):
            yield f"a row does not have three cells: {cells}"
            continue
        for span in re.findall(r"`([^`]+)`", cells[1]):
            if span.startswith("/"):
                told.add(span)
            if span not in text:
                yield f"`{span}` does not come out of {example}.yaml"
    if count < 5:
        yield f"only {count} rows were found"
    for path in sorted(paths - told):
        yield f"{path} comes out of {example}.yaml and is not set beside anything"
    for path in sorted(told - paths):
        yield f"{path} does not come out of {example}.yaml"


def main():
    found = [f"{page}: {why}" for page, example in PAGES.items() for why in complaints(page, example)]
    print("\n".join(found) if found else "the guides' files stand beside what comes out")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
