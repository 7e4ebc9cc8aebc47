"""Two emulated nodes with a whole Debian 12, for tests that configure, reboot and lose them.

    with OsPair('netplan', seconds=600) as pair:
        status, output = pair.run('node1', 'sudo cat /etc/netplan/*.yaml')
        done = pair.railbed('plan', str(pair.cluster))

Their rail (eth1) is bare. Each pair has disks of its own, which are gone with it. The guests end with the `with`, after
`seconds`, and when this process dies. Call it from one thread, for a guest dies with the thread that started it.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time

import os_image
from guest import Guest, GuestError
from os_image import DEFAULT_FOLDER, KINDS, NODES, management_address
from packages import LabError, progress, run
from supervisor import free_ports

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ.get('RAILBED', str(DEFAULT_FOLDER.parent / 'release/railbed'))
MEMORY_MIB = 512
BOOT_SECONDS = 480  # bound, not expectation: other work may have the processors
SAVED = ('node1.qcow2', 'node2.qcow2', 'node1.state', 'node2.state')
FULL = '/var/tmp/lab-full'
# What a saved state must have, since all tests go on from it.
WHOLE = 'systemctl --failed --no-legend; timeout 120 sh -c "until [ -e /sys/class/infiniband/rxe0 ]; do sleep 1; done" && sync'
CLUSTER = '''railbed: 1
cluster: os-pair
ssh: {{config: {ssh_config}}}
fabric: roce
topology: back-to-back
expect: {{os: debian 12, socket_buffer: 16 MiB}}
configure: {{network: {kind}}}
nodes: [node1, node2]
rails:
  - name: rail0
    subnet: 10.77.0.0/24
    mtu: 9000
    rdma_driver: rxe
    ports:
      node1: {{interface: eth1, address: 10.77.0.1}}
      node2: {{interface: eth1, address: 10.77.0.2}}
'''


class OsPair:
    def __init__(self, kind='netplan', seconds=900, folder=DEFAULT_FOLDER):
        if kind not in KINDS:
            raise ValueError(f'{kind}: one of {", ".join(KINDS)}')
        self.kind, self.seconds, self.base = kind, seconds, pathlib.Path(folder).resolve()
        self.guests, self.starts, self.ports, self.rail = {}, {}, {}, {}
        self.folder, self.reaper, self.expired = None, None, False

    # Up and down.
    def __enter__(self):
        try:
            self.up()
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, *_):
        self.down()

    def up(self):
        with os_image.exclusive(self.base / 'os'):
            self.image = os_image.build(self.kind, self.base)
            self.keys = self.image.keys
            self.folder = self.make_folder()
            if not all((self.image.folder / name).exists() for name in SAVED):
                self.boot_and_save()
        self.reaper = threading.Timer(self.seconds, self.expire)
        self.reaper.daemon = True
        self.reaper.start()
        for node in NODES:
            self.make_disk(self.disk(node), self.image.folder / f'{node}.qcow2', 'qcow2')
        self.start_pair(resume=True)
        self.wait_for_ssh(NODES)

    def make_folder(self):
        """This pair's own, locked for as long as it is used. Those that nobody uses were left by killed processes."""
        for old in (self.base / 'os').glob('run-*'):
            with open(old / 'lock', 'a') as lock, contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(old)
        folder = guardian.make_folder('run-', self.base / 'os')
        self.lock = open(folder / 'lock', 'w')
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        return folder

    def down(self):
        """Ends both guests and forgets their disks. May be called twice."""
        if self.reaper:
            self.reaper.cancel()
        for node in NODES:
            self.disconnect(node)
        self.end_guests()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.lock.close()

    def end_guests(self):
        for guest in self.guests.values():
            guest.end()
        for end in self.rail.values():
            end.close()
        self.guests, self.rail = {}, {}

    def expire(self):
        self.expired = True
        for guest in list(self.guests.values()):
            guest.process.kill()

    def boot_and_save(self):
        """Boots both once and keeps their disks and memory, from which each pair goes on."""
        progress(f'first start of the {self.kind} guests')
        for node in NODES:
            self.make_disk(self.disk(node), self.image.folder / 'root.img', 'raw')
        self.start_pair(resume=False)
        self.wait_for_ssh(NODES, BOOT_SECONDS)
        for node in NODES:
            state = self.wait_settled(node)
            status, said = self.run(node, WHOLE, user='root', timeout=BOOT_SECONDS)
            if state != 'running' or status:
                raise LabError(f'{node} did not start whole ({state}): {said.strip()}; {self.last_words(node)}')
            self.disconnect(node)
        for node, guest in self.guests.items():
            guest.begin_save(self.image.folder / f'{node}.state')
        for guest in self.guests.values():
            guest.wait_migrated(lambda: time.sleep(0.02))
        self.end_guests()
        for node in NODES:
            os.replace(self.disk(node), self.image.folder / f'{node}.qcow2')

    def make_disk(self, disk, base, layout):
        run(['qemu-img', 'create', '-q', '-f', 'qcow2', '-b', str(base), '-F', layout, str(disk)])

    def disk(self, node):
        return self.folder / f'{node}.qcow2'

    # Guests.
    def start_pair(self, resume):
        """Again on other ports when somebody took one in between."""
        for attempt in (1, 2, 3):
            self.ports = dict(zip(NODES, free_ports(len(NODES))))
            self.write_files()
            # Of datagrams: whole frames for a guest that comes back, whatever the one before it was killed in.
            self.rail = dict(zip(NODES, socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)))
            try:
                for node in NODES:
                    self.start(node, resume)
                break
            except GuestError as error:
                self.end_guests()
                if attempt == 3 or 'forwarding' not in str(error):
                    raise
        if resume:
            for guest in self.guests.values():
                guest.wait_migrated(lambda: time.sleep(0.02))
                guest.execute('cont')

    def start(self, node, resume):
        self.starts[node] = self.starts.get(node, 0) + 1
        argv, rail = [*self.image.machine.qemu, *self.arguments(node)], self.rail[node].fileno()
        with contextlib.ExitStack() as stack:
            fds = [rail]
            if resume:
                state = stack.enter_context(open(self.image.folder / f'{node}.state', 'rb'))
                argv += ['-incoming', f'fd:{state.fileno()}']
                fds.append(state.fileno())
            self.guests[node] = Guest(argv, self.image.machine.qemu_env, self.folder / f'{node}.qemu', fds)

    def arguments(self, node):
        number, address = NODES.index(node) + 1, management_address(node)
        # As the smaller guests (supervisor.py), and with a disk. No -no-reboot: these come back.
        return ['-name', node, '-accel', 'tcg,thread=multi', '-cpu', 'max', '-machine', 'q35,usb=off,smbus=off,sata=off', '-m', str(MEMORY_MIB),
                '-smp', '2', '-nodefaults', '-no-user-config', '-display', 'none',
                '-chardev', f'file,id=console,path={self.console(node)},append=on', '-serial', 'chardev:console',
                '-kernel', self.image.machine.kernel, '-initrd', str(self.image.folder / 'initramfs.cpio'),
                '-append', 'console=ttyS0 quiet net.ifnames=0 panic=5 mitigations=off nokaslr no_timer_check audit=0 '
                           f'lab.node={node}',
                '-drive', f'file={self.disk(node)},if=none,id=disk,format=qcow2',
                '-device', 'virtio-blk-pci,drive=disk',
                '-netdev', f'user,id=management,restrict=on,ipv6=off,hostfwd=tcp:127.0.0.1:{self.ports[node]}-{address}:22',
                '-device', f'virtio-net-pci,netdev=management,mac=52:54:00:78:01:0{number},romfile=',
                '-netdev', f'socket,id=rail,fd={self.rail[node].fileno()}',
                '-device', f'virtio-net-pci,netdev=rail,mac=52:54:00:78:00:0{number},host_mtu=9000,romfile=',
                '-device', 'virtio-rng-pci', '-device', 'vmgenid,guid=auto']

    def console(self, node):
        """What the node said on its serial line, of all its starts."""
        return self.folder / f'{node}.console'

    def times_started(self, node):
        try:
            return self.console(node).read_bytes().count(os_image.STARTED.encode())
        except FileNotFoundError:
            return 0

    def wait_until(self, condition, what, seconds):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline or self.expired:
                raise LabError(f'{what}: not within {seconds} s')
            time.sleep(0.1)

    def wait_for_ssh(self, nodes=NODES, seconds=BOOT_SECONDS):
        """Until each answers, with the right host key. Also sets their clocks: a saved one stood still."""
        deadline, probes = time.monotonic() + seconds, {}
        waiting = set(nodes)
        try:
            while waiting:
                time.sleep(0.1)
                for node in list(waiting):
                    if node not in probes:
                        if self.greets(node):
                            probes[node] = self.set_clock(node)
                    elif probes[node].poll() is not None:
                        probe = probes.pop(node)
                        why = probe.communicate()[1].strip()
                        if probe.returncode == 0:
                            waiting.remove(node)
                        elif 'Host key verification' in why:
                            raise LabError(f'{node} does not come up: {why}')
                    if self.guests[node].process.poll() is not None:
                        raise LabError(f'{node} ended; {self.last_words(node)}')
                if waiting and time.monotonic() > deadline:
                    node = min(waiting)
                    raise LabError(f'{node}: no answer by ssh within {seconds} s; {self.last_words(node)}')
        finally:
            for probe in probes.values():
                probe.kill()
                probe.communicate()

    def greets(self, node):
        """Whether a server answers behind the port: QEMU takes connections before there is one."""
        try:
            with socket.create_connection(('127.0.0.1', self.ports[node]), 1) as connection:
                connection.settimeout(2)
                return connection.recv(4) == b'SSH-'
        except OSError:
            return False

    def set_clock(self, node):
        argv = ['ssh', '-F', str(self.ssh_config), '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=10', f'root@{node}',
                f'date -u -s @{time.time() + 1:.0f} >/dev/null']
        return subprocess.Popen(argv, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)

    def last_words(self, node):
        try:
            return 'its console: ' + self.console(node).read_text(errors='replace').strip()[-500:]
        except FileNotFoundError:
            return 'its console is empty'

    def wait_settled(self, node, seconds=BOOT_SECONDS):
        """Until systemd has no more to start; answers what it says then, as in `running`."""
        return self.run(node, 'systemctl is-system-running --wait', user='root', timeout=seconds)[1].strip()

    # What may happen to a node.
    def reboot(self, node, seconds=BOOT_SECONDS):
        """An orderly one, until the node answers and has started all. Answers systemd's state."""
        before = self.times_started(node)
        self.run(node, 'systemctl --no-block reboot', user='root')
        self.wait_until(lambda: self.times_started(node) > before, f'reboot of {node}', seconds)
        return self.come_back(node, seconds)

    def come_back(self, node, seconds=BOOT_SECONDS):
        """Waits for a node that starts."""
        self.disconnect(node)
        self.starts[node] += 1
        self.wait_for_ssh([node], seconds)
        return self.wait_settled(node)

    def power_cut(self, node):
        """kill -9 of its QEMU: what the guest had not flushed is lost. (What it had, the host's page cache keeps.)"""
        self.guests[node].process.kill()
        self.guests[node].process.wait(30)
        self.guests[node].qmp.close()
        self.disconnect(node)

    def power_on(self, node, seconds=BOOT_SECONDS):
        self.start(node, resume=False)
        return self.come_back(node, seconds)

    def fill_disk(self, node):
        """Not a byte is left, for root neither. `empty_disk` mends it. What others had written and not yet synced, or removed, is
        given back a little later: it is filled three times."""
        fill = f'cat /dev/zero >>{FULL}.rest; sync'
        self.run(node, f'fallocate -l $(($(stat -f -c "%a * %S" /))) {FULL}; {fill}; sleep 1; {fill}; sleep 1; {fill}', user='root')

    def empty_disk(self, node):
        self.run(node, f'rm -f {FULL} {FULL}.rest; sync', user='root')

    def cut_rail(self, nodes=NODES):
        """No carrier on the rail's ports of these nodes."""
        self.set_link('rail', nodes, False)

    def mend_rail(self, nodes=NODES):
        self.set_link('rail', nodes, True)

    def cut_management(self, node):
        """No carrier on eth0: connections by ssh hang. Call `disconnect` before the next `run`, to be told soon."""
        self.set_link('management', [node], False)

    def mend_management(self, node):
        self.set_link('management', [node], True)

    def set_link(self, port, nodes, up):
        for node in nodes:
            self.guests[node].execute('set_link', name=port, up=up)

    # Reaching the nodes.
    def run(self, node, command, user='operator', timeout=120):
        """A shell line on a node: (exit status, what it wrote). 255: no connection, or it broke. 124: out of time."""
        argv = ['ssh', '-F', str(self.ssh_config), '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=20',
                '-o', 'ServerAliveInterval=5', *self.shared(node, user), f'{user}@{node}', command]
        try:
            done = subprocess.run(argv, text=True, errors='replace', stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=timeout)
        except subprocess.TimeoutExpired:
            return 124, f'{command}: no end within {timeout} s'
        return done.returncode, done.stdout

    def shared(self, node, user):
        """A handshake takes an emulated processor seconds: one connection serves all commands until the node's next start."""
        path = self.folder / f'{user}-{node}-{self.starts[node]}'
        if len(str(path)) > 90:  # sockaddr_un takes 108, and ssh makes a longer name first
            return []
        return ['-o', 'ControlMaster=auto', '-o', f'ControlPath={path}', '-o', 'ControlPersist=60']

    def disconnect(self, node):
        for path in self.folder.glob(f'*-{node}-*') if self.folder else []:
            subprocess.run(['ssh', '-F', str(self.ssh_config), '-o', f'ControlPath={path}', '-O', 'exit', node], timeout=10,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            path.unlink(missing_ok=True)

    def railbed(self, *words, timeout=300, **options):
        """railbed on this machine, as subprocess.run. What it keeps for itself is the pair's own."""
        environment = {**os.environ, 'XDG_STATE_HOME': str(self.folder / 'state'), **options.pop('env', {})}
        return subprocess.run([RAILBED, *map(str, words)], text=True, stdin=options.pop('stdin', subprocess.DEVNULL),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, env=environment, **options)

    # Files for ssh and for railbed.
    @property
    def ssh_config(self):
        return self.folder / 'ssh_config'

    @property
    def cluster(self):
        return self.folder / 'cluster.yaml'

    @property
    def keeper_password(self):
        """What `keeper` gives sudo; `operator` needs none."""
        return self.image.password

    def write_files(self):
        text = ''
        for node in NODES:
            text += (f'Host {node}\n  HostName 127.0.0.1\n  Port {self.ports[node]}\n  User operator\n'
                     f'  IdentityFile "{self.keys}/login"\n  IdentitiesOnly yes\n'
                     f'  HostKeyAlias {node}\n  UserKnownHostsFile "{self.keys}/known_hosts"\n'
                     f'  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n'
                     '  KexAlgorithms curve25519-sha256\n')  # the default takes an emulated processor twice as long
        self.ssh_config.write_text(text)
        self.cluster.write_text(CLUSTER.format(kind=self.kind, ssh_config=json.dumps(str(self.ssh_config))))
