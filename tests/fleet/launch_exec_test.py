#!/usr/bin/env python3
"""`railbed launch --exec` over real ssh, on nodes in network namespaces (sshd_fleet.py): what programs print, how they end,
and that nothing of them is left, whatever ends. A real mpirun where there is one.

RAILBED names the binary.
"""
import contextlib
import os
import pathlib
import re
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
NODES = {"gpu1": {}, "gpu2": {}, "gone": {"state": "refusing"}}
# What stands for torchrun: told its rank as torchrun is, and by its last word what to do.
TORCHRUN = r"""#!/bin/sh
for word do
  case $word in --node-rank=*) rank=${word#*=} ;; --master-addr=*) master=${word#*=} ;; esac
done
case $word in
hello) echo "rank $rank master $master interface $NCCL_SOCKET_IFNAME in $(pwd) mask $(umask) locale ${LC_ALL-none}" ;;
poison) printf '\033]0;owned\007\033[2J\23331mclean\r 50%%\r100%%\n' ;;
fail) [ "$rank" = 1 ] && { echo "out of memory" >&2; exit 9; }; echo waiting; exec sleep 4711 ;;
killed) [ "$rank" = 1 ] && kill -KILL $$; exec sleep 4711 ;;
wait) setsid sleep 4711 & trap : TERM; echo started; sleep 4711; sleep 4711 ;;
flood) yes "$(printf %099d 0)" | head -c 100000000 ;;
touch) echo here >"$HOME/trace" ;;
esac
"""
BASHRC = """export PATH=/root/bin:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
umask 027
"""
CLUSTER = """railbed: 1
cluster: exec
fabric: ethernet
expect: {{gpus: 1}}
ssh:
  config: {config}
nodes: [gpu1, gpu2, gone]
rails:
  - name: r
    subnet: 10.77.0.0/24
    interface: eth0
    ports: {{gpu1: {{address: 10.77.0.1}}, gpu2: {{address: 10.77.0.2}}, gone: {{address: 10.77.0.3}}}}
"""


