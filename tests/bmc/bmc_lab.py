"""BMCs to speak IPMI with, on one machine: OpenIPMI's simulator, a process each, on addresses of the loopback.

    with BmcLab(4) as lab:
        lab.bmcs[0].address, lab.bmcs[0].user, lab.bmcs[0].password
        lab.bmcs[0].say("sensor_set_value 0x20 0 1 90 1")   # its processor gets hot

Port 623 and the addresses belong to a network namespace of the test's own: enter_namespace() runs it there.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

NEEDED = ('ipmi_sim', 'ipmipower', 'ipmi-sensors', 'ipmitool', 'ip', 'unshare')
INSIDE = 'RAILBED_BMC_LAB_INSIDE'


def missing():
    """Why there can be no such lab here, or nothing."""
    if os.geteuid() != 0:
        return 'needs root, for a network namespace'
    path = os.environ['PATH'] + ':/usr/sbin:/sbin'
    for program in NEEDED:
        if not shutil.which(program, path=path):
            return f'needs {program}'
    return None


def enter_namespace():
    """Runs this very program again in a network namespace that has a loopback and nothing else."""
    if os.environ.get(INSIDE):
        subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
        return
    os.environ[INSIDE] = '1'
    os.execvp('unshare', ['unshare', '--net', sys.executable, *sys.argv])


@contextlib.contextmanager
def watched_processes():
    """Gathers every command line and environment of every process here, while the block runs."""
    stop, seen = threading.Event(), set()

    def watch():
        while not stop.is_set():
            for process in pathlib.Path('/proc').glob('[0-9]*'):
                for name in ('cmdline', 'environ'):
                    with contextlib.suppress(OSError):
                        seen.add((process / name).read_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        stop.set()
        watcher.join()


# What each board measures: number, type, unit, name, multiplier, raw value, upper thresholds (non-critical, critical,
# non-recoverable) as raw values. A reading is multiplier × raw.
ANALOG = [(1, 0x01, 1, 'CPU1 Temp', 1, 55, (80, 85, 95)),
          (2, 0x01, 1, 'GPU0 Temp', 1, 62, (85, 90, 95)),
          (3, 0x01, 1, 'Inlet Temp', 1, 24, (40, 45, 50)),
          (4, 0x04, 18, 'FAN1', 75, 120, (240, 250, 255))]
# Of discrete sensors: number, type, name, instance of its entity.
DISCRETE = [(0x20, 0x08, 'PSU1', 1), (0x21, 0x08, 'PSU2', 2)]


def record(number, kind, body):
    """A line that adds a sensor data record (IPMI 2.0, 43)."""
    return f'main_sdr_add 0x20 {number:#x} 0 0x51 {kind:#x} {len(body):#x} ' + ' '.join(f'{byte:#x}' for byte in body)


def name_of(text):
    return [0xc0 | len(text), *text.encode()]


def full_record(number, kind, unit, name, multiplier):
    """43.1: a sensor with thresholds, whose readings are multiplier × raw."""
    return [0x20, 0, number, 3, number, 0x7f, 0x68, kind, 0x01, 0x80, 0x0a, 0x80, 0x7a, 0x38, 0x38, 0x00, unit, 0, 0,
            multiplier & 0xff, (multiplier >> 2) & 0xc0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0xff, 0, 0xff, 0xfa, 0xf0, 0, 0, 0,
            2, 2, 0, 0, 0, *name_of(name)]


def compact_record(number, kind, name, instance):
    """43.2: a sensor with states."""
    return [0x20, 0, number, 10, instance, 0x63, 0x40, kind, 0x6f, 0xff, 0, 0xff, 0, 0xff, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, *name_of(name)]


def emulation():
    """What the simulator reads of a board."""
    text = ['mc_setbmc 0x20', 'mc_add 0x20 0x20 no-device-sdrs 0x01 0x03 0x15 0x9f 0x002a7c 0x0100',
            'sel_enable 0x20 1000 0x0a']
    number = 0
    for sensor, kind, unit, name, multiplier, value, (warn, critical, last) in ANALOG:
        number += 1
        bits = '000111111000000'
        text += [record(number, 0x01, full_record(sensor, kind, unit, name, multiplier)),
                 f'sensor_add 0x20 0 {sensor} {kind:#x} 0x01',
                 f'sensor_set_value 0x20 0 {sensor} {value} 0',
                 f'sensor_set_threshold 0x20 0 {sensor} settable 111000 {last} {critical} {warn} 0 0 0',
                 f'sensor_set_event_support 0x20 0 {sensor} enable scanning per-state {bits} {bits} {bits} {bits}']
    for sensor, kind, name, instance in DISCRETE:
        number += 1
        text += [record(number, 0x02, compact_record(sensor, kind, name, instance)),
                 f'sensor_add 0x20 0 {sensor:#x} {kind:#x} 0x6f',
                 f'sensor_set_bit 0x20 0 {sensor:#x} 0 1 0']
    return '\n'.join([*text, 'mc_enable 0x20', ''])


# The simulator asks this what the board's power does: CHASSIS MC get|set|check WORD [VALUE]...
CHASSIS = """#!/bin/sh
cd "$(dirname "$0")" || exit 1
echo "$*" >> chassis.log
shift; what=$1; shift
while [ -n "$1" ]; do
  case $what in
    get) case $1 in
        power) echo "power:$(cat power)" ;;
        boot) echo "boot:$(cat boot)" ;;
        *) exit 1 ;;
      esac; shift ;;
    set) case $1 in
        power) echo "$2" > power ;;
        boot) echo "$2" > boot ;;
        shutdown) [ -e deaf ] || echo 0 > power ;;
        reset | identify) ;;
        *) exit 1 ;;
      esac; shift 2 ;;
    *) shift ;;
  esac
