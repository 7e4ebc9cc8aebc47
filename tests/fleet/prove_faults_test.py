#!/usr/bin/env python3
"""railbed prove between two nodes in network namespaces that are sound, and then not: one way limited, a rail delayed,
a node busy with other work. Each ends with one rule of measurements that is red. RAILBED names the binary."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from sshd_fleet import SshdFleet, missing

RAILBED = os.environ["RAILBED"]
PATIENCE = 240
REASON = missing()
RAILS = {"rail0": "10.88.0.", "rail1": "10.89.0."}


@unittest.skipIf(REASON, f"prove faults: {REASON}")
class ProveFaultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = SshdFleet({"a": {}, "b": {}})
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.railbed = str(cls.fleet.lab / "railbed")
        shutil.copy(RAILBED, cls.railbed)
        subprocess.run(["strip", cls.railbed], check=True)
        cls.cluster = cls.fleet.lab / "cluster.yaml"
        text = (f"railbed: 1\ncluster: faults\nfabric: ethernet\nssh:\n  config: {cls.fleet.ssh_config}\n"
                "nodes:\n  - {name: a, ssh: a}\n  - {name: b, ssh: b}\nrails:\n")
        for rail, network in RAILS.items():
            cls.fleet.join("a", "b", rail, network)
            text += (f"  - {{name: {rail}, mtu: 1500, subnet: {network}0/24, interface: {rail}, "
                     f"first_address: {network}1}}\n")
        cls.cluster.write_text(text)

    def prove(self):
        """What is red or unknown of the rules of measurements, and the measurements."""
        done = self.fleet.run([self.railbed, "prove", str(self.cluster), "--json", "--no-store", "--seconds", "0.6",
                               "-o", str(self.fleet.lab / "report.html")], timeout=PATIENCE)
        self.assertIn(done.returncode, (0, 1, 2, 3), done.stderr)
        report = json.loads(done.stdout)
        red = [f for f in report["findings"]
               if f["rule"].startswith("measured.") and f["status"] in ("fail", "warn", "unknown")]
        for finding in red:
            print(f"{self.id().split('.')[-1]}: {finding['status']} {finding['message']}", flush=True)
        return red, report["measurements"]

    def disturb(self, node, device, *words):
        """With a queueing discipline on what the node sends; skips the test where the kernel has none like it."""
        def tc(*rest):
            return subprocess.run(self.fleet.on(node, ["tc", "qdisc", *rest]), capture_output=True, text=True)

        made = tc("add", "dev", device, "root", *words)
        if made.returncode:
            self.skipTest(f"no {words[0]} here: {made.stderr.strip()}")
        self.addCleanup(tc, "del", "dev", device, "root")

    def test_a_sound_pair_is_measured_each_way(self):
        red, measurements = self.prove()
        self.assertEqual(red, [])
        seen = {(m["engine"], m["metric"], m["rail"], m["from"]["node"], m["to"]["node"]) for m in measurements}
        for rail in RAILS:
            for one, other in ("ab", "ba"):
                self.assertIn(("tcp", "bandwidth", rail, one, other), seen)
            self.assertIn(("ping", "latency", rail, "a", "b"), seen)
        self.assertIn(("ping", "latency", "management network", "a", "b"), seen)
        page = (self.fleet.lab / "report.html").read_text()
        for way in ("a → b", "b → a"):
            self.assertIn(way, page)
        self.assertRegex(page, r"Ping: [0-9.]+ [nµm]s")

    def test_one_way_limited(self):
        self.disturb("b", "rail0", "tbf", "rate", "10mbit", "burst", "64kb", "latency", "400ms")
        red, _ = self.prove()
        self.assertEqual([f["rule"] for f in red], ["measured.both-ways"])
        self.assertEqual(red[0]["status"], "fail")
        self.assertRegex(red[0]["message"], r"TCP from b to a on rail0 carries [0-9.]+ Mb/s, [0-9]+ % of")

    def test_one_rail_delayed(self):
        self.disturb("b", "rail1", "netem", "delay", "20ms")
        red, _ = self.prove()
        self.assertEqual([f["rule"] for f in red], ["measured.latency"])
        self.assertEqual(red[0]["status"], "fail")
        self.assertRegex(red[0]["message"], r"between a and b on rail1, [0-9]+ times")

    def test_a_node_busy_with_other_work(self):
        self.mark = f"spin{os.getpid()}"
        words = ["ssh", "-F", self.fleet.ssh_config, "a", f"sh -c 'while :; do : {self.mark}; done'"]
        spinner = subprocess.Popen(self.fleet.inside(words), stdin=subprocess.DEVNULL)
        self.addCleanup(spinner.wait)
        self.addCleanup(self.end_spinner)
        time.sleep(0.5)
        red, measurements = self.prove()
        self.assertEqual([(f["rule"], f["status"]) for f in red], [("measured.node-busy", "warn")])
        self.assertRegex(red[0]["message"], r"^a was busy with other work: .* \(pid \d+\) most of it")
        busy = [m["from"]["other_work"] for m in measurements if m["from"]["node"] == "a" and m["from"]["other_work"]]
        self.assertGreater(max(one["busy"] for one in busy), 0.2)

    def end_spinner(self):
        """Ssh would leave it behind. Both have the mark among their words."""
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)


if __name__ == "__main__":
    unittest.main(verbosity=2)
