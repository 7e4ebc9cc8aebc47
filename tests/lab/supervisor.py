"""The process between `up` and the guests, whose parent it is: starts, saves, resumes and ends them."""
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

import guest_image
from guest import Guest, GuestError
from initramfs import NODES
from packages import write_private

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

MEMORY_MIB = 512
READY = 'LAB-READY'  # what lab-boot says on the console when sshd answers


class Supervisor:
    """The process between `up` and the guests."""

    def __init__(self, pair, max_minutes, fresh):
        self.pair, self.fresh = pair, fresh
        self.seconds = 60 * max_minutes
        self.ends_at = time.time() + self.seconds
        self.images = {node: guest_image.load(pair.folder, architecture)
                       for node, architecture in pair.architectures.items()}
        self.guests, self.ports = {}, {}

    def serve(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is `up`'s to handle
        guardian.end_unless_kept(sys.stdin.fileno())
        os.chdir(self.pair.run)
        with open('lock', 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # not LOCK_NB: `locked` holds it for an instant when it looks
            try:
                self.tell('starting')
                self.start()
                deadline = time.monotonic() + self.seconds
                while time.monotonic() < deadline and self.anybody_alive():
                    time.sleep(0.5)
            finally:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                self.end()
                pathlib.Path('state.json').unlink(missing_ok=True)

    def anybody_alive(self):
        return any([guest.process.poll() is None for guest in self.guests.values()])

    def tell(self, phase, **more):
        state = {'phase': phase, 'supervisor': os.getpid(), 'ports': self.ports, 'architecture': self.pair.architectures['vm2'].name, 'ends_at': self.ends_at,
                 'pids': {node: guest.process.pid for node, guest in self.guests.items()}, **more}
        write_private(pathlib.Path('state.json'), json.dumps(state))

    def end(self):
        for guest in self.guests.values():
            guest.end()
        self.guests = {}

    def start(self):
        # A saved state fits one image under one machine description and one QEMU.
        fits = json.dumps([[image.digest, self.arguments(node, 0, 0), qemu_version(image)] for node, image in self.images.items()])
        saved = self.pair.folder / 'saved' / hashlib.sha256(fits.encode()).hexdigest()[:16]
        if self.fresh:
            shutil.rmtree(saved, ignore_errors=True)
        if saved.is_dir():
            try:
                self.resume(saved)
                return self.tell('ready', how='resumed')
            except GuestError as error:
                print(f'cannot resume: {error}', flush=True)
                self.end()
                shutil.rmtree(saved)
        self.boot()
        self.save(saved)
        self.tell('ready', how='booted')

    def arguments(self, node, port, rail_fd):
        number = NODES.index(node) + 1
        image, architecture = self.images[node], self.pair.architectures[node]
        # No romfile: nobody boots from the network, and each ROM costs start-up time. The rail is a connected
        # socket pair: that needs no newer QEMU than 6 (-netdev stream needs 7.2) and carries as much.
        # no_timer_check: on a busy host the kernel's early test of the timer can fail, and it panics
        # (kernel-parameters.txt).
        return ['-name', node, '-accel', 'tcg,thread=multi', *architecture.machine,
                '-m', str(MEMORY_MIB), '-smp', '2', '-nodefaults', '-no-user-config', '-no-reboot',
                '-display', 'none',
                '-serial', f'file:{node}.console', '-kernel', image.kernel, '-initrd', image.initrd,
                '-append', f'console={architecture.console} quiet panic=-1 mitigations=off nokaslr no_timer_check lab.node={node}',
                '-netdev', f'user,id=management,restrict=on,ipv6=off,hostfwd=tcp:127.0.0.1:{port}-:22',
                '-device', f'virtio-net-pci,netdev=management,mac=52:54:00:77:01:0{number},romfile=',
                '-netdev', f'socket,id=rail,fd={rail_fd}',
                '-device', f'virtio-net-pci,netdev=rail,mac=52:54:00:77:00:0{number},host_mtu=9000,romfile=',
                '-device', 'virtio-rng-pci']

    def spawn(self, incoming=None):
        """Both guests, joined by a socket pair. Again on other ports when somebody took one in between."""
        for attempt in (1, 2, 3):
            ends = socket.socketpair()
            self.ports = dict(zip(NODES, free_ports(len(NODES))))
            try:
                for node, end in zip(NODES, ends):
                    argv = [*self.images[node].qemu, *self.arguments(node, self.ports[node], end.fileno())]
                    fds = [end.fileno()]
                    if incoming:
                        state = open(incoming / node, 'rb')
                        argv += ['-incoming', f'fd:{state.fileno()}']
                        fds.append(state.fileno())
                    self.guests[node] = Guest(argv, self.images[node].qemu_env, f'{node}.qemu', fds)
                    if incoming:
                        state.close()
                return
            except GuestError as error:
                self.end()
                if attempt == 3 or 'forwarding' not in str(error):
                    raise
            finally:
                for end in ends:
                    end.close()

    def boot(self):
        for node in NODES:
            pathlib.Path(f'{node}.console').write_text('')
        self.spawn()
        self.tell('boot')
        waiting = list(NODES)
        while waiting:
            for node in list(waiting):
                said = pathlib.Path(f'{node}.console').read_text(errors='replace')
                if READY in said:
                    waiting.remove(node)
                elif self.guests[node].process.poll() is not None:
                    raise GuestError(f'{node} ended while booting. Its console:\n{said.strip()[-500:]}')
            time.sleep(0.05)

    def save(self, saved):
        """So that the next `up` takes a second. A pair that cannot be saved is still a pair."""
        self.tell('save state for the next time')
        scratch = saved.with_suffix('.new')
        shutil.rmtree(saved.parent, ignore_errors=True)  # states of older images
        scratch.mkdir(parents=True, mode=0o700)
        try:
            for node, guest in self.guests.items():
                guest.begin_save(scratch / node)
            for guest in self.guests.values():
                guest.wait_migrated(lambda: time.sleep(0.02))
            os.replace(scratch, saved)
        except GuestError as error:
            print(f'not saved: {error}', flush=True)
            shutil.rmtree(scratch)
        for guest in self.guests.values():
            guest.execute('cont')

    def resume(self, saved):
        self.spawn(incoming=saved)
        self.tell('resume')
        for guest in self.guests.values():
            guest.wait_migrated(lambda: time.sleep(0.02))
        for guest in self.guests.values():
            guest.execute('cont')


def qemu_version(image):
    return subprocess.run([*image.qemu, '--version'], env={**os.environ, **image.qemu_env},
                          stdout=subprocess.PIPE, text=True).stdout


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(('127.0.0.1', 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
