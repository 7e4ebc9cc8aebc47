#!/usr/bin/env python3
"""railbed apply --reboot-all over nodes in namespaces (sshd_fleet.py): one after the other, Slurm's jobs first, and no
further than the first that is not well. RAILBED names the program.

A namespace cannot reboot and has no slurmctld: `systemctl reboot` of a node gives its boot a new name and takes its network
away for a while, and `scontrol` keeps a state in a file. tests/lab/apply_test.py reboots real systems, tests/slurm speaks to a
real Slurm.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
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
rails: [{name: rail0, subnet: 10.88.0.0/24, interface: rail, first_address: 10.88.0.1, fabric: ethernet}]
"""
# /dev/shm is the node's own. A process called slurmd runs there.
SETUP = r"""
cp -a /etc /dev/shm/etc; mount --bind /dev/shm/etc /etc
for folder in /opt /var/lib; do mount -t tmpfs -o mode=755 tmpfs $folder; done
cat /proc/sys/kernel/random/uuid >/dev/shm/boot_id
mount --bind /dev/shm/boot_id /proc/sys/kernel/random/boot_id
cp /bin/sleep /dev/shm/slurmd; /dev/shm/slurmd 100000 &
echo 'State=IDLE' >/dev/shm/slurm
mkdir /dev/shm/bin; cp /usr/bin/systemctl /dev/shm/bin/real-systemctl
cat >/dev/shm/bin/systemctl <<'END'
#!/bin/sh
[ "$*" = "--no-block reboot" ] || exec real-systemctl "$@"
echo "$(date +%s.%N) reboot" >>/dev/shm/log
cat /proc/sys/kernel/random/uuid >/dev/shm/new_id; cat /dev/shm/new_id >/dev/shm/boot_id
[ ! -e /dev/shm/forgets ] || echo '127.0.0.1 localhost' >/etc/hosts
rm -f /dev/shm/going
setsid sh -c "touch /dev/shm/going; sleep 0.5; ip link set eth0 down; [ -e /dev/shm/gone ] || { sleep 2; ip link set eth0 up; }" >/dev/null 2>&1 &
until [ -e /dev/shm/going ]; do sleep 0.05; done  # what is left of our process group is killed
END
cat >/dev/shm/bin/scontrol <<'END'
#!/bin/sh
echo "$(date +%s.%N) $*" >>/dev/shm/log
case "$*" in
  show*) cat /dev/shm/slurm ;;
  *State=DRAIN*) sed -i '1s/$/+DRAIN/' /dev/shm/slurm; echo "   ${4}" >>/dev/shm/slurm ;;
  *State=RESUME*) echo 'State=IDLE' >/dev/shm/slurm ;;
esac
END
chmod 755 /dev/shm/bin/*; mount -t overlay -o lowerdir=/dev/shm/bin:/usr/bin overlay /usr/bin
"""
REASON = missing()


