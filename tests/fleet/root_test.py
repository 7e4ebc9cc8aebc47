#!/usr/bin/env python3
"""Agents that run as root, by real sudo and PAM: nodes in namespaces, each with its own /etc, /opt and /home (sshd_fleet.py).

FLEET_PROBE and FLEET_TEST_AGENT name the test programs.
"""
import hashlib
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

PROBE = os.environ["FLEET_PROBE"]
AGENT = os.environ["FLEET_TEST_AGENT"]
PASSWORD = "Grüße 'n \"quotes\" $x\\n"

# A copy of this machine's /etc with users of our own: sam may use sudo without a password, pat with one, nora not at all,
# rita only from a terminal. Somebody writes into tom's and tim's caches just before sudo starts. What sudo keeps lies on
# file systems that end with the node.
SETUP = r"""
cp -a /etc /dev/shm/etc; mount --bind /dev/shm/etc /etc
for folder in /opt /home /run/sudo /var/lib/sudo; do mount -t tmpfs -o mode=755 tmpfs $folder; done
number=7000
for user in sam pat nora rita tom tim; do
  number=$((number + 1))
  echo "$user:x:$number:$number::/home/$user:/bin/bash" >>/etc/passwd
  echo "$user:x:$number:" >>/etc/group
  echo "$user:HASHED:19000:0:99999:7:::" >>/etc/shadow
  mkdir -p /home/$user/bin; echo 'PATH=~/bin:$PATH' >/home/$user/.bashrc
done
printf '%s\n' '#!/bin/sh' 'echo >>"$(echo ~/.cache/railbed/agents/*/railbed)"' 'exec /usr/bin/sudo "$@"' >/home/tom/bin/sudo
printf '%s\n' '#!/bin/sh' 'ln -sf /etc/shadow ~/.cache/railbed/agents/*/railbed' 'exec /usr/bin/sudo "$@"' >/home/tim/bin/sudo
chmod 755 /home/t*/bin/sudo
for user in sam pat nora rita tom tim; do chown -R $user:$user /home/$user; chmod 700 /home/$user; done
cat >/etc/sudoers <<END
Defaults env_reset, use_pty, logfile=/home/sudo.log
Defaults:rita requiretty
sam,rita,tom,tim ALL=(ALL) NOPASSWD: ALL
pat ALL=(ALL) ALL
END
chmod 440 /etc/sudoers
"""
OLD = {day: f"railbed-{64 * str(day)}" for day in (1, 2, 3, 4)}
NODES = {
    "plain": "",
    "linked": "mkdir /opt/elsewhere; ln -s /opt/elsewhere /opt/railbed\n",
    "open": "mkdir -m 777 /opt/railbed\n",
    "foreign": "mkdir -p /opt/railbed/bin; chown sam /opt/railbed/bin\n",
    "noexec": "mount -o remount,noexec /opt\n",
    "full": "mount -t tmpfs -o size=64k,mode=755 tmpfs /opt; head -c 65536 /dev/zero >/opt/full || :\n",
    "nosudo": "mount --bind /dev/null /usr/bin/sudo\n",
    "swapped": "",
    "old": "mkdir -p /opt/railbed/bin\n" + "".join(
        f"touch -d 2024-01-0{day} /opt/railbed/bin/{OLD[day]}\n" for day in OLD),
}

REASON = missing() or next((f"needs {name}" for name in ("/usr/bin/sudo", "openssl") if not shutil.which(name)), None)


