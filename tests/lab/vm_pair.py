"""The emulated cluster as an object: bring up, reach, break, take down. `vms` is its command line.

`up` starts a supervisor in a session of its own, whose children the two QEMU processes are. They end with it:
after a maximum lifetime, when it is told to, when it dies, or when `up` dies before both answer, so that no guest outlives its
use. It holds the lock of run/ for as long as it lives: the lock, not a process number, says whether the pair is up.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import faults
import guest_image
from architecture import ARCHITECTURES, X86_64
from initramfs import NODES
from packages import LabError, progress

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

BOOT_SECONDS = 180  # bound, not expectation: other work may have the processors


class Pair:
    """vm1 is an x86-64 machine, vm2 one of `architecture`."""

    def __init__(self, folder, architecture=X86_64.name):
        self.architectures = {'vm1': X86_64, 'vm2': ARCHITECTURES[architecture]}
        self.folder = pathlib.Path(folder).resolve()
        self.run = self.folder / 'run'
        self.ssh_config = self.folder / 'ssh_config'
        self.cluster = self.folder / 'cluster.yaml'
        self.supervisor = None  # the process, where this object started it

    # State.
    def state(self):
        """What the supervisor wrote, or None when no pair is up."""
        if not self.locked():
            return None
        try:
            return json.loads((self.run / 'state.json').read_text())
        except (OSError, ValueError):
            return {'phase': 'starting'}

    def locked(self):
        try:
            with open(self.run / 'lock') as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    # Up and down.
    def up(self, max_minutes=60, fresh=False):
        """Returns when both guests answer by ssh: (seconds it took, 'booted' | 'resumed' | 'were up')."""
        began = time.monotonic()
        with self.exclusive():
            self.build_images()
            if self.locked():
                self.check_kind()
                self.wait_for_ssh(45)
                return time.monotonic() - began, 'were up'
            how = self.bring_up(max_minutes, fresh)
            self.write_cluster()
        return time.monotonic() - began, how

    def build(self):
        with self.exclusive():
            self.build_images()

    def build_images(self):
        for architecture in self.architectures.values():
            guest_image.build(self.folder, architecture)

    def check_kind(self):
        up, wanted = (self.state() or {}).get('architecture'), self.architectures['vm2'].name
        if up and up != wanted:
            raise LabError(f'a pair whose vm2 is {up} is up, not {wanted}: `vms down` first')

    @contextlib.contextmanager
    def exclusive(self):
        """One `build` or `up` at a time. `down` does not ask: it may come in between."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / 'lock', 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def bring_up(self, max_minutes, fresh):
        try:
            how = self.start(max_minutes, fresh)
            try:
                self.wait_for_ssh(45 if how == 'resumed' else BOOT_SECONDS)
            except LabError as error:
                if how != 'resumed':
                    raise
                progress(f'the saved state is no good ({error}); booting afresh')
                self.down()
                how = self.start(max_minutes, True)
                self.wait_for_ssh(BOOT_SECONDS)
            os.write(self.keep, b'y')
        except BaseException:
            self.down()
            raise
        return how

    def start(self, max_minutes, fresh):
        self.run.mkdir(parents=True, exist_ok=True)
        progress('start two guests')
        log = open(self.run / 'supervisor.log', 'w')
        argv = [sys.executable, str(guest_image.HERE / 'vms'), '--dir', str(self.folder),
                '--architecture', self.architectures['vm2'].name, 'supervise', str(max_minutes), *(['--fresh'] if fresh else [])]
        kept, self.keep = os.pipe()
        supervisor = subprocess.Popen(argv, stdin=kept, stdout=log, stderr=log, start_new_session=True)
        os.close(kept)
        self.supervisor = supervisor
        log.close()
        deadline, told = time.monotonic() + BOOT_SECONDS, None
        try:
            while True:
                state = self.state() or {}
                if state.get('supervisor') == supervisor.pid:
                    if state['phase'] != told:
                        told = state['phase']
                        progress(told)
                    if told == 'ready':
                        self.write_ssh_config(state['ports'])
                        return state['how']
                if supervisor.poll() is not None or time.monotonic() > deadline:
                    tail = (self.run / 'supervisor.log').read_text().strip()[-800:]
                    raise LabError(f'the guests did not come up: {tail or "no word from the supervisor"}')
                time.sleep(0.05)
        except BaseException:
            if supervisor.poll() is None:
                supervisor.terminate()
            supervisor.wait()
            raise

    def wait_for_ssh(self, seconds):
        """Both answer, with the right host keys. Also sets their clocks: a saved one stood still."""
        deadline = time.monotonic() + seconds
        waiting = {}
        try:
            for node in NODES:
                waiting[node] = self.set_clock(node)
            while waiting:
                for node, probe in list(waiting.items()):
                    if probe.poll() is None:
                        continue
                    del waiting[node]
                    why = probe.communicate()[1].strip()
                    if probe.returncode:
                        if time.monotonic() > deadline or 'Host key verification' in why:
                            raise LabError(f'{node} does not answer by ssh: {why}')
                        waiting[node] = self.set_clock(node)
                if time.monotonic() > deadline:
                    raise LabError(f'no answer by ssh from {", ".join(waiting)} within {seconds} s')
                time.sleep(0.02)
        finally:
            for probe in waiting.values():
                probe.kill()
                probe.communicate()

    def set_clock(self, node):
        return subprocess.Popen(self.ssh_argv(node, f'date -u -s @{time.time():.0f} >/dev/null'), text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def down(self):
        """Ends guests and supervisor and waits for them. True if there was something to end."""
        self.end_shared()
        deadline = time.monotonic() + 20
        was_up = False
        while self.locked():
            was_up = True
            supervisor = (self.state() or {}).get('supervisor')
            if supervisor:
                gently = time.monotonic() < deadline - 10
                with contextlib.suppress(ProcessLookupError):
                    os.kill(supervisor, signal.SIGTERM if gently else signal.SIGKILL)
            if time.monotonic() > deadline:
                raise LabError(f'the supervisor ({supervisor}) does not end; see {self.run}/supervisor.log')
            time.sleep(0.1)
        if self.supervisor:
            self.supervisor.wait()
            os.close(self.keep)
            self.supervisor = None
        (self.run / 'state.json').unlink(missing_ok=True)
        return was_up

    # Files for ssh and for railbed.
    def write_ssh_config(self, ports):
        text = ''
        for node in NODES:
            text += (f'Host {node}\n  HostName 127.0.0.1\n  Port {ports[node]}\n  User root\n'
                     f'  IdentityFile "{self.folder}/keys/login"\n  IdentitiesOnly yes\n'
                     f'  HostKeyAlias {node}\n  UserKnownHostsFile "{self.folder}/known_hosts"\n'
                     f'  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n'
                     f'  ControlPath none\n')
        self.ssh_config.write_text(text)

    def write_cluster(self):
        self.cluster.write_text(f'''railbed: 1
cluster: emulated-pair
ssh:
  config: {json.dumps(str(self.ssh_config))}
fabric: roce
topology: back-to-back
nodes:
  - {{name: vm1, ssh: vm1}}
  - {{name: vm2, ssh: vm2}}
rails:
  - name: rail0
    subnet: 10.77.0.0/24
    mtu: 9000
    rdma_driver: rxe
    ports:
      vm1: {{interface: eth1, address: 10.77.0.1}}
      vm2: {{interface: eth1, address: 10.77.0.2}}
''')

    # Reaching a node.
    def ssh_argv(self, node, *command):
        options = ['-o', 'BatchMode=yes', '-o', 'ConnectTimeout=10']
        return ['ssh', '-F', str(self.ssh_config), *options, node, *command]

    def ssh(self, node, command, timeout=60):
        """Runs a shell line on a node; returns subprocess.CompletedProcess with text."""
        argv = self.ssh_argv(node, command)
        if len(str(self.shared(node))) < 90:  # sockaddr_un takes 108, and ssh makes a longer name first
            # A handshake takes an emulated processor seconds: one connection serves all commands for a while.
            argv[1:1] = ['-o', 'ControlMaster=auto', '-o', f'ControlPath={self.shared(node)}', '-o', 'ControlPersist=60',
                         '-o', 'ServerAliveInterval=5']
        return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=timeout)

    def shared(self, node):
        return self.run / f'ssh-{node}'

    def end_shared(self):
        for node in NODES:
            if self.shared(node).exists():
                subprocess.run(['ssh', '-F', str(self.ssh_config), '-o', f'ControlPath={self.shared(node)}', '-O', 'exit', node],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10)
                self.shared(node).unlink(missing_ok=True)

    def fault(self, node, name, argument=None):
        done = self.ssh(node, faults.script(name, argument))
        if done.returncode:
            raise LabError(f'{node}: {name}: {(done.stderr or done.stdout).strip()}')
