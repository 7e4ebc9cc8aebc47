#!/usr/bin/env python3
"""railbed burn --only-rails between nodes in network namespaces: every pair of every rail carries both directions, a
rail that is cut is named with its pair, and a node whose agent is killed is no matter of the rail. RAILBED names the
binary."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

from sshd_fleet import SshdFleet, missing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ["RAILBED"]
PATIENCE = 180
REASON = missing()


@unittest.skipIf(REASON, f"burn of rails: {REASON}")
class BurnRailsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = SshdFleet({"a": {}, "b": {}, "c": {}})
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.fleet.switch("switch", ("a", "p0"), ("b", "p0"), ("c", "p0"))
        cls.fleet.cable("a", "p1", "b", "p1")
        for device, network, nodes in (("p0", "10.88.0.", "abc"), ("p1", "10.89.0.", "ab")):
            for number, node in enumerate(nodes, 1):
                for words in (f"addr add {network}{number}/24 dev {device}", f"link set {device} up"):
                    subprocess.run(cls.fleet.on(node, ["ip", *words.split()]), check=True)
        cls.railbed = str(cls.fleet.lab / "railbed")
        shutil.copy(RAILBED, cls.railbed)
        subprocess.run(["strip", cls.railbed], check=True)
        cls.cluster = cls.fleet.lab / "cluster.yaml"
        cls.cluster.write_text(
            f"railbed: 1\ncluster: three\nfabric: ethernet\nssh:\n  config: {cls.fleet.ssh_config}\n"
            "nodes: [{name: a, ssh: a}, {name: b, ssh: b}, {name: c, ssh: c}]\nrails:\n"
            "  - {name: rail0, mtu: 1500, subnet: 10.88.0.0/24, interface: p0, first_address: 10.88.0.1}\n"
            "  - {name: rail1, mtu: 1500, topology: back-to-back, subnet: 10.89.0.0/24, interface: p1,\n"
            "     first_address: 10.89.0.1, nodes: [a, b]}\n")

    def start(self, *words, minutes="0.8"):
        process = subprocess.Popen(self.fleet.inside([self.railbed, "burn", str(self.cluster), "--only-rails", "--minutes", minutes,
                                                      "--no-store", *words]),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"HOME": str(self.fleet.lab)})
        self.addCleanup(process.kill)
        return process

    def finish(self, process):
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def test_all_pairs_carry_both_directions(self):
        code, out, err = self.finish(self.start("--json"))
        self.assertEqual(code, 0, out + err)
        rails = json.loads(out)["burn"]["rails"]
        self.assertGreaterEqual(rails["turns"], 2)
        self.assertGreater(rails["checked"], 0)
        self.assertEqual(rails["fault_count"], 0)
        ports = {(port["rail"], port["node"]): port for port in rails["ports"]}
        self.assertEqual(set(ports), {("rail0", node) for node in "abc"} | {("rail1", node) for node in "ab"})
        for port in ports.values():
            self.assertEqual((port["engine"], port["failed"], port["wrong"], port["ceiling"]), ("tcp", 0, 0, 0))
            self.assertGreater(port["sent"], 1e6)
            self.assertGreater(port["received"], 1e6)

    def test_a_rail_that_is_cut_is_named(self):
        process = self.start()
        time.sleep(12)
        subprocess.run(self.fleet.on("b", "ip link set p1 down".split()), check=True)
        self.addCleanup(subprocess.run, self.fleet.on("b", "ip link set p1 up".split()), check=True)
        code, out, err = self.finish(process)
        self.assertEqual(code, 2, out + err)
        self.assertRegex(out, r"(?m)^FAIL +rail1 failed between a and b, \d+ times; first after \d+ s, [ab] to [ab]: ")
        self.assertNotRegex(out, r"(?m)^FAIL +rail0")

    def test_an_agent_that_is_killed_is_no_matter_of_the_rail(self):
        process = self.start("--json")
        time.sleep(10)
        killed = self.fleet.agents("b")
        self.assertTrue(killed)
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        code, out, err = self.finish(process)
        self.assertEqual(code, 0, out + err)
        rails = json.loads(out)["burn"]["rails"]
        self.assertEqual(rails["fault_count"], 0)
        self.assertTrue(all(port["turns"] > 0 for port in rails["ports"]), rails)

    def test_a_lost_command_is_taken_up(self):
        process = self.start(minutes="1.2")
        time.sleep(20)
        process.kill()
        process.communicate()
        code, out, err = self.finish(subprocess.Popen(
            self.fleet.inside([self.railbed, "burn", "--resume", "--no-store", "--json"]), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=os.environ | {"HOME": str(self.fleet.lab)}))
        self.assertEqual(code, 0, out + err)
        burn = json.loads(out)["burn"]
        self.assertEqual(burn["planned"], 72)
        self.assertTrue(all(port["turns"] > 0 for port in burn["rails"]["ports"]), burn["rails"])


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=2)
