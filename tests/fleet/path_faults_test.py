#!/usr/bin/env python3
"""railbed bench and railbed prove over a path that is broken in one layer: all that fails has one root, which names the
layer and the side. RAILBED names the binary. The rail is a link of its own, by a switch: ssh goes on."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

from sshd_fleet import SshdFleet, missing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ["RAILBED"]
PATIENCE = 120  # until a run must have ended
REASON = missing()


@unittest.skipIf(REASON, f"path faults: {REASON}")
class PathFaultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = SshdFleet({"a": {}, "b": {}})
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.fleet.join_by_switch("a", "b")
        cls.railbed = str(cls.fleet.lab / "railbed")
        shutil.copy(RAILBED, cls.railbed)
        subprocess.run(["strip", cls.railbed], check=True)
        cls.cluster = cls.fleet.lab / "cluster.yaml"
        cls.cluster.write_text(
            f"railbed: 1\ncluster: path\nfabric: ethernet\nssh:\n  config: {cls.fleet.ssh_config}\n"
            "nodes:\n  - {name: a, ssh: a}\n  - {name: b, ssh: b}\n"
            "rails:\n  - {name: rail0, mtu: 9000, subnet: 10.88.0.0/24, interface: rail, first_address: 10.88.0.1}\n")

    def on(self, node, line):
        subprocess.run(self.fleet.on(node, line.split()), check=True, capture_output=True)

    @contextlib.contextmanager
    def broken(self, node, *lines, mended):
        """The lines run on the node, and `mended` afterwards."""
        try:
            for line in lines:
                self.on(node, line)
            yield
        finally:
            for line in mended:
                subprocess.run(self.fleet.on(node, line.split()), check=True)

    @contextlib.contextmanager
    def firewall(self, node, *rules):
        if not shutil.which("iptables", path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            self.skipTest("needs iptables")
        try:
            for rule in rules:
                made = subprocess.run(self.fleet.on(node, ["iptables", "-A", "INPUT", *rule.split()]), capture_output=True,
                                      text=True)
                if made.returncode:
                    self.skipTest(made.stderr.strip())
            yield
        finally:
            subprocess.run(self.fleet.on(node, ["iptables", "-F", "INPUT"]), check=True)

    def start(self, *words):
        run = subprocess.Popen(self.fleet.inside([self.railbed, *words]), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return run

    def bench(self, *words):
        return self.start("bench", "tcp", "a", "b", "--cluster", str(self.cluster), "--json", "--no-store", "--seconds",
                          *(words or ("0.5",)))

    def only_root(self, run):
        """The one root of all that failed, after the run's failing exit."""
        out, err = run.communicate(timeout=PATIENCE)
        self.assertEqual(run.returncode, 2, err)
        failures = [one["failure"] for one in json.loads(out)["measurements"] if one["failure"]]
        roots = {json.dumps(failure["root"], sort_keys=True) for failure in failures}
        self.assertEqual(len(roots), 1, failures)
        root = failures[0]["root"]
        print(f"{self.id().split('.')[-1]}: {root['layer']}: {root['cause']}\n  do: {failures[0]['remedy']}", flush=True)
        for line in root["seen"]:
            print("  seen: " + line, flush=True)
        self.assertTrue(failures[0]["remedy"], failures[0])
        return root

    def assert_root(self, run, layer, node, words):
        root = self.only_root(run)
        self.assertEqual((root["layer"], root["node"]), (layer, node), root)
        self.assertRegex(root["cause"], words)

    def wrong_neighbour(self, node, other):
        return self.broken(node, f"ip neigh replace {other} lladdr 02:00:00:00:00:99 dev rail nud permanent",
                           mended=[f"ip neigh del {other} dev rail"])

    def test_wrong_static_neighbour(self):
        with self.wrong_neighbour("a", "10.88.0.2"):
            self.assert_root(self.bench(), "neighbour", "a", "static neighbour entry for 10.88.0.2 is wrong")

    def test_wrong_static_neighbour_on_the_other_side(self):
        with self.wrong_neighbour("b", "10.88.0.1"):
            self.assert_root(self.bench(), "neighbour", "b", "static neighbour entry for 10.88.0.1 is wrong")

    def test_prove_has_one_finding_of_it(self):
        page = self.fleet.lab / "proof.html"
        with self.wrong_neighbour("a", "10.88.0.2"):
            run = self.start("prove", str(self.cluster), "--seconds", "0.5", "--json", "--no-store", "--output", str(page))
            out, err = run.communicate(timeout=PATIENCE)
        self.assertEqual(run.returncode, 2, err)
        found = [one for one in json.loads(out)["findings"] if one["rule"] == "measured.failed" and one["status"] == "fail"]
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0]["message"], r"\d measurements between a and b on rail0 failed: a: its static neighbour")

    def test_route_by_another_interface(self):
        with self.broken("a", "ip link add other type veth peer name other1", "ip link set other1 up",
                         "ip link set other up", "ip route add 10.88.0.2/32 dev other", mended=["ip link del other"]):
            self.assert_root(self.bench(), "route", "a", "leaves by other, not by rail")

    def test_firewall_that_lets_ssh_in_and_nothing_else(self):
        with self.firewall("b", "-p tcp --dport 22 -j ACCEPT", "-i lo -j ACCEPT", "-j DROP"):
            self.assert_root(self.bench(), "firewall", "b", "lets ssh in and nothing else.*ssh does")

    def test_firewall_that_lets_ssh_in_by_another_interface(self):
        with self.firewall("b", "-i eth0 -p tcp --dport 22 -j ACCEPT", "-i lo -j ACCEPT", "-j DROP"):
            self.assert_root(self.bench(), "firewall", "b", "lets ssh in and nothing else.*ssh comes another way")

    def test_firewall_that_rejects(self):
        with self.firewall("b", "-p tcp --dport 22 -j ACCEPT", "-i lo -j ACCEPT",
                           "-m state --state ESTABLISHED -j ACCEPT", "-j REJECT"):
            self.assert_root(self.bench(), "firewall", "b", "lets ssh in and nothing else")

    def test_firewall_that_drops_tcp_alone(self):
        with self.firewall("b", "-i rail -p tcp -j DROP"):
            self.assert_root(self.bench(), "tcp", "", "TCP between a and b is dropped both ways")

    def test_switch_port_with_a_lower_mtu(self):
        with self.broken("switch", "ip link set dev b mtu 1500", mended=["ip link set dev b mtu 9000"]):
            self.assert_root(self.bench(), "mtu", "", "packets of 9000 bytes from . do not arrive, those of 1500 do")

    def test_mtu_lowered_while_measuring(self):
        run = self.bench("600", "--bandwidth-only")
        for line in run.stderr:
            if line.startswith("tcp "):
                break
        time.sleep(1.5)
        with self.broken("b", "ip link set rail mtu 1500", mended=["ip link set rail mtu 9000"]):
            self.assert_root(run, "mtu", "b", "rail has MTU 1500, rail of a has 9000")

    def test_link_down(self):
        with self.broken("b", "ip link set rail down", mended=["ip link set rail up"]):
            self.assert_root(self.bench(), "link", "b", "rail is down")

    def test_address_missing(self):
        with self.broken("b", "ip address del 10.88.0.2/24 dev rail", mended=["ip address add 10.88.0.2/24 dev rail"]):
            self.assert_root(self.bench(), "address", "b", "rail does not have 10.88.0.2")


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=2)