@unittest.skipIf(REASON, f"reboots: {REASON}")
class RebootTest(unittest.TestCase):
    def setUp(self):
        self.fleet = SshdFleet({name: {"setup": SETUP} for name in NODES})
        self.fleet.__enter__()
        self.addCleanup(self.fleet.__exit__)
        self.fleet.join(*NODES)
        self.cluster = self.fleet.lab / "cluster.yaml"
        self.cluster.write_text(CLUSTER % json.dumps(self.fleet.ssh_config))
        plan = json.loads(self.railbed("plan", "--as-root", "--only", "hosts", "--json").stdout)
        for node in plan["nodes"]:
            for change in node["changes"]:
                for file in change["files"]:
                    self.on(node["node"], "cat >" + file["path"], input=file["after"])

    def railbed(self, command, *words, timeout=240):
        environment = {**os.environ, "XDG_STATE_HOME": str(self.fleet.lab / "state")}
        return subprocess.run(self.fleet.inside([RAILBED, command, str(self.cluster), "--no-share", *words]), env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)

    def on(self, node, command, **options):
        done = self.fleet.run(["ssh", "-F", self.fleet.ssh_config, node, command], timeout=30, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def reboot(self, *words, status=0):
        done = self.railbed("apply", "--yes", "--only", "hosts", "--reboot-all", "--reboot-timeout", "30", "--json", *words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        decoder, text, documents = json.JSONDecoder(), done.stdout.strip(), []
        while text:
            document, end = decoder.raw_decode(text)
            documents.append(document)
            text = text[end:].strip()
        return {one["node"]: one for one in documents[-1]["nodes"]}

    def log(self, node):
        """What was done there: (time, words), without the looks."""
        lines = [line.split(" ", 1) for line in self.on(node, "cat /dev/shm/log 2>/dev/null || :").splitlines()]
        return [(float(moment), words) for moment, words in lines if not words.startswith("show")]

    def words(self, node):
        return [words for _, words in self.log(node)]

    def test_one_after_the_other(self):
        outcome = self.reboot()
        self.assertEqual({name: one["state"] for name, one in outcome.items()}, dict.fromkeys(NODES, "well"))
        for node in NODES:
            drain, reboot, resume = self.words(node)
            self.assertRegex(drain, r"update NodeName=\S+ State=DRAIN Reason=railbed reboot: asked for by \S+@\S+")
            self.assertEqual(reboot, "reboot")
            self.assertIn("State=RESUME", resume)
        self.assertGreater(self.log("node2")[0][0], self.log("node1")[-1][0])

    def test_jobs_that_do_not_end_keep_their_node(self):
        self.on("node1", "echo State=MIXED >/dev/shm/slurm")
        outcome = self.reboot("--drain-timeout", "4", status=2)
        self.assertEqual({name: one["state"] for name, one in outcome.items()}, dict.fromkeys(NODES, "left"))
        self.assertIn("jobs of Slurm still run", outcome["node1"]["why"])
        self.assertEqual(len(self.words("node1")), 2)  # drained and given back
        self.assertIn("State=RESUME", self.words("node1")[-1])
        self.assertEqual(self.words("node2"), [])

    def test_a_stop_while_jobs_run_gives_the_node_back(self):
        self.on("node1", "echo State=MIXED >/dev/shm/slurm")
        words = [RAILBED, "apply", str(self.cluster), "--no-share", "--yes", "--only", "hosts", "--reboot-all"]
        running = subprocess.Popen(self.fleet.inside(words), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        until = time.monotonic() + 60
        while not self.words("node1"):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)  # often before the reply to the drain has come
        running.send_signal(signal.SIGINT)
        running.wait(timeout=60)
        self.assertEqual(len(self.words("node1")), 2)
        self.assertIn("State=RESUME", self.words("node1")[-1])

    def test_a_setting_that_the_boot_loses_ends_it(self):
        self.on("node1", "touch /dev/shm/forgets")
        outcome = self.reboot(status=2)
        self.assertEqual(outcome["node1"]["state"], "not-well")
        self.assertIn("not set: ", outcome["node1"]["why"])
        self.assertEqual(outcome["node2"]["state"], "left")
        self.assertEqual(self.words("node1")[-1], "reboot")  # it stays drained
        self.assertEqual(self.words("node2"), [])

    def test_a_node_that_does_not_come_back_ends_it(self):
        self.on("node1", "touch /dev/shm/gone")
        outcome = self.reboot("--connect-timeout", "5", status=2)
        self.assertEqual(outcome["node1"]["state"], "not-well")
        self.assertIn("did not come back within 30 s", outcome["node1"]["why"])
        self.assertEqual(self.words("node2"), [])

    def test_somebody_elses_drain_stays(self):
        for node in NODES:
            self.on(node, "printf 'State=IDLE+DRAIN\\n   Reason=fan broken [ops@2026-11-21T09:00:00]\\n' >/dev/shm/slurm")
        outcome = self.reboot()
        self.assertEqual({one["state"] for one in outcome.values()}, {"well"})
        for node in NODES:
            self.assertEqual(self.words(node), ["reboot"])
            self.assertIn("fan broken", self.on(node, "cat /dev/shm/slurm"))


if __name__ == "__main__":
    guardian.begin()
    unittest.main()