@unittest.skipIf(REASON, f"agents as root: {REASON}")
class RootTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        hashed = subprocess.run(["openssl", "passwd", "-6", "-stdin"], input=PASSWORD, text=True, check=True, capture_output=True)
        setup = SETUP.replace("HASHED", hashed.stdout.strip().replace("$", "\\$"))
        cls.fleet = SshdFleet({name: {"setup": setup + more} for name, more in NODES.items()})
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.fleet.lab.chmod(0o711)  # users of the nodes read their keys and run these two
        cls.probe, cls.agent = (str(shutil.copy(path, cls.fleet.lab / name))
                                for path, name in ((PROBE, "probe"), (AGENT, "agent")))
        cls.copy = "/opt/railbed/bin/railbed-" + hashlib.sha256(pathlib.Path(AGENT).read_bytes()).hexdigest()

    def probe_words(self, method, params, *nodes):
        return [self.probe, "--root", self.agent, self.fleet.ssh_config, "20000", method, params, *nodes]

    def ask(self, node, password=""):
        """Whether the agent runs as root, from root's copy; else why not."""
        done = self.fleet.run(self.probe_words("whoami", "{}", node), input=password + "\n", timeout=120)
        self.assertEqual(done.stderr, "")
        self.assertNotIn(PASSWORD, done.stdout)
        _, word, text = done.stdout.strip().split(" ", 2)
        if word == "ok":
            self.assertEqual(json.loads(text), {"uid": 0, "program": self.copy})
        return "root" if word == "ok" else text

    def on(self, node, command, *options, **more):
        return self.fleet.run(["ssh", "-F", self.fleet.ssh_config, *options, node, command], timeout=60, **more).stdout

    def assert_nothing_left(self):
        """Neither an agent nor a sudo or shell that starts one. Their ends are waited for, as they are not all ours."""
        until = time.monotonic() + 20
        while self.fleet.processes_with(self.copy[-64:]) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual(self.fleet.processes_with(self.copy[-64:]), [])

    def test_each_who_may_gets_root_and_only_the_first_start_copies(self):
        files = set()
        for user, password in (("sam", ""), ("sam", PASSWORD), ("pat", PASSWORD), ("root", ""), ("root", PASSWORD)):
            self.assertEqual(self.ask(f"{user}@plain", password), "root", (user, password))
            files.add(self.on("plain", f"stat -c '%i %u:%g %a' {self.copy} /opt/railbed/bin; ls /opt/railbed/bin"))
        self.assertEqual(len(files), 1, files)
        self.assertEqual([line.split()[1:] for line in files.pop().splitlines()[:2]], 2 * [["0:0", "755"]])
        self.assertEqual(self.on("plain", "ls /run/sudo/ts 2>/dev/null"), "", "sudo remembers nothing")
        self.assert_nothing_left()

    def test_who_may_not_is_told_what_to_do(self):
        for node, password, reason, remedy in (
                ("pat@plain", "", "asks for a password", "--ask-sudo-password"),
                ("pat@plain", "wrong", "does not accept the password", "the user that ssh logs in as"),
                ("nora@plain", "", "asks for a password", "--ask-sudo-password"),
                ("nora@plain", PASSWORD, "may not use sudo", "sudoers(5)"),
                ("rita@plain", "", "wants a terminal", "!requiretty"),
                ("sam@nosudo", "", "it has no sudo", "install sudo")):
            text = self.ask(node, password)
            self.assertIn(reason, text, node)
            self.assertIn(remedy, text, node)
        self.assertIn("pat : 1 incorrect password attempt", self.on("plain", "cat /home/sudo.log"))
        self.assertNotIn(PASSWORD, self.on("plain", "cat /home/sudo.log"))
        self.assert_nothing_left()

    def test_no_folder_is_used_that_others_can_change(self):
        for node, said in (("linked", "/opt/railbed -> /opt/elsewhere"), ("open", "drwxrwxrwx"), ("foreign", "sam")):
            for user in ("sam", "root"):
                text = self.ask(f"{user}@{node}")
                self.assertIn("only root may be able to change", text)
                self.assertIn(said, text)
            self.assertEqual(self.on(node, "find /opt -type f"), "")

    def test_what_cannot_hold_programs_is_named(self):
        self.assertIn("mount /opt without noexec", self.ask("sam@noexec"))
        self.assertIn("No space left on device", self.ask("sam@full"))
        self.assertEqual(self.on("full", "ls /opt/railbed/bin"), "")

    def test_what_was_changed_after_the_check_is_not_run(self):
        for user in ("tom", "tim"):
            text = self.ask(f"{user}@swapped")
            self.assertIn("was changed after it was checked, so it was not run as root", text)
            self.assertNotIn("19000", text, "a line of /etc/shadow")
            self.assertEqual(self.on("swapped", "ls /opt/railbed/bin"), "")
        self.assertEqual(self.ask("sam@swapped"), "root")
        self.assertEqual(self.ask("tim@swapped"), "root", "root has its own")

    def test_two_old_copies_are_kept_and_a_damaged_one_is_made_again(self):
        kept = [self.copy.split("/")[-1], OLD[3], OLD[4]]
        self.assertEqual(self.ask("sam@old"), "root")
        self.assertEqual(self.on("old", "ls /opt/railbed/bin").split(), sorted(kept))
        self.on("old", f"echo >>{self.copy}")
        self.assertEqual(self.ask("sam@old"), "root")
        self.assertEqual(self.on("old", f"sha256sum {self.copy}").split()[0], self.copy[-64:])

    def start_waiting(self, password):
        started = self.fleet.lab / "started"
        probe = subprocess.Popen(self.fleet.inside(self.probe_words("wait_for_stop", str(started), "pat@plain")), text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(probe.stdout.close)
        probe.stdin.write(password + "\n")
        probe.stdin.close()
        until = time.monotonic() + 60
        while not started.exists():
            self.assertIsNone(probe.poll())
            self.assertLess(time.monotonic(), until, "the agent does not start")
            time.sleep(0.05)
        return probe

    def test_the_password_is_in_no_command_and_no_environment_and_nothing_stays(self):
        probe = self.start_waiting(PASSWORD)
        for path in [*pathlib.Path("/proc").glob("[0-9]*/cmdline"), *pathlib.Path("/proc").glob("[0-9]*/environ")]:
            try:
                self.assertNotIn(PASSWORD.encode(), path.read_bytes(), path)
            except OSError:
                pass  # it has ended
        self.assertNotEqual(self.fleet.processes_with(self.copy), [])
        probe.kill()
        probe.wait()
        self.assert_nothing_left()

    def test_this_machine(self):
        here = " ".join([self.probe, "--root", self.agent, "none", "20000", "whoami", "{}", "here"])
        for user, password, said in (("sam", "", '"uid":0'), ("pat", PASSWORD, '"uid":0'), ("root", "", '"uid":0'),
                                     ("pat", "wrong", "does not accept the password"), ("nora", PASSWORD, "may not use sudo")):
            for terminal in ("-T", "-tt"):  # with one, sudo could turn to it
                self.on(f"{user}@plain", "cat >~/password", input=password + "\n")
                text = self.on(f"{user}@plain", f"{here} <~/password", terminal)
                self.assertIn(said, text, (user, terminal))
                self.assertNotIn(PASSWORD, text)
        self.assert_nothing_left()


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=2)
