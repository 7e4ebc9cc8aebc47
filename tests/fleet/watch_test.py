#!/usr/bin/env python3
"""railbed watch over real ssh, on nodes in network namespaces: one is killed and comes back. RAILBED names the binary."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

from sshd_fleet import SshdFleet, missing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ["RAILBED"]
PATIENCE = 90
REASON = missing()
SEND = ("import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(400): s.sendto(bytes(1400), ('10.88.0.2', 9)); time.sleep(0.01)")


@unittest.skipIf(REASON, f"watch: {REASON}")
class WatchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = SshdFleet({"a": {}, "b": {}, "hanging": {"state": "hanging"}})
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.railbed = str(cls.fleet.lab / "railbed")
        shutil.copy(RAILBED, cls.railbed)
        subprocess.run(["strip", cls.railbed], check=True)
        cls.cluster = cls.fleet.lab / "cluster.yaml"
        cls.fleet.join("a", "b")
        cls.cluster.write_text(f"railbed: 1\ncluster: watched\nfabric: ethernet\nssh:\n  config: {cls.fleet.ssh_config}\n"
                               "nodes: [a, b, hanging]\nrails:\n  - {name: rail0, mtu: 1500, subnet: 10.88.0.0/24, interface: rail, "
                               "nodes: [a, b], first_address: 10.88.0.1}\n")

    def setUp(self):
        words = [self.railbed, "watch", str(self.cluster), "--every", "1", "--listen", "127.0.0.1:0", "--connect-timeout", "3",
                 "--state", str(self.fleet.lab / "state")]
        self.watch = subprocess.Popen(self.fleet.inside(words), stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.watch.stderr.close)
        self.addCleanup(self.watch.wait)
        self.addCleanup(self.watch.terminate)
        self.port = next(found[1] for line in self.watch.stderr if (found := re.search(r"http://127.0.0.1:(\d+)/", line)))

    def view(self):
        asked = self.fleet.run(["python3", "-c", "import urllib.request as u; print(u.urlopen("
                                f"'http://127.0.0.1:{self.port}/live.json', timeout=10).read().decode())"], timeout=30)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        return json.loads(asked.stdout)["view"]

    def until(self, holds):
        began = time.monotonic()
        while True:
            view = self.view()
            nodes = {one["name"]: one for one in view["nodes"]}
            if nodes and holds(view, nodes):
                return view, nodes
            self.assertLess(time.monotonic() - began, PATIENCE, json.dumps(view["nodes"])[:2000])
            time.sleep(0.5)

    def test_a_node_dies_and_comes_back(self):
        view, nodes = self.until(lambda _, n: n["a"]["reachable"] and n["b"]["reachable"] and n["hanging"]["why"] not in ("", "not asked yet"))
        self.assertFalse(nodes["hanging"]["reachable"], "it holds up nobody")
        self.assertEqual([end["node"] for end in view["rails"][0]["ends"]], ["a", "b"])
        agents = self.fleet.agents("a")
        self.assertEqual(len(agents), 1)
        # Traffic shows as a rate.
        subprocess.run(self.fleet.on("a", ["python3", "-c", SEND]), check=True, timeout=60)
        view, _ = self.until(lambda v, _: any(one for one in v["rails"][0]["ends"][0]["transmit_samples"] if one))
        self.assertEqual(self.fleet.agents("a"), agents, "one session for all rounds")
        self.fleet.unplug("b")
        for agent in self.fleet.agents("b"):
            os.kill(agent, 9)
        view, nodes = self.until(lambda v, n: not n["b"]["reachable"] and any(
            one["rule"] == "node.reachable" and "b" in one["nodes"] and one["since"] for one in v["findings"]))
        self.assertTrue(nodes["a"]["reachable"], "the others go on")
        self.assertTrue(nodes["b"]["asked_again"])
        self.fleet.plug("b")
        self.until(lambda v, n: n["b"]["reachable"] and not any(
            one["rule"] == "node.reachable" and "b" in one["nodes"] for one in v["findings"]))
        self.watch.terminate()
        self.watch.wait(timeout=20)
        time.sleep(1)
        self.assertEqual(self.fleet.agents("a"), [], "nothing is left behind")


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=1)
