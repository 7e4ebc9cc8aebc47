#!/usr/bin/env python3
"""railbed hostkeys over real sshds, each with a key of its own: what is new is shown and not believed, what is expected is
added and then enough for a strict ssh, what changed is loud and never written.

RAILBED is the binary.
"""
import contextlib
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import time
import unittest

from sshd_fleet import SshdFleet, missing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

REASON = missing() or next((f"needs {name}" for name in ("ssh-keyscan",) if not shutil.which(name)), None)


class KeyedFleet(SshdFleet):
    """Each node has its own host key in place of the common one."""

    def _write_files(self):
        super()._write_files()
        (self.lab / "known_hosts").unlink()
        for name in self.nodes:
            self.make_key(name)
            self.nodes[name]["setup"] = f"mount --bind {self.key(name)} {self.lab}/host_key; "

    def key(self, name):
        return self.lab / f"key-{name}"

    def make_key(self, name):
        """Into the file that is there, which the node has mounted."""
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.lab / "fresh"], check=True)
        self.key(name).touch(mode=0o600)
        self.key(name).write_bytes((self.lab / "fresh").read_bytes())
        self.key(name).with_suffix(".pub").write_bytes((self.lab / "fresh.pub").read_bytes())
        for suffix in ("", ".pub"):
            (self.lab / f"fresh{suffix}").unlink()

    def public(self, name):
        return " ".join(self.key(name).with_suffix(".pub").read_text().split()[:2])

    def fingerprint(self, name):
        told = subprocess.run(["ssh-keygen", "-lf", self.key(name).with_suffix(".pub")], check=True, capture_output=True, text=True)
        return told.stdout.split()[1]

    def change_key(self, name):
        self.make_key(name)
        parent = self.processes[name].pid
        sshd = int(pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0])
        os.kill(sshd, signal.SIGHUP)  # it starts anew
        until = time.monotonic() + 20
        while self.public(name) not in self.run(["ssh-keyscan", "-t", "ed25519", self.address(name)]).stdout:
            if time.monotonic() > until:
                raise RuntimeError(f"{name} keeps its key")
            time.sleep(0.05)


