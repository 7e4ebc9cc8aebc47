#!/usr/bin/env python3
"""The fleet over real ssh: nodes in network namespaces, some of them sick (sshd_fleet.py).

FLEET_PROBE and FLEET_TEST_AGENT name the test programs, RAILBED the binary.
"""
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
PROBE = os.environ["FLEET_PROBE"]
AGENT = os.environ["FLEET_TEST_AGENT"]

SICK = {
    "node05": ({"state": "refusing"}, "refused the connection"),
    "node09": ({"state": "unplugged"}, "no route to"),
    "node14": ({"state": "absent"}, "no route to"),
    "node20": ({"state": "hanging"}, "accepted the connection and then said nothing"),
    "node27": ({"home": "full"}, "no space left"),
}
ODD = {
    "node02": {"home": "noexec"},
    "node03": {"bashrc": "echo '*** Welcome to node03 ***'; echo 'quota: ok' >&2\n"},
}
NAMES = [f"node{number:02}" for number in range(1, 33)]
NODES = {name: SICK[name][0] if name in SICK else ODD.get(name, {}) for name in NAMES}
FINE = [name for name in NAMES if name not in SICK]

REASON = missing()


@unittest.skipIf(REASON, f"sshd fleet: {REASON}")
class SshdFleetTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = SshdFleet(NODES)
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        # A debug build is ten times the size of what users push.
        cls.railbed = str(cls.fleet.lab / "railbed")
        shutil.copy(RAILBED, cls.railbed)
        subprocess.run(["strip", cls.railbed], check=True)

    def probe_words(self, method, params, names, agent=None, deadline_ms=10000, config=None):
        return self.fleet.inside(
            [PROBE, agent or self.railbed, config or self.fleet.ssh_config, str(deadline_ms), method, params, *names])

    def ask(self, method, params, names, **options):
        """Node → (answered, text), and the seconds it took."""
        start = time.monotonic()
        done = subprocess.run(self.probe_words(method, params, names, **options), capture_output=True, text=True,
                              timeout=60)
        seconds = time.monotonic() - start
        self.assertEqual(done.stderr, "")
        answers = {}
        for line in done.stdout.splitlines():
            node, word, text = line.split(" ", 2)
            answers[node] = (word == "ok", text)
        return answers, seconds

    def assert_nothing_left(self, text):
        """Ends of processes are waited for, as they are not all ours."""
        until = time.monotonic() + 20
        while self.fleet.processes_with(text) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual(self.fleet.processes_with(text), [])

    def test_a_healthy_and_sick_fleet(self):
        for method, run in (("hello", "pushing the agent"), ("facts", "agent cached")):
            answers, seconds = self.ask(method, "{}", NAMES)
            print(f"32 nodes, five sick, {method}, {run}: {seconds:.1f} s", flush=True)
            self.assertEqual(list(answers), NAMES)
            self.assertEqual([name for name, (ok, _) in answers.items() if ok], FINE,
                             [text for ok, text in answers.values() if not ok])
            for name in FINE:
                self.assertIn(f'"{name}"', answers[name][1])
            for name, (_, reason) in SICK.items():
                self.assertIn(f"{name}: ", answers[name][1])
                self.assertIn(reason, answers[name][1])
        self.assert_nothing_left("/railbed/agents/")
        self.assert_nothing_left(self.fleet.ssh_config)

    def test_verify_judges_the_rest_and_names_the_five(self):
        cluster = self.fleet.lab / "cluster.yaml"
        cluster.write_text(f"railbed: 1\ncluster: fleet\nfabric: ethernet\nssh:\n  config: {self.fleet.ssh_config}\n"
                           "nodes:\n  - {name: 'node[01-32]', ssh: 'node[01-32]'}\n")
        start = time.monotonic()
        done = subprocess.run(self.fleet.inside([self.railbed, "verify", str(cluster), "--json"]), timeout=120,
                              capture_output=True, text=True)
        print(f"32 nodes, five sick, railbed verify: {time.monotonic() - start:.1f} s", flush=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        findings = json.loads(done.stdout)["findings"]
        gone = {one["node"]: one["message"] for one in findings
                if one["rule"] == "node.reachable" and one["status"] == "fail"}
        self.assertEqual(sorted(gone), sorted(SICK))
        for name, (_, reason) in SICK.items():
            self.assertIn(reason, gone[name])
        judged = {one["node"] for one in findings if one["status"] == "pass"}
        self.assertEqual(sorted(judged & set(NAMES)), FINE)
        self.assert_nothing_left("/railbed/agents/")

    def logins(self, name):
        return (self.fleet.lab / f"{name}.log").read_text().count("Accepted publickey")

    def test_a_connection_serves_the_next_command(self):
        names = ["node21", "node22", "node23"]
        config = self.fleet.lab / "sharing_config"
        config.write_text(pathlib.Path(self.fleet.ssh_config).read_text().replace("  ControlPath none\n", ""))
        cluster = self.fleet.lab / "three.yaml"
        cluster.write_text(f"railbed: 1\ncluster: three\nssh:\n  config: {config}\nnodes: [{', '.join(names)}]\n")
        runtime = guardian.make_folder("rbs-", "/var/tmp")  # short: sockets lie in it
        self.addCleanup(shutil.rmtree, runtime)
        for words, more in ((["--no-share"], 1), ([], 1), ([], 0), (["--ssh-option", "Compression=yes"], 1), (["--no-share"], 1)):
            before = [self.logins(name) for name in names]
            done = subprocess.run(self.fleet.inside([self.railbed, "verify", str(cluster), "--json", *words]), timeout=120,
                                  capture_output=True, text=True, env=os.environ | {"XDG_RUNTIME_DIR": str(runtime)})
            self.assertIn(done.returncode, (0, 1, 2), done.stderr)
            findings = json.loads(done.stdout)["findings"]
            self.assertEqual([one for one in findings if one["rule"] == "node.reachable" and one["status"] == "fail"], [])
            self.assertEqual([self.logins(name) - count for name, count in zip(names, before)], [more] * 3, words)
            self.assertEqual(self.fleet.processes_with("/railbed/agents/"), [])
        sockets = list((runtime / "railbed").glob("*-*"))
        self.assertEqual(len(sockets), 6, "three nodes, with and without the option")
        for socket in sockets:
            subprocess.run(self.fleet.inside(["ssh", "-S", str(socket), "-O", "exit", "node"]), capture_output=True, check=True)
        self.assert_nothing_left(str(runtime))

    def test_one_node(self):
        for run in ("pushing the agent", "agent cached"):
            answers, seconds = self.ask("hello", "{}", ["node32"], agent=AGENT)
            print(f"one node, {run}: {seconds:.2f} s", flush=True)
            self.assertTrue(answers["node32"][0], answers)

    def start_waiting(self, names):
        """A probe whose nodes are all at work, in a handler that ends only when it is told to."""
        folder = self.fleet.lab / self._testMethodName
        folder.mkdir(exist_ok=True)
        probe = subprocess.Popen(
            self.probe_words("wait_for_stop", f"{folder}/started.$ {folder}/stopped", names, agent=AGENT,
                             deadline_ms=100000), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(probe.stdout.close)
        until = time.monotonic() + 60
        while len(self.fleet.processes_with("/railbed/agents/")) < len(names) or not (folder / "started.$").exists():
            self.assertIsNone(probe.poll())
            self.assertLess(time.monotonic(), until, "the agents do not start")
            time.sleep(0.05)
        return probe, folder

    def test_interrupt_leaves_nothing_at_either_end(self):
        probe, folder = self.start_waiting(["node10", "node11", "node12"])
        probe.send_signal(signal.SIGINT)
        output, _ = probe.communicate(timeout=30)
        self.assertEqual(output.count("failed"), 3, output)
        self.assertEqual(output.count("cancelled"), 3, output)
        self.assert_nothing_left("/railbed/agents/")
        self.assert_nothing_left(self.fleet.ssh_config)
        self.assertTrue((folder / "stopped").exists(), "handlers were told to stop")

    def test_killed_controller_leaves_nothing(self):
        probe, folder = self.start_waiting(["node10", "node11"])
        probe.kill()
        probe.wait()
        self.assert_nothing_left("/railbed/agents/")
        self.assert_nothing_left(self.fleet.ssh_config)
        self.assertTrue((folder / "stopped").exists(), "handlers were told to stop")

    def test_link_cut_in_mid_call_is_named(self):
        probe, _ = self.start_waiting(["node15"])
        self.addCleanup(self.fleet.plug, "node15")
        self.fleet.unplug("node15")
        output, _ = probe.communicate(timeout=60)
        self.assertIn("node15 failed node15: node15 stopped answering", output)

    def test_unknown_and_changed_host_keys_are_refused(self):
        config = self.fleet.lab / "strangers_config"
        known = self.fleet.lab / "strangers"
        other = (self.fleet.lab / "id.pub").read_text()  # a key, and not the host's
        known.write_text(f"{self.fleet.address('node16')} {other}")
        text = pathlib.Path(self.fleet.ssh_config).read_text()
        config.write_text(text.replace(f"{self.fleet.lab}/known_hosts", str(known)).replace(
            "StrictHostKeyChecking yes", "StrictHostKeyChecking ask"))
        answers, _ = self.ask("hello", "{}", ["node16", "node17"], config=str(config))
        self.assertIn("host key of node16 is not the one that known_hosts has", answers["node16"][1])
        self.assertIn("host key of node17 is not known", answers["node17"][1])
        self.assertIn("ssh node17", answers["node17"][1])


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=2)
