#!/usr/bin/env python3
"""railbed bench pairs among nodes in network namespaces, whose links carry as much apart from the one that is slow: a
node, one direction of a node, or the way between two of them. RAILBED names the binary.

    tests/fleet/pairs_test.py                                   sixteen nodes on links of 80 Mb/s, four cases
    tests/fleet/pairs_test.py --hosts 32 --placements 20        random places, by turns; and healthy searches between
    tests/fleet/pairs_test.py --hosts 32 --placements 20 --full unlimited --slow 200mbit
"""
import argparse
import collections
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time
import unittest

from sshd_fleet import NETWORK, SshdFleet, missing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ.get("RAILBED", str(pathlib.Path(__file__).resolve().parents[2] / "build/release/railbed"))
REASON = missing() or (None if shutil.which("tc", path=os.environ["PATH"] + ":/usr/sbin:/sbin") else "needs tc")
KINDS = ("node", "sending", "receiving", "link")


class Pairs:
    """Nodes and their links. `full` and `slow`: as tc writes rates; "unlimited" for no limit at all."""

    def __init__(self, hosts, full, slow):
        self.full, self.slow = full, slow
        self.names = [f"node{number:02}" for number in range(1, hosts + 1)]
        self.fleet = SshdFleet({name: {} for name in self.names})

    def __enter__(self):
        self.fleet.__enter__()
        self.railbed = str(self.fleet.lab / "railbed")
        shutil.copy(RAILBED, self.railbed)
        subprocess.run(["strip", self.railbed], check=True)
        self.cluster = self.fleet.lab / "cluster.yaml"
        self.cluster.write_text(
            f"railbed: 1\ncluster: pairs\nfabric: ethernet\nssh:\n  config: {self.fleet.ssh_config}\n"
            f"nodes:\n  - {{name: 'node[01-{len(self.names)}]', ssh: 'node[01-{len(self.names)}]'}}\n"
            f"rails:\n  - {{name: rail0, mtu: 1500, subnet: {NETWORK}0/24, interface: eth0, first_address: {NETWORK}1}}\n")
        checked = subprocess.run([self.railbed, "check", str(self.cluster)], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        # The agents are pushed while the links are still fast.
        pushed = subprocess.run(self.fleet.inside([self.railbed, "verify", str(self.cluster)]), capture_output=True)
        assert pushed.returncode in (0, 1, 2), pushed.stderr
        return self

    def __exit__(self, *_):
        self.fleet.__exit__()

    def tc(self, name, device, words, check=True):
        namespace = self.fleet.mark + (name if device == "eth0" else "hub")
        subprocess.run(["ip", "netns", "exec", namespace, "tc", *words.split()], check=check, capture_output=not check)

    def limit(self, name, sending=None, receiving=None):
        far = f"v{self.names.index(name) + 1}"
        for device, rate in (("eth0", sending), (far, receiving)):
            if rate == "unlimited":
                self.tc(name, device, f"qdisc del dev {device} root", check=False)  # there may be none
            elif rate:
                self.tc(name, device, f"qdisc replace dev {device} root tbf rate {rate} burst 64kb latency 50ms")

    def limit_between(self, one, other):
        unlimited = self.full == "unlimited"
        usual = "100gbit burst 8mb quantum 60000" if unlimited else f"{self.full} burst 64kb quantum 3000"
        for name, peer in ((one, other), (other, one)):
            self.tc(name, "eth0", "qdisc del dev eth0 root", check=False)
            self.tc(name, "eth0", "qdisc add dev eth0 root handle 1: htb default 10")
            self.tc(name, "eth0", f"class add dev eth0 parent 1: classid 1:10 htb rate {usual}")
            self.tc(name, "eth0", f"class add dev eth0 parent 1: classid 1:20 htb rate {self.slow} burst 64kb quantum 3000")
            self.tc(name, "eth0", "filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dst "
                    f"{self.fleet.address(peer)}/32 flowid 1:20")

    def heal(self):
        for name in self.names:
            self.limit(name, sending=self.full, receiving=self.full)

    def break_one(self, kind, chance):
        """Makes one node or way slow, and answers what must be named."""
        one = chance.randrange(len(self.names))
        if kind == "link":  # the rounds see ways between nodes that meet
            other = one ^ (1 << chance.randrange(int(math.log2(len(self.names)))))
            self.limit_between(self.names[one], self.names[other])
            return [("link", {self.names[one], self.names[other]})]
        slow = {side: self.slow for side in ("sending", "receiving") if kind in (side, "node")}
        self.limit(self.names[one], **slow)
        return [(kind, {self.names[one]})]

    def search(self, *words):
        """(exit code, the rail's report, what is confirmed as slow)."""
        done = subprocess.run(
            self.fleet.inside([self.railbed, "bench", "pairs", str(self.cluster), "--engine", "tcp", "--streams", "1",
                               "--size", "64K", "--seconds", "0.8", "--tolerance", "25", "--json", *words]),
            capture_output=True, text=True, timeout=600)
        rail = json.loads(done.stdout)["rails"][0]
        assert rail["failures"] == [], (rail["failures"], done.stderr)
        confirmed = [(one["kind"], {rail["nodes"][end] for end in (one["node"], one["other"]) if end >= 0})
                     for one in rail["report"]["slow"] if one["confirmed"]]
        return done.returncode, rail, confirmed


@unittest.skipIf(REASON, f"pairs: {REASON}")
class PairsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pairs = Pairs(16, "80mbit", "20mbit")
        cls.pairs.__enter__()
        cls.addClassCleanup(cls.pairs.__exit__)
        cls.random = random.Random(seed())

    def setUp(self):
        self.pairs.heal()

    def check_named(self, kind, *words):
        expected = self.pairs.break_one(kind, self.random)
        code, rail, confirmed = self.pairs.search(*words)
        self.assertEqual(confirmed, expected)
        self.assertEqual(code, 2)
        self.assertEqual(rail["report"]["rounds"], 4)

    def test_nobody_is_accused_in_a_healthy_cluster(self):
        code, rail, confirmed = self.pairs.search()
        self.assertEqual(confirmed, [])
        self.assertIn(code, (0, 1))
        self.assertEqual(rail["report"]["rounds"], 4)

    def test_the_slow_node(self):
        self.check_named("node")

    def test_the_node_that_only_sends_slowly(self):
        self.check_named("sending")

    def test_the_slow_way_between_two(self):
        picture = self.pairs.fleet.lab / "pairs.svg"
        self.check_named("link", "--svg", str(picture))
        self.assertIn("<svg", pathlib.Path(picture).read_text())


def seed():
    chosen = int(os.environ.get("PAIRS_SEED", random.SystemRandom().randrange(1 << 30)))
    print(f"PAIRS_SEED={chosen}", flush=True)
    return chosen


def searches(placements, healthy):
    """Each placement's kind, by turns, and healthy searches before the first ones."""
    for number in range(placements):
        if number < healthy:
            yield "healthy"
        yield KINDS[number % len(KINDS)]


def try_placements(options):
    """Prints a line a search and a table; the exit code says whether all were right."""
    if REASON:
        print(f"pairs: {REASON}", file=sys.stderr)
        return 77
    chance = random.Random(seed())
    right = collections.Counter()
    asked = collections.Counter()
    with Pairs(options.hosts, options.full, options.slow) as pairs:
        for kind in searches(options.placements, options.healthy):
            pairs.heal()
            expected = [] if kind == "healthy" else pairs.break_one(kind, chance)
            began = time.monotonic()
            _, rail, confirmed = pairs.search()
            report = rail["report"]
            good = confirmed == expected and report["rounds"] == math.ceil(math.log2(options.hosts))
            asked[kind] += 1
            right[kind] += good
            print(f"{'right' if good else 'WRONG'} {kind}: expected {expected}, named {confirmed}; {report['rounds']} rounds, "
                  f"{report['retests']} pairs again alone, median {report['together'] / 1e6:.0f} Mb/s together and "
                  f"{report['alone'] / 1e6:.0f} alone, {time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f}",
                  flush=True)
    for kind in asked:
        print(f"{kind}: {right[kind]} of {asked[kind]} right")
    return 0 if right == asked else 1


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--hosts", type=int, default=32)
    options.add_argument("--placements", type=int, default=0)
    options.add_argument("--healthy", type=int, default=5, help="searches with nothing slow")
    options.add_argument("--full", default="80mbit")
    options.add_argument("--slow", default="20mbit")
    chosen, rest = options.parse_known_args()
    if chosen.placements:
        sys.exit(try_placements(chosen))
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    guardian.begin()
    main()
