#!/usr/bin/env python3
"""railbed prove and bench ladder between two nodes in network namespaces that are joined by two rails: all rails at once
beside each alone.
RAILBED names the binary."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from sshd_fleet import SshdFleet, missing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ["RAILBED"]
PATIENCE = 240  # until a run must have ended
REASON = missing() or (None if shutil.which("tc", path=os.environ["PATH"] + ":/usr/sbin:/sbin") else "needs tc")
AT_ONCE = "all rails at once"


@unittest.skipIf(REASON, f"all rails: {REASON}")
class AllRailsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = SshdFleet({"a": {}, "b": {}})
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        rails = ""
        for number in range(2):
            cls.fleet.join("a", "b", device=f"rail{number}", network=f"10.8{number}.0.")
            rails += (f"  - {{name: rail{number}, mtu: 1500, subnet: 10.8{number}.0.0/24, interface: rail{number}, "
                      f"first_address: 10.8{number}.0.1}}\n")
            # Far below what the processors carry, so that both rails together can carry twice as much.
            for node in ("a", "b"):
                subprocess.run(cls.fleet.on(node, f"tc qdisc add dev rail{number} root tbf rate 80mbit burst 64k latency 50ms"
                                            .split()), check=True)
        cls.railbed = str(cls.fleet.lab / "railbed")
        shutil.copy(RAILBED, cls.railbed)
        subprocess.run(["strip", cls.railbed], check=True)
        cls.cluster = cls.fleet.lab / "cluster.yaml"
        cls.cluster.write_text(f"railbed: 1\ncluster: two-rails\nfabric: ethernet\nssh:\n  config: {cls.fleet.ssh_config}\n"
                               f"nodes:\n  - {{name: a, ssh: a}}\n  - {{name: b, ssh: b}}\nrails:\n{rails}")

    def prove(self):
        page = self.fleet.lab / "report.html"
        run = subprocess.run(self.fleet.inside([self.railbed, "prove", str(self.cluster), "--json", "--all", "--no-store",
                                                "--seconds", "1", "-o", str(page)]),
                             capture_output=True, text=True, timeout=PATIENCE)
        self.assertIn(run.returncode, (0, 1, 2), run.stderr)
        return json.loads(run.stdout), page.read_text()

    def test_the_total_is_the_sum_of_both_rails(self):
        proof, page = self.prove()
        bandwidths = [one for one in proof["measurements"] if one["metric"] == "bandwidth"]
        self.assertEqual([one["failure"] for one in bandwidths if one["failure"]], [])
        parts = [one for one in bandwidths if one["operation"] == AT_ONCE]
        self.assertEqual([(one["rail"], one["from"]["node"]) for one in parts],
                         [(rail, node) for node in ("a", "b") for rail in ("rail0", "rail1", "all rails")])
        for total in (one for one in parts if one["rail"] == "all rails"):
            alone = sum(one["summary"]["median"] for one in bandwidths
                        if one["operation"] == "" and one["from"]["node"] == total["from"]["node"]
                        and one["message_bytes"] == total["message_bytes"])
            self.assertGreater(total["summary"]["median"] / alone, 0.8, total["summary"])
            self.assertLess(total["summary"]["median"] / alone, 1.2, total["summary"])
        found = [one for one in proof["findings"] if one["rule"] == "measured.all-rails"]
        self.assertEqual([one["status"] for one in found], ["pass", "pass"], found)
        self.assertIn("All rails at once", page)

    def ladder(self, *options):
        return subprocess.run(self.fleet.inside([self.railbed, "bench", "ladder", "a", "b", "--cluster", str(self.cluster),
                                                 "--no-store", "--seconds", "1", *options]),
                              capture_output=True, text=True, timeout=PATIENCE)

    def test_the_ladder_measures_all_rails_at_once_too(self):
        run = self.ladder("--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        output = json.loads(run.stdout)
        self.assertEqual([one["rail"] for one in output["ladders"]], ["rail0", "rail1"])
        self.assertEqual([(one["rail"], one["from"]["node"]) for one in output["all_rails"]],
                         [("rail0", "a"), ("rail1", "a"), ("all rails", "a")])
        alone = sum(ladder["rungs"][0]["measurement"]["summary"]["median"] for ladder in output["ladders"])
        total = output["all_rails"][-1]["summary"]["median"]
        self.assertGreater(total / alone, 0.8, output["all_rails"][-1]["summary"])
        self.assertLess(total / alone, 1.2, output["all_rails"][-1]["summary"])

    def test_the_ladder_tells_the_total_and_each_part(self):
        run = self.ladder()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("all rails at once  a → b\n", run.stdout)
        self.assertRegex(run.stdout, r"TCP .* that they carry alone\n")
        self.assertRegex(run.stdout, r"rail1: .* \(alone .*\)\n")


if __name__ == "__main__":
    guardian.begin()
    unittest.main()
