#!/usr/bin/env python3
"""railbed apply and fix over two nodes in namespaces (sshd_fleet.py) with two rails, of which one is dead or dies: only what the change
broke, or was to mend, takes it back. RAILBED names the program.

The sysctls of a node are files of its own: those of a socket belong to the whole machine. tests/lab/apply_test.py sets real ones.
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from sshd_fleet import SshdFleet, missing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ["RAILBED"]
NODES = ("node1", "node2")
CLUSTER = """\
railbed: 1
cluster: pair
ssh: {config: %s}
nodes: [node1, node2]
expect: {socket_buffer: 64 MiB}
rails:
  - {name: rail0, subnet: 10.88.0.0/24, interface: rail0, first_address: 10.88.0.1, fabric: ethernet}
  - {name: rail1, subnet: 10.89.0.0/24, interface: rail1, first_address: 10.89.0.1, fabric: ethernet}
"""
SETUP = r"""
cp -a /etc /dev/shm/etc; mount --bind /dev/shm/etc /etc
for folder in /opt /var/lib /proc/sys/net/core; do mount -t tmpfs -o mode=755 tmpfs $folder; done
for key in rmem_max wmem_max; do echo 212992 >/proc/sys/net/core/$key; done
cp /etc/hosts /dev/shm/hosts
"""
# Cuts the rail that /dev/shm/cut names once the change is there.
CUTTER = """
(until [ -e /dev/shm/cut ] && ! cmp -s /etc/hosts /dev/shm/hosts; do sleep 0.02; done; ip link set "$(cat /dev/shm/cut)" down) &
"""
REASON = missing()


@unittest.skipIf(REASON, f"rails of changes: {REASON}")
class ApplyRailsTest(unittest.TestCase):
    def setUp(self):
        self.fleet = SshdFleet({"node1": {"setup": SETUP}, "node2": {"setup": SETUP + CUTTER}})
        self.fleet.__enter__()
        self.addCleanup(self.fleet.__exit__)
        for number in (0, 1):
            self.fleet.join(*NODES, device=f"rail{number}", network=f"10.{88 + number}.0.")
        self.cluster = self.fleet.lab / "cluster.yaml"
        self.cluster.write_text(CLUSTER % json.dumps(self.fleet.ssh_config))
        self.before = self.hosts()

    def railbed(self, command, *words, status):
        environment = {**os.environ, "XDG_STATE_HOME": str(self.fleet.lab / "state")}
        done = subprocess.run(self.fleet.inside([RAILBED, command, str(self.cluster), "--no-share", "--yes", *words]), env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def on(self, node, command):
        done = self.fleet.run(["ssh", "-F", self.fleet.ssh_config, node, command], timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def hosts(self):
        return {node: self.on(node, "cat /etc/hosts") for node in NODES}

    def cut(self, rail):
        subprocess.run(self.fleet.on("node2", ["ip", "link", "set", rail, "down"]), check=True)

    def test_a_dead_cable_elsewhere_is_named_and_takes_nothing_back(self):
        self.cut("rail1")
        done = self.railbed("apply", "--only", "hosts", status=0)
        self.assertIn("done: apply", done.stdout)
        self.assertIn("1 path of rails carries", done.stdout)
        self.assertRegex(done.stdout, r"rail1, node1 to node2: carried nothing before this change either.*rail1 is down")
        self.assertTrue(all(self.hosts()[node] != self.before[node] for node in NODES))
        lines = done.stderr.splitlines()
        self.assertEqual(lines, list(dict.fromkeys(lines)), "a line for each activity, not for each look")

    def test_fix_of_a_sysctl_beside_a_dead_cable(self):
        self.cut("rail1")
        done = self.railbed("fix", "--rule", "host.socket-buffers", "--json", status=2)  # of the verify that follows: the cable
        outcome = json.loads(done.stdout)
        self.assertTrue(outcome["committed"], outcome)
        self.assertEqual([one["rail"] for one in outcome["old_faults"]], ["rail1"])
        for node in NODES:
            self.assertEqual(self.on(node, "cat /proc/sys/net/core/rmem_max").strip(), str(64 << 20))

    def test_a_rail_that_dies_meanwhile_takes_it_back(self):
        self.cut("rail1")
        self.on("node2", "echo rail0 >/dev/shm/cut")
        done = self.railbed("apply", "--only", "hosts", status=2)
        self.assertIn("TAKEN BACK: rail0 between node1 and node2 does not carry", done.stdout)
        self.assertIn("--no-prove", done.stdout)
        self.assertEqual(self.hosts(), self.before)

    def test_a_node_that_refuses_was_reached(self):
        self.on("node2", "mount -o remount,ro /var/lib")
        done = self.railbed("apply", "--only", "hosts", status=3)
        self.assertNotIn("not reached", done.stdout)
        self.assertIn("node[1-2]: not changed", done.stdout)
        self.assertIn("Read-only file system", done.stdout)
        self.assertEqual(self.hosts(), self.before)


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=2)
