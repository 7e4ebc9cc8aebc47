#!/usr/bin/env python3
"""railbed verify --node-problem-detector keeps to what node-problem-detector's custom plugins are held to: exit code 0, 1
or 2, one line of at most 80 bytes on standard output. The configuration in the how-to is valid and names real flags."""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RAILBED = os.environ["RAILBED"]
MACHINES = ROOT / "tests/machines"

CASES = [  # what it looks at, exit code, how the line begins
    (["--root", MACHINES / "v100-cx3pro/gpuserver1.tree"], 0, r"\d+ checks passed$"),
    (["--root", MACHINES / "v100-memlock-low/gpuserver1.tree"], 0, r"1 warning, no failure: rdma\.memlock "),
    (["--root", MACHINES / "v100-memory-errors/gpuserver1.tree"], 1, r"host\.memory-errors memory: gpu1 counted 3 "),
    (["--root", MACHINES / "v100-cx3pro"], 2, r"could not look: a health check is about one node"),
    (["--root", "/nowhere"], 2, r"could not look: "),
    (["cluster.yaml", "--root", MACHINES / "v100-cx3pro/gpuserver1.tree"], 2, r"could not look: "),
    ([], None, r"."),  # this machine, whatever it is like
]


def complaints():
    for arguments, code, beginning in CASES:
        words = [RAILBED, "verify", "--node-problem-detector", *map(str, arguments)]
        done = subprocess.run(words, env=os.environ | {"SLURMD_NODENAME": "gpu1"}, capture_output=True, timeout=60)
        line = done.stdout.decode()
        where = " ".join(words[1:])
        if done.returncode not in ([code] if code is not None else [0, 1, 2]):
            yield f"{where}: exit code {done.returncode}"
        if not line.endswith("\n") or line.count("\n") != 1 or len(done.stdout) - 1 > 80:
            yield f"{where}: not one line of at most 80 bytes: {line!r}"
        if not re.match(beginning, line):
            yield f"{where}: {line!r}"
    page = (ROOT / "docs/how-to/kubernetes.md").read_text()
    configuration = json.loads(re.search(r"```json\n(.*?)```", page, re.S)[1])
    for rule in configuration["rules"]:
        if "--node-problem-detector" not in rule["args"]:
            yield "docs/how-to/kubernetes.md: a rule calls something else"
        if rule["type"] == "permanent" and rule["condition"] not in [c["type"] for c in configuration["conditions"]]:
            yield f"docs/how-to/kubernetes.md: condition {rule['condition']} has no default"


def main():
    found = list(complaints())
    print("\n".join(found) if found else "node-problem-detector gets what it understands")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