done
"""

LAN = """name "bmc{number}"
set_working_mc 0x20
  startlan 1
    addr {address} 623
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa1234567{number:08x}
  endlan
  chassis_control "{folder}/chassis 0x20"
  sol "tcp:127.0.0.1:{console}" 115200 history=4000
  user 2 true "{user}" "{password}" admin 10 none md2 md5 straight
"""


class Console(threading.Thread):
    """What stands behind a board's serial port: says what it is told to, and answers each line."""

    def __init__(self):
        super().__init__(daemon=True)
        self.server = socket.create_server(('127.0.0.1', 0))
        self.port = self.server.getsockname()[1]
        self.line = None
        self.heard = b''
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                self.line, _ = self.server.accept()
                threading.Thread(target=self.serve, args=(self.line,), daemon=True).start()

    def serve(self, line):
        with contextlib.suppress(OSError):
            while piece := line.recv(256):
                self.heard += piece
                if b'\r' in piece or b'\n' in piece:
                    line.sendall(b'\r\nlogin: ')

    def say(self, text):
        self.line.sendall(text)

    def close(self):
        # First the thread's end: accept() that begins after close() would take the next socket of that number for its own.
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.join()
        self.server.close()
        if self.line:
            self.line.close()


class SimulatedBmc:
    def __init__(self, folder, number, user='admin', password=None):
        self.folder = folder / f'bmc{number}'
        self.folder.mkdir()
        self.address = f'127.0.{1 + number // 250}.{1 + number % 250}'
        self.user = user
        self.password = password or f's3cret-{number}'
        self.console = Console()
        self.process = None
        (self.folder / 'lan.conf').write_text(LAN.format(
            number=number, address=self.address, folder=self.folder, console=self.console.port, user=user,
            password=self.password))
        (self.folder / 'board.emu').write_text(emulation())
        (self.folder / 'power').write_text('1\n')
        (self.folder / 'boot').write_text('none\n')
        chassis = self.folder / 'chassis'
        chassis.write_text(CHASSIS)
        chassis.chmod(0o755)

    def start(self):
        (self.folder / 'state').mkdir(exist_ok=True)
        with (self.folder / 'out').open('wb') as out:
            self.process = subprocess.Popen(
                ['ipmi_sim', '-c', self.folder / 'lan.conf', '-f', self.folder / 'board.emu', '-s', self.folder / 'state'],
                stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)

    def wait_until_up(self):
        for _ in range(200):
            if self.ipmitool('mc', 'info').returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError(f'the simulator at {self.address} does not answer')

    def say(self, command):
        """To the simulator itself, as its own console takes it."""
        self.process.stdin.write(command.encode() + b'\n')
        self.process.stdin.flush()
        time.sleep(0.2)

    def ipmitool(self, *words):
        environment = {**os.environ, 'IPMI_PASSWORD': self.password}
        return subprocess.run(['ipmitool', '-I', 'lanplus', '-C', '3', '-N', '1', '-R', '1', '-H', self.address, '-U', self.user,
                               '-E', *words], env=environment, capture_output=True, text=True, timeout=60)

    def power(self):
        return (self.folder / 'power').read_text().strip() == '1'

    def boot(self):
        return (self.folder / 'boot').read_text().strip()

    def stop(self):
        self.console.close()
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process = None


class Relay(threading.Thread):
    """Carries packets between an address of its own and a BMC, and falls silent after so many."""

    def __init__(self, address, bmc, packets):
        super().__init__(daemon=True)
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind((address, 623))
        self.front.settimeout(0.1)
        self.bmc, self.left, self.over = bmc, packets, False
        self.start()

    def run(self):
        back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        back.connect((self.bmc.address, 623))
        back.settimeout(2)
        while not self.over:
            with contextlib.suppress(OSError):
                packet, asker = self.front.recvfrom(2048)
                self.left -= 1
                if self.left >= 0:
                    back.send(packet)
                    self.front.sendto(back.recv(2048), asker)

    def close(self):
        self.over = True
        self.join()
        self.front.close()


class BmcLab:
    def __init__(self, count, **login):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='railbed-bmcs-'))
        self.bmcs = [SimulatedBmc(self.folder, number, **login) for number in range(count)]

    def __enter__(self):
        try:
            for bmc in self.bmcs:
                bmc.start()
            for bmc in self.bmcs:
                bmc.wait_until_up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for bmc in self.bmcs:
            bmc.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