@unittest.skipIf(missing(), missing())
class LaunchExec(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for node in NODES.values():
            node["bashrc"] = BASHRC
        cls.fleet = SshdFleet(NODES)
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.railbed = str(cls.fleet.lab / "railbed")
        shutil.copy(RAILBED, cls.railbed)
        subprocess.run(["strip", cls.railbed], check=True)
        cls.cluster = cls.fleet.lab / "cluster.yaml"
        cls.cluster.write_text(CLUSTER.format(config=cls.fleet.ssh_config))
        for name in ("gpu1", "gpu2"):
            home = cls.fleet.home(name)
            for folder in ("bin", ".ssh", "run"):
                (home / folder).mkdir(mode=0o700)
            (home / "bin/torchrun").write_text(TORCHRUN)
            (home / "bin/torchrun").chmod(0o755)
            shutil.copy(cls.fleet.ssh_config, home / ".ssh/config")

    def words(self, case, *options, program="torchrun", nodes="gpu1,gpu2", look=False):
        return self.fleet.inside([self.railbed, "launch", program, str(self.cluster), "--nodes", nodes, "--exec",
                                  *([] if look else ["--no-look"]), *options, "--", *case.split()])

    def launch(self, case, *options, **more):
        return subprocess.run(self.words(case, *options, **more), capture_output=True, text=True, timeout=120)

    def start(self, case, *options):
        running = subprocess.Popen(self.words(case, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.stderr.close)
        return running

    def on_nodes(self):
        """Process ids, on this machine, and command lines of all that runs on the nodes beside their sshd."""
        inside = {os.stat(f"/run/netns/{self.fleet.mark}{name}").st_ino for name in ("gpu1", "gpu2")}
        found = {}
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if os.stat(path / "ns/net").st_ino in inside and line and not re.search("sshd|unshare", line):
                    found[int(path.name)] = line
        return found

    def assert_nothing_runs(self):
        until = time.monotonic() + 40
        while self.on_nodes() and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual(self.on_nodes(), {})

    def await_sleepers(self, count):
        until = time.monotonic() + 60
        while sum("sleep 4711" in line for line in self.on_nodes().values()) < count:
            self.assertLess(time.monotonic(), until, "the programs do not start")
            time.sleep(0.05)

    def test_each_rank_has_its_own_and_its_lines_its_name(self):
        done = self.launch("hello", "--chdir", "/root/run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"[gpu{1 + rank}] rank {rank} master 10.77.0.1 interface =eth0 in /root/run mask 0027 locale none"
                          for rank in (0, 1)])
        self.assert_nothing_runs()

    def test_the_nodes_are_looked_at_first(self):
        done = self.launch("hello", look=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("[gpu2] rank 1 master 10.77.0.1 interface =eth0 in /root mask", done.stdout)

    def test_output_is_cleaned(self):
        done = self.launch("poison")
        self.assertEqual(done.returncode, 0, done.stderr)
        for node in ("gpu1", "gpu2"):
            self.assertEqual([line for line in done.stdout.split("\n") if node in line],
                             [f"[{node}] \ufffd31mclean", f"[{node}]  50%", f"[{node}] 100%"])

    def test_the_first_that_fails_is_named_and_the_other_ended(self):
        done = self.launch("fail")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.splitlines()[-2:],
                         ["[gpu2] out of memory", "railbed: gpu2: exit status 9; the others were then stopped"])
        self.assertEqual(done.stdout, "[gpu1] waiting\n")
        self.assert_nothing_runs()
        self.assertIn("railbed: gpu2: exit status 137 (SIGKILL); the others were then stopped",
                      self.launch("killed").stderr)
        self.assert_nothing_runs()

    def test_a_node_that_cannot_be_reached_keeps_all_from_starting(self):
        for look in (False, True):
            done = self.launch("touch", nodes="gpu1,gpu2,gone", look=look)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertRegex(done.stderr, r"railbed: nothing was started on any node:\ngone: .*refused the connection")
        self.assertEqual([name for name in ("gpu1", "gpu2") if (self.fleet.home(name) / "trace").exists()], [])
        done = self.launch("hello", "--chdir", "/nowhere")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("gpu1: there is no folder /nowhere", done.stderr)

    def test_interrupts_leave_nothing(self):
        for interrupts in (1, 2):
            running = self.start("wait", "--grace", "1")
            self.await_sleepers(4)
            for _ in range(interrupts):
                running.send_signal(signal.SIGINT)
                time.sleep(0.2)
            _, errors = running.communicate(timeout=60)
            if interrupts == 1:
                self.assertEqual(running.returncode, 3)
                self.assertIn("railbed: stopped on all nodes", errors)
                self.assertFalse([line for line in self.on_nodes().values() if "sleep" in line], "it waits for their end")
            self.assert_nothing_runs()

    def test_a_killed_controller_leaves_nothing(self):
        running = self.start("wait", "--grace", "1")
        self.await_sleepers(4)
        running.kill()
        running.communicate(timeout=60)
        self.assert_nothing_runs()

    def test_a_killed_agent_is_named_and_leaves_nothing(self):
        running = self.start("wait", "--grace", "1")
        self.await_sleepers(4)
        os.kill(self.fleet.agents("gpu2")[0], signal.SIGKILL)
        _, errors = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 2, errors)
        self.assertRegex(errors, "(?m)^railbed: gpu2: .*the others were then stopped$")
        self.assert_nothing_runs()

    def test_a_node_that_is_cut_off_ends_its_own(self):
        running = self.start("wait", "--grace", "1")
        self.await_sleepers(4)
        self.addCleanup(self.fleet.plug, "gpu2")
        self.fleet.unplug("gpu2")
        _, errors = running.communicate(timeout=90)
        self.assertEqual(running.returncode, 2, errors)
        self.assertIn("railbed: gpu2: gpu2 stopped answering", errors)
        until = time.monotonic() + 90
        while any("sleep" in line for line in self.on_nodes().values()) and time.monotonic() < until:
            time.sleep(0.5)
        self.assertFalse([line for line in self.on_nodes().values() if "sleep" in line])
        for agent in self.fleet.agents("gpu2"):  # its sshd has not noticed yet
            os.kill(agent, signal.SIGKILL)

    def memory_of(self, pid):
        held = re.search(r"VmRSS:\s*(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())
        return int(held[1]) >> 10 if held else 0  # one that has ended holds none

    def test_a_flood_waits_until_it_is_read(self):
        running = subprocess.Popen(self.words("flood"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.wait)
        self.assertTrue(running.stdout.read(1))
        time.sleep(3)
        agents = self.fleet.agents("gpu1") + self.fleet.agents("gpu2")
        self.assertEqual(len(agents), 2, "they wait for a reader")
        sizes = [self.memory_of(pid) for pid in [running.pid, *agents]]
        print(f"while nobody reads: controller and agents have {sizes} MiB", flush=True)
        self.assertLess(max(sizes), 150)
        peak, read = 0, 1
        while piece := running.stdout.read(1 << 20):
            read += len(piece)
            peak = max(peak, self.memory_of(running.pid))
        self.assertEqual(running.wait(60), 0)
        print(f"200 MB later: the controller had {peak} MiB", flush=True)
        self.assertEqual(read, 2 * (100_000_000 + 1_000_000 * len("[gpu1] ")))
        self.assertLess(peak, 150)
        self.assert_nothing_runs()

    @unittest.skipUnless(shutil.which("mpirun"), "needs Open MPI")
    def test_a_real_mpirun(self):
        script = self.fleet.lab / "rank"
        script.write_text('#!/bin/sh\necho "rank $OMPI_COMM_WORLD_RANK on $(hostname) $1"\n'
                          'case $1 in fail) [ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 5; exec sleep 4711;; wait) exec sleep 4711;; esac\n')
        script.chmod(0o755)
        done = self.launch(f"{script} hello", program="mpirun")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(line for line in done.stdout.splitlines() if "rank" in line),
                         ["[gpu1] rank 0 on gpu1 hello", "[gpu1] rank 1 on gpu2 hello"])
        self.assert_nothing_runs()
        done = self.launch(f"{script} fail", program="mpirun")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("railbed: gpu1: exit status 5", done.stderr)
        self.assert_nothing_runs()
        running = subprocess.Popen(self.words(f"{script} wait", program="mpirun"), stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        self.await_sleepers(2)
        running.kill()
        running.communicate(timeout=60)
        self.assert_nothing_runs()


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=2)
