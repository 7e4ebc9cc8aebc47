#!/usr/bin/env python3
"""verify of sixty nodes, of which three are not there and three hang: it names all six, says what the others have in common in a
line each, and keeps neither their texts nor what is sound one by one. By each launcher."""
import pathlib
import re
import sys

from many_nodes import ManyNodes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

# A fault of every fifth and one of every seventh node.
FAULTS = [(5, "net/ens13np0/mtu = 9000", "net/ens13np0/mtu = 1500"), (7, "mlx5_3/ports/1/state = 4: ACTIVE", "mlx5_3/ports/1/state = 1: DOWN")]


def names_in(text):
    """The nodes that a hostlist such as gpu[00003,00005-00007] names, in text of any kind around it."""
    found = set()
    for inside in re.findall(r"gpu\[([\d,\s-]+)\]", text) + re.findall(r"gpu(\d{5})\b", text):
        for part in re.sub(r"\s", "", inside).split(","):
            first, _, last = part.partition("-")
            found |= {f"gpu{number:05}" for number in range(int(first), int(last or first) + 1)}
    return found


def main():
    with ManyNodes(60, dead=3, hanging=3, faults=FAULTS) as nodes:
        looked = nodes.verify("--connect-timeout", "2")
        print(looked.printed)
        assert looked.code == 2, looked
        lost = re.split(r"\n\n", looked.printed)[0]
        assert set(nodes.dead) | set(nodes.hanging) <= names_in(lost), lost
        assert "Connection refused" in looked.printed and "no answer within 7 s" in looked.printed
        assert len(looked.printed.splitlines()) <= 50, "one screen"
        assert f"{60} nodes" in looked.printed
        # The same verdict, one by one. What passes may differ: a busy machine answers too late to tell a millisecond of its clocks.
        whole = nodes.verify("--connect-timeout", "2", "--json")
        failed, warned = (re.search(rf'"{status}": (\d+)', whole.printed)[1] for status in ("fail", "warn"))
        assert f"{failed} failures · {warned} warnings" in looked.printed.replace("\n", " "), (failed, warned, looked.printed[-300:])
        assert looked.megabytes < 120, looked.megabytes
        # Those that Slurm or Kubernetes knows to be down are named with its reason; all else is the same.
        for launcher, reason in (("slurm", "Not responding"), ("kubernetes", "Kubelet stopped posting node status")):
            other = nodes.verify("--connect-timeout", "2", "--launcher", launcher)
            print(other.printed)
            assert set(nodes.dead) | set(nodes.hanging) <= names_in(re.split(r"\n\n", other.printed)[0])
            assert reason in other.printed and "Connection refused" not in other.printed
            assert f"{failed} failures · {warned} warnings" in other.printed.replace("\n", " ")
    return 0


if __name__ == "__main__":
    guardian.begin()
    sys.exit(main())
