#!/usr/bin/env python3
"""railbed bench pairs among sixteen nodes in network namespaces, whose links carry 80 Mb/s apart from the one that is
slow: a node, one direction of a node, or the way between two of them. RAILBED names the binary."""
import json
import os
import pathlib
import random
import shutil
import subprocess
import unittest

from sshd_fleet import NETWORK, SshdFleet, missing

RAILBED = os.environ["RAILBED"]
COUNT = 16
NAMES = [f"node{number:02}" for number in range(1, COUNT + 1)]
FULL = "80mbit"
SLOW = "20mbit"
REASON = missing() or (None if shutil.which("tc", path=os.environ["PATH"] + ":/usr/sbin:/sbin") else "needs tc")


@unittest.skipIf(REASON, f"pairs: {REASON}")
class PairsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = SshdFleet({name: {} for name in NAMES})
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.railbed = str(cls.fleet.lab / "railbed")
        shutil.copy(RAILBED, cls.railbed)
        subprocess.run(["strip", cls.railbed], check=True)
        cls.cluster = cls.fleet.lab / "cluster.yaml"
        cls.cluster.write_text(
            f"railbed: 1\ncluster: pairs\nfabric: ethernet\nssh:\n  config: {cls.fleet.ssh_config}\n"
            f"nodes:\n  - {{name: 'node[01-{COUNT}]', ssh: 'node[01-{COUNT}]'}}\n"
            f"rails:\n  - {{name: rail0, mtu: 1500, subnet: {NETWORK}0/24, interface: eth0, first_address: {NETWORK}1}}\n")
        checked = subprocess.run([cls.railbed, "check", str(cls.cluster)], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        # The agents are pushed while the links are still fast.
        pushed = subprocess.run(cls.fleet.inside([cls.railbed, "verify", str(cls.cluster)]), capture_output=True)
        assert pushed.returncode in (0, 1, 2), pushed.stderr
        seed = int(os.environ.get("PAIRS_SEED", random.SystemRandom().randrange(1 << 30)))
        print(f"PAIRS_SEED={seed}", flush=True)
        cls.random = random.Random(seed)

    def setUp(self):
        for name in NAMES:
            self.limit(name, sending=FULL, receiving=FULL)

    def tc(self, name, device, words):
        namespace = self.fleet.mark + (name if device == "eth0" else "hub")
        subprocess.run(["ip", "netns", "exec", namespace, "tc", *words.split()], check=True)

    def limit(self, name, sending=None, receiving=None):
        far = f"v{NAMES.index(name) + 1}"
        for device, rate in (("eth0", sending), (far, receiving)):
            if rate:
                self.tc(name, device, f"qdisc replace dev {device} root tbf rate {rate} burst 64kb latency 50ms")

    def limit_between(self, one, other):
        for name, peer in ((one, other), (other, one)):
            self.tc(name, "eth0", "qdisc del dev eth0 root")
            self.tc(name, "eth0", "qdisc add dev eth0 root handle 1: htb default 10")
            self.tc(name, "eth0", f"class add dev eth0 parent 1: classid 1:10 htb rate {FULL} burst 64kb quantum 3000")
            self.tc(name, "eth0", f"class add dev eth0 parent 1: classid 1:20 htb rate {SLOW} burst 64kb quantum 3000")
            self.tc(name, "eth0", "filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dst "
                    f"{self.fleet.address(peer)}/32 flowid 1:20")

    def search(self, *words):
        done = subprocess.run(
            self.fleet.inside([self.railbed, "bench", "pairs", str(self.cluster), "--engine", "tcp", "--streams", "1",
                               "--size", "64K", "--seconds", "0.8", "--tolerance", "25", "--json", *words]),
            capture_output=True, text=True, timeout=240)
        rail = json.loads(done.stdout)["rails"][0]
        self.assertEqual(rail["failures"], [], done.stderr)
        return done.returncode, rail

    def named(self, rail):
        return [(one["kind"], {rail["nodes"][end] for end in (one["node"], one["other"]) if end >= 0}, one["confirmed"])
                for one in rail["report"]["slow"]]

    def test_nobody_is_accused_in_a_healthy_cluster(self):
        code, rail = self.search()
        self.assertEqual([one for one in self.named(rail) if one[2]], [])
        self.assertIn(code, (0, 1))
        self.assertEqual(rail["report"]["rounds"], 4)

    def test_the_slow_node(self):
        slow = self.random.choice(NAMES)
        self.limit(slow, sending=SLOW, receiving=SLOW)
        code, rail = self.search()
        self.assertEqual([one for one in self.named(rail) if one[2]], [("node", {slow}, True)])
        self.assertEqual(code, 2)
        self.assertEqual(rail["report"]["rounds"], 4)

    def test_the_node_that_only_sends_slowly(self):
        slow = self.random.choice(NAMES)
        self.limit(slow, sending=SLOW)
        _, rail = self.search()
        self.assertEqual([one for one in self.named(rail) if one[2]], [("sending", {slow}, True)])

    def test_the_slow_way_between_two(self):
        one = self.random.randrange(COUNT)
        other = one ^ (1 << self.random.randrange(4))
        self.limit_between(NAMES[one], NAMES[other])
        picture = self.fleet.lab / "pairs.svg"
        code, rail = self.search("--svg", str(picture))
        self.assertEqual([one for one in self.named(rail) if one[2]], [("link", {NAMES[one], NAMES[other]}, True)])
        self.assertEqual(code, 2)
        self.assertIn("<svg", pathlib.Path(picture).read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