@unittest.skipIf(REASON, f"host keys: {REASON}")
class HostKeysTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = KeyedFleet({"alpha": {}, "beta": {}, "gone": {"state": "absent"}, "mute": {"state": "hanging"}})
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.railbed = str(shutil.copy(os.environ["RAILBED"], cls.fleet.lab / "railbed"))
        subprocess.run(["strip", cls.railbed], check=True)
        cls.cluster = cls.fleet.lab / "cluster.yaml"
        cls.cluster.write_text(
            f"railbed: 1\ncluster: keys\nfabric: ethernet\nssh:\n  config: {cls.fleet.ssh_config}\nnodes:\n" +
            "".join(f"  - {{name: {name}, ssh: {name}}}\n" for name in (*cls.fleet.nodes, "behind")))
        config = pathlib.Path(cls.fleet.ssh_config)
        config.write_text("Host behind\n  ProxyJump alpha\n" + config.read_text())
        cls.known_hosts = cls.fleet.lab / "known_hosts"

    def setUp(self):
        self.known_hosts.unlink(missing_ok=True)

    def hostkeys(self, *words, **options):
        return self.fleet.run([self.railbed, "hostkeys", str(self.cluster), "--connect-timeout", "3", *words],
                              stdin=subprocess.DEVNULL, timeout=60, **options)

    def expect(self, **lines):
        path = self.fleet.lab / "expected"
        path.write_text("".join(f"{node} {said}\n" for node, said in lines.items()))
        return str(path)

    def add(self, *nodes):
        done = self.hostkeys(*nodes, "--add", "--expect",
                             self.expect(**{node: self.fleet.fingerprint(node) for node in nodes}))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def reached(self, *nodes):
        """Node → why railbed could not reach it, or nothing."""
        done = self.fleet.run([self.railbed, "verify", str(self.cluster), "--json"], timeout=120)
        found = {one["node"]: one for one in json.loads(done.stdout)["findings"] if one["rule"] == "node.reachable"}
        return {node: found[node]["message"] if found.get(node, {}).get("status") == "fail" else "" for node in nodes}

    def test_a_new_key_is_shown_and_not_believed(self):
        done = self.hostkeys("alpha", "beta")
        self.assertEqual(done.returncode, 1, done.stderr)
        for node in ("alpha", "beta"):
            self.assertRegex(done.stdout, rf"{node}, in known_hosts 10\.77\.0\.\d+\n +ssh-ed25519 +"
                             + self.fleet.fingerprint(node).replace("+", r"\+") + "  new\n")
        self.assertIn("ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub", done.stdout)
        refused = self.hostkeys("alpha", "--add")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("there is no terminal to ask on", refused.stderr)
        self.assertFalse(self.known_hosts.exists())

    def test_what_is_expected_is_added_and_is_enough_for_a_strict_ssh(self):
        before = self.reached("alpha", "beta")
        for node, why in before.items():
            self.assertIn("is not known: `railbed hostkeys cluster.yaml`", why, node)
        self.add("alpha")
        done = self.hostkeys("beta", "--add", "--expect", self.expect(beta=self.fleet.public("beta") + " root@beta"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"1 key added to {self.known_hosts}", done.stdout)
        self.assertEqual(self.known_hosts.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.known_hosts.read_text(), "".join(
            f"{self.fleet.address(node)} {self.fleet.public(node)}\n" for node in ("alpha", "beta")))
        self.assertEqual(self.reached("alpha", "beta"), {"alpha": "", "beta": ""})
        again = self.hostkeys("alpha", "beta", "--json")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual([key["state"] for node in json.loads(again.stdout)["nodes"] for key in node["keys"]],
                         ["known", "known"])

    def test_another_key_than_the_expected_is_loud_and_not_written(self):
        expected = self.expect(alpha=self.fleet.fingerprint("alpha"), beta=self.fleet.fingerprint("alpha"))
        done = self.hostkeys("alpha", "beta", "--add", "--expect", expected)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertTrue(done.stdout.startswith("WARNING: beta offers another host key than"), done.stdout)
        self.assertIn("NOT AS EXPECTED", done.stdout)
        self.assertFalse(self.known_hosts.exists())
        self.assertEqual(self.hostkeys("alpha", "--expect", self.expect(nobody="SHA256:x")).returncode, 64)

    def test_a_changed_key_is_loud_and_never_replaced(self):
        self.add("alpha", "beta")
        kept = self.known_hosts.read_text()
        old = self.fleet.fingerprint("beta")
        self.fleet.change_key("beta")
        for words in ((), ("--add",), ("--add", "--expect", self.expect(beta=self.fleet.fingerprint("beta")))):
            done = self.hostkeys("alpha", "beta", *words)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertTrue(done.stdout.startswith("WARNING: beta offers another host key than"), done.stdout)
            self.assertIn("Nothing was written.", done.stdout.splitlines()[0])
            self.assertIn(f"{self.fleet.fingerprint('beta')}  CHANGED: {old} is known", done.stdout)
            self.assertIn(f"ssh-keygen -R {self.fleet.address('beta')} -f {self.known_hosts}", done.stdout)
            self.assertEqual(self.known_hosts.read_text(), kept)

    def test_who_cannot_be_asked_is_named_and_holds_nobody_up(self):
        start = time.monotonic()
        done = self.hostkeys("--add", "--expect", self.expect(alpha=self.fleet.fingerprint("alpha")))
        self.assertLess(time.monotonic() - start, 40)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"gone, in known_hosts 10\.77\.0\.3\n    not asked: no host key came from 10\.77\.0\.3")
        self.assertRegex(done.stdout, r"mute, .*\n    not asked: ")
        self.assertRegex(done.stdout, r"behind\n    not asked: it is reached by ProxyJump alpha")
        self.assertRegex(done.stdout, r"alpha, .*\n +ssh-ed25519 .*  new, as expected")
        self.assertRegex(done.stdout, r"beta, .*\n +ssh-ed25519 .*  new, and the expected keys do not name it")
        self.assertEqual(self.known_hosts.read_text(), f"{self.fleet.address('alpha')} {self.fleet.public('alpha')}\n")

    def test_a_person_at_a_terminal_is_asked(self):
        for answer, lines in ((b"n\n", 0), (b"y\n", 1)):
            ours, theirs = pty.openpty()
            with contextlib.ExitStack() as stack:
                stack.callback(os.close, ours)
                os.write(ours, answer)
                done = subprocess.run(self.fleet.inside([self.railbed, "hostkeys", str(self.cluster), "alpha", "--add"]),
                                      stdin=theirs, capture_output=True, text=True, timeout=60)
                os.close(theirs)
            self.assertIn("Have you compared these with the consoles?", done.stderr)
            self.assertEqual(done.returncode, 1 - lines, done.stdout + done.stderr)
            self.assertEqual(len(self.known_hosts.read_text().splitlines()) if lines else self.known_hosts.exists(), lines)


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=2)
