#!/usr/bin/env python3
"""railbed prove between two nodes in network namespaces, one of which does not send as it should. RAILBED names the binary."""
import contextlib
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
PATIENCE = 240
REASON = missing()
RED = ("fail", "warn")


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
        cls.fleet.join("a", "b")
        cls.cluster.write_text(f"railbed: 1\ncluster: faults\nfabric: ethernet\nssh:\n  config: {cls.fleet.ssh_config}\n"
                               "nodes: [a, b]\nrails:\n  - {name: rail0, mtu: 1500, subnet: 10.88.0.0/24, interface: rail, "
                               "first_address: 10.88.0.1}\n")

    def prove(self):
        """The report's findings, and its measurements. Findings that others explain name them."""
        done = self.fleet.run([self.railbed, "prove", str(self.cluster), "--json", "--no-store", "--seconds", "0.6",
                               "-o", str(self.fleet.lab / "report.html")], timeout=PATIENCE)
        self.assertIn(done.returncode, (0, 1, 2, 3), done.stderr)
        report = json.loads(done.stdout)
        for finding in report["findings"]:
            if finding["status"] in RED and finding["rule"].startswith(("measured.", "net.")):
                print(f"{self.id().split('.')[-1]}: {finding['status']} {finding['message']}", flush=True)
        return report["findings"], report["measurements"]

    def test_one_way_limited(self):
        limit = ["tc", "qdisc", "add", "dev", "rail", "root", "tbf", "rate", "10mbit", "burst", "64kb", "latency", "400ms"]
        made = subprocess.run(self.fleet.on("b", limit), capture_output=True, text=True)
        if made.returncode:
            self.skipTest(f"this kernel has no tbf: {made.stderr.strip()}")
        self.addCleanup(subprocess.run, self.fleet.on("b", ["tc", "qdisc", "del", "dev", "rail", "root"]))
        findings, measurements = self.prove()
        held = next(index for index, one in enumerate(findings) if one["rule"] == "net.held-back" and one["status"] == "fail")
        self.assertIn("rail of b", findings[held]["message"])
        self.assertIn("limits it to 10.0 Mb/s", findings[held]["message"])
        ways = next(one for one in findings if one["rule"] == "measured.both-ways")
        self.assertEqual((ways["status"], ways.get("caused_by")), ("fail", held))
        self.assertRegex(ways["message"], r"TCP from b to a on rail0 carries [0-9.]+ Mb/s, [0-9]+ % of")
        roots = [one["rule"] for one in findings
                 if one["status"] == "fail" and one.get("caused_by") is None and one["rule"].startswith("measured.")]
        self.assertEqual(roots, [], "all of it has that one cause")
        sent = {(one["from"]["node"], one["to"]["node"]) for one in measurements if one["metric"] == "bandwidth"}
        self.assertEqual(sent, {("a", "b"), ("b", "a")})

    def test_a_node_busy_with_other_work(self):
        self.mark = f"spin{os.getpid()}"
        words = ["ssh", "-F", self.fleet.ssh_config, "a", f"sh -c 'while :; do : {self.mark}; done'"]
        spinner = subprocess.Popen(self.fleet.inside(words), stdin=subprocess.DEVNULL)
        self.addCleanup(spinner.wait)
        self.addCleanup(self.end_spinner)
        time.sleep(0.5)
        findings, _ = self.prove()
        busy = [one["message"] for one in findings if one["rule"] == "measured.node-busy" and one["status"] == "warn"]
        self.assertEqual(len(busy), 1)
        self.assertRegex(busy[0], r"^a was busy with other work: .* \(pid \d+\) most of it")

    def end_spinner(self):
        """Ssh would leave it behind. Both have the mark among their words."""
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=2)
