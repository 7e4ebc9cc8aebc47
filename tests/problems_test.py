#!/usr/bin/env python3
"""Problems of strangers: railbed explain on inputs that were composed after public threads, each with the cause that was confirmed there.

tests/problems/NNN-name/ holds what was posted (forms, messages and numbers are real; hosts, addresses and times are made up) and expect.json:
the source, the symptom, the cause; `says`, patterns of which a right answer matches one; `never`, patterns that an asserted cause may not match;
and the verdicts "right", "none" (no cause, or not that one) or "wrong" (another cause, asserted): `before` the tables were written, `first`, when
railbed saw the problem for the first time ("known": the tables were written with it), and `now`.
A problem may not become worse than `now`. UPDATE_GOLDEN=1 writes docs/reference/diagnosed.md, which lists them all."""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/diagnosed.md"
RAILBED = os.environ["RAILBED"]
# Where the answer ends: what follows is the run's details and the list of inputs.
END = re.compile(r"^(NCCL   |Hosts   |Problems$|Read$|Communicator|Ranks$|Variables)", re.M)


def answer(folder):
    files = sorted((str(file) for file in folder.iterdir() if file.name != "expect.json"), key=lambda file: (not file.endswith("job.log"), file))
    done = subprocess.run([RAILBED, "explain", *files], capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1, 2, 3):
        raise SystemExit(f"{folder.name}: exit status {done.returncode}\n{done.stderr}")
    end = END.search(done.stdout)
    return done.stdout[:end.start() if end else None]


def grade(text, expect):
    def without(labels):
        return " ".join("\n".join(line for line in text.splitlines() if not re.match(rf"\s*({labels})\b", line)).lower().split())
    if any(re.search(pattern, without("not|why")) for pattern in expect["says"]):
        return "right"
    return "wrong" if any(re.search(pattern, without("not|unless|why")) for pattern in expect["never"]) else "none"


def link(source):
    found = re.search(r"https?://[^\s,;)\]]+", source)
    if not found:
        return cell(source)
    url = found[0].rstrip(".")
    parts = re.match(r"https?://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull|discussions)/(\d+)", url)
    name = f"{parts[1]}#{parts[2]}" if parts else url.split("/")[2]
    return f"[{name}]({url})"


def cell(text):
    return " ".join(str(text).replace("|", "\\|").replace("<", "&lt;").split())


def page(problems):
    def count(key, word, chosen=None):
        return sum(1 for _, expect in problems if expect[key] == word and (chosen is None or chosen(expect)))
    fresh = [expect for _, expect in problems if expect["first"] != "known"]
    unknown = lambda expect: expect["first"] != "known"
    lines = [
        "# Problems of strangers, and what railbed explain answers", "",
        "Each row is a public thread in which the cause was confirmed. The inputs in `tests/problems/` were composed after it: the forms of the",
        "messages and the numbers are those of the programs; hosts, addresses, paths and times are made up. `tests/problems_test.py` runs",
        "`railbed explain` on all of them.", "",
        "\"right\" means that the answer is the confirmed cause, or a list of causes with it where the input cannot decide; \"wrong\" that it",
        "asserts another cause; \"none\" that it asserts none, shows the lines that say most, or misses. \"known\" means that the tables were written with the",
        "problem in view, so that its row is no forecast of how railbed does on yours. Patterns decide, and a person read the first answers.", "",
        "| | problems | right | wrong | none |", "|---|---|---|---|---|",
        f"| all, before the tables | {len(problems)} | {count('before', 'right')} | {count('before', 'wrong')} | {count('before', 'none')} |",
        f"| seen for the first time | {len(fresh)} | {count('first', 'right')} | {count('first', 'wrong')} | {count('first', 'none')} |",
        f"| the same, after the kinds that were missing were added | {len(fresh)} | {count('now', 'right', unknown)} | {count('now', 'wrong', unknown)} | {count('now', 'none', unknown)} |",
        f"| all, now | {len(problems)} | {count('now', 'right')} | {count('now', 'wrong')} | {count('now', 'none')} |", "",
        "| input | source | symptom | cause | before | first | now |", "|---|---|---|---|---|---|---|"]
    for name, expect in problems:
        lines.append(f"| {name[:3]} | {link(expect['source'])} | {cell(expect['symptom'])} | {cell(expect['cause'])} | {expect['before']} | {expect['first']} | {expect['now']} |")
    return "\n".join(lines) + "\n"


def main():
    problems = [(folder.name, json.loads((folder / "expect.json").read_text())) for folder in sorted((ROOT / "tests/problems").iterdir())]
    worse = []
    for name, expect in problems:
        now = grade(answer(ROOT / "tests/problems" / name), expect)
        if os.environ.get("UPDATE_GOLDEN") and now != expect["now"]:
            expect["now"] = now
            (ROOT / "tests/problems" / name / "expect.json").write_text(json.dumps(expect, indent=1, ensure_ascii=False) + "\n")
        if now == "wrong" or (expect["now"] == "right" and now != "right"):
            worse.append(f"{name}: {now}, was {expect['now']}")
        elif now != expect["now"]:
            worse.append(f"{name}: {now} now: UPDATE_GOLDEN=1 writes it down")
    print("\n".join(worse) or f"{len(problems)} problems as before")
    text = page(problems)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        worse.append("docs/reference/diagnosed.md")
        print("docs/reference/diagnosed.md differs: UPDATE_GOLDEN=1 writes it")
    return 1 if worse else 0


sys.exit(main())
