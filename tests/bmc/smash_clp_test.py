#!/usr/bin/env python3
"""railbed power, sensors and bmc by SMASH CLP, through real sshds on addresses of a loopback of the test's own. Exits 77
where there can be none."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import bmc_lab

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ['RAILBED']
INSIDE = 'RAILBED_SMASH_LAB_INSIDE'
SSHD = '/usr/sbin/sshd'
PASSWORD = 's3cret-of-BMCs'
HERE = pathlib.Path(__file__).resolve().parent
OLD = """KexAlgorithms diffie-hellman-group14-sha1
HostKeyAlgorithms ssh-rsa
Ciphers aes128-cbc
MACs hmac-sha1
"""
CONFIG = """Port 22
ListenAddress {address}
HostKey {folder}/host_key
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication yes
KbdInteractiveAuthentication {keyboard}
PrintMotd no
PrintLastLog no
LogLevel VERBOSE
Banner {folder}/banner
ForceCommand {python} {program} {dialect} {folder}
"""
# Where there is PAM, sshd asks by "keyboard-interactive", and again by "password".
PAM = pathlib.Path('/etc/pam.d/sshd')
PAM_RULES = """auth required pam_unix.so
account required pam_permit.so
session required pam_permit.so
"""
# Asks twice, as ssh does where a second way to log in is left, and keeps what it is told.
SSH_THAT_ASKS_TWICE = """#!{python}
import os, select, sys
if '-Q' in sys.argv:
    os.execv('{ssh}', sys.argv)
terminal = os.open('/dev/tty', os.O_RDWR)
with open('{heard}', 'wb') as heard:
    for question in (b'(admin@bmc) Password: ', b"admin@bmc's password: "):
        os.write(terminal, question)
        ready, _, _ = select.select([terminal], [], [], 20)
        if ready:
            heard.write(os.read(terminal, 4096))
            heard.flush()
"""


def missing():
    """Why there can be no such lab here, or nothing."""
    if os.geteuid() != 0:
        return 'needs root, for namespaces'
    for program in ('ip', 'unshare', 'mount', 'ssh', 'ssh-keygen', 'openssl', SSHD):
        if not shutil.which(program, path=os.environ['PATH'] + ':/usr/sbin:/sbin'):
            return f'needs {program}'
    tried = subprocess.run(['unshare', '--net', '--mount', 'true'], capture_output=True, text=True)
    return f'cannot make namespaces: {tried.stderr.strip()}' if tried.returncode else None


def enter_namespaces():
    """Runs this very program again with a network and mounts of its own; what sshd logs goes nowhere else."""
    if not os.environ.get(INSIDE):
        os.environ[INSIDE] = '1'
        os.execvp('unshare', ['unshare', '--net', '--mount', sys.executable, *sys.argv])
    for words in (['ip', 'link', 'set', 'lo', 'up'], ['mount', '-t', 'tmpfs', 'tmpfs', '/var/log'],
                  ['mount', '-t', 'tmpfs', 'tmpfs', '/run']):
        subprocess.run(words, check=True)
    pathlib.Path('/run/sshd').mkdir(mode=0o755)


def add_users(folder):
    """A user `admin` with a password, who may read whatever runs this test, and a home for root: in files that only this
    namespace sees."""
    hashed = subprocess.run(['openssl', 'passwd', '-6', '-stdin'], input=PASSWORD, capture_output=True, text=True, check=True)
    users = [line for line in pathlib.Path('/etc/passwd').read_text().splitlines() if not re.match('(root|admin):', line)]
    users += [f'root:x:0:0:root:{folder}/home:/bin/sh', f'admin:x:0:0::{folder}:/bin/sh']
    secrets = [line for line in pathlib.Path('/etc/shadow').read_text().splitlines() if not line.startswith('admin:')]
    secrets += [f'admin:{hashed.stdout.strip()}:19000:0:99999:7:::']
    for name, lines, mode in (('passwd', users, 0o644), ('shadow', secrets, 0o600)):
        (folder / name).write_text('\n'.join(lines) + '\n')
        (folder / name).chmod(mode)
        subprocess.run(['mount', '--bind', folder / name, f'/etc/{name}'], check=True)
    if PAM.exists():
        (folder / 'pam').write_text(PAM_RULES)
        subprocess.run(['mount', '--bind', folder / 'pam', PAM], check=True)


class SmashBmc:
    """An sshd whose only program is the dialect's prompt."""

    def __init__(self, lab, number, dialect, more='', keyboard='no', key='ed25519'):
        self.folder = lab / f'bmc{number}'
        self.folder.mkdir()
        self.folder.chmod(0o777)
        self.address = f'127.0.9.{number}'
        (self.folder / 'power').write_text('1\n')
        (self.folder / 'power').chmod(0o666)
        (self.folder / 'banner').write_text(f"REMOTE HOST IDENTIFICATION HAS CHANGED\nadmin@{self.address}'s password: ")
        subprocess.run(['ssh-keygen', '-q', '-t', key, '-N', '', '-f', self.folder / 'host_key'], check=True)
        (self.folder / 'sshd_config').write_text(more + CONFIG.format(
            address=self.address, folder=self.folder, python=sys.executable, program=lab / 'smash_bmc.py', dialect=dialect,
            keyboard=keyboard))
        self.log = self.folder / 'sshd.log'
        with self.log.open('wb') as log:
            self.process = subprocess.Popen([SSHD, '-D', '-e', '-f', self.folder / 'sshd_config'], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)

    def wait_until_up(self):
        for _ in range(400):
            with contextlib.suppress(OSError), socket.create_connection((self.address, 22), 1):
                return
            time.sleep(0.05)
        raise RuntimeError(f'no sshd at {self.address}: {self.log.read_text()}')

    def known(self):
        kind, key = (self.folder / 'host_key.pub').read_text().split()[:2]
        return f'{self.address} {kind} {key}\n'

    def on(self):
        return (self.folder / 'power').read_text().strip() == '1'

    def heard(self):
        path = self.folder / 'heard'
        return path.read_text().splitlines() if path.exists() else []

    @contextlib.contextmanager
    def trouble(self, words):
        (self.folder / 'trouble').write_text(words)
        try:
            yield
        finally:
            (self.folder / 'trouble').unlink()

    def stop(self):
        self.process.terminate()
        self.process.wait()


class SmashClp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = guardian.make_folder('railbed-smash-', '/var/tmp')
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.folder.chmod(0o755)
        shutil.copy(HERE / 'smash_bmc.py', cls.folder)
        (cls.folder / 'home/.ssh').mkdir(parents=True, mode=0o700)
        add_users(cls.folder)
        cls.aten = SmashBmc(cls.folder, 1, 'aten')
        cls.dell = SmashBmc(cls.folder, 2, 'dell', keyboard='yes')
        cls.ilo = SmashBmc(cls.folder, 3, 'ilo')
        cls.old = SmashBmc(cls.folder, 4, 'aten', more=OLD, key='rsa')
        cls.racadm = SmashBmc(cls.folder, 5, 'racadm')
        cls.bmcs = [cls.aten, cls.dell, cls.ilo, cls.old, cls.racadm]
        if PAM.exists():
            cls.keyboard = SmashBmc(cls.folder, 6, 'aten', more='UsePAM yes\n', keyboard='yes')
            cls.bmcs.append(cls.keyboard)
        for bmc in cls.bmcs:
            cls.addClassCleanup(bmc.stop)
            bmc.wait_until_up()
        cls.known_hosts = cls.folder / 'home/.ssh/known_hosts'
        cls.cluster = cls.folder / 'cluster.yaml'
        cls.passwords = cls.folder / 'bmc.passwords'

    def setUp(self):
        self.known_hosts.write_text(''.join(bmc.known() for bmc in self.bmcs))
        self.write({'aten': self.aten.address})
        for bmc in self.bmcs:
            (bmc.folder / 'power').write_text('1\n')
            (bmc.folder / 'heard').unlink(missing_ok=True)

    def write(self, nodes, password=PASSWORD):
        text = 'railbed: 1\ncluster: pod\nbmc: {protocol: smash, password_file: bmc.passwords}\nnodes:\n'
        self.cluster.write_text(text + ''.join(f'  - {{name: {name}, bmc: {bmc}}}\n' for name, bmc in nodes.items()))
        self.passwords.write_text(''.join(f'{name} admin {password}\n' for name in nodes))
        self.passwords.chmod(0o600)

    def railbed(self, *words, status=0, timeout='15', environment=None):
        done = subprocess.run([RAILBED, *map(str, words), '--timeout', timeout], capture_output=True, text=True, timeout=180,
                              stdin=subprocess.DEVNULL, env={**os.environ, 'HOME': str(self.folder / 'home'), 'NO_COLOR': '1',
                                                             **(environment or {})})
        self.assertEqual(done.returncode, status, f'{words}: {done.stdout}{done.stderr}')
        self.assertNotIn(PASSWORD, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def ssh_left(self):
        """Command lines of ssh's clients in this network."""
        ours = os.stat('/proc/self/ns/net').st_ino
        for path in pathlib.Path('/proc').glob('[0-9]*'):
            with contextlib.suppress(OSError):
                words = (path / 'cmdline').read_bytes().split(b'\0')
                if os.path.basename(words[0]) == b'ssh' and os.stat(path / 'ns/net').st_ino == ours:
                    yield words

    def test_power_of_every_dialect(self):
        for name, bmc in (('aten', self.aten), ('dell', self.dell), ('ilo', self.ilo)):
            with self.subTest(name):
                self.write({name: bmc.address})
                self.assertIn(f'{name}  on\n', self.railbed('power', 'status', self.cluster))
                self.assertIn('the BMC took it', self.railbed('power', 'off', self.cluster, name))
                self.assertFalse(bmc.on())
                self.assertIn(f'{name}  off\n', self.railbed('power', 'status', self.cluster))
                self.railbed('power', 'on', self.cluster, name, '--wait', '20')
                self.assertTrue(bmc.on())
                self.railbed('power', 'reset', self.cluster, name)
                self.assertTrue(any(line.startswith('reset ') for line in bmc.heard()))

    def test_off_is_by_force_where_the_bmc_knows_that(self):
        self.write({'aten': self.aten.address, 'dell': self.dell.address})
        self.railbed('power', 'off', self.cluster, '--yes')
        stops = [[line for line in bmc.heard() if line.startswith('stop')] for bmc in (self.aten, self.dell)]
        self.assertEqual(stops, [['stop -force /system1/pwrmgtsvc1'], ['stop -force /admin1/system1', 'stop /admin1/system1']])

    def test_what_it_cannot_is_said(self):
        for words in (('power', 'soft', self.cluster, 'aten'), ('power', 'cycle', self.cluster, 'aten'),
                      ('boot', 'pxe', self.cluster, 'aten'), ('sel', self.cluster, 'aten')):
            with self.subTest(words[:2]):
                text = self.railbed(*words, status=3)
                self.assertIn('SMASH CLP', text)
        self.assertEqual([line for line in self.aten.heard() if line.startswith(('start', 'stop', 'reset'))], [])

    def test_sensors_by_one_login(self):
        logins = self.aten.log.read_text().count('Accepted password')
        text = self.railbed('sensors', self.cluster, 'aten', status=2)
        self.assertRegex(text, r'FAN1 +.*0 RPM')
        self.assertRegex(text, r'CPU1 Temp +.*55 C')
        self.assertRegex(text, r'12V +.*12\.12 V')
        self.assertEqual(self.aten.log.read_text().count('Accepted password'), logins + 1)
        self.write({'dell': self.dell.address})
        self.assertRegex(self.railbed('sensors', self.cluster, 'dell'), r'System Board Inlet Temp +.*23 C')
        self.write({'ilo': self.ilo.address})
        text = self.railbed('sensors', self.cluster, 'ilo', status=2)
        self.assertRegex(text, r'01-Inlet Ambient +.*19 C')
        self.assertRegex(text, r'Fan 1 +.*25 %')
        self.assertIn('Failed', text)

    def test_firmware(self):
        self.write({'ilo': self.ilo.address})
        self.assertIn('iLO 4, firmware 2.82', self.railbed('bmc', 'show', self.cluster, 'ilo'))

    def test_the_session_is_left_in_order(self):
        self.railbed('power', 'status', self.cluster)
        self.assertEqual(self.aten.heard()[-1], 'exit')

    def test_a_wrong_password_is_tried_once(self):
        for name, bmc in (('aten', self.aten), ('dell', self.dell)):
            with self.subTest(name):
                before = bmc.log.read_text().count('Failed password')
                self.write({name: bmc.address}, password='not-it-' + 'x')
                self.assertIn('its BMC refuses user or password', self.railbed('power', 'status', self.cluster, status=3))
                self.assertEqual(bmc.log.read_text().count('Failed password'), before + 1)
                self.assertEqual(bmc.heard(), [])

    @unittest.skipUnless(PAM.exists(), 'no PAM here')
    def test_keyboard_interactive(self):
        self.write({'keyboard': self.keyboard.address})
        self.assertIn('keyboard  on', self.railbed('power', 'status', self.cluster))
        self.assertIn('Accepted keyboard-interactive', self.keyboard.log.read_text())
        self.write({'keyboard': self.keyboard.address}, password='not-it-either')
        self.assertIn('its BMC refuses user or password', self.railbed('power', 'status', self.cluster, status=3))
        log = self.keyboard.log.read_text()
        self.assertEqual((log.count('Authentication failure for admin'), log.count('Failed password')), (1, 0), log)

    def test_a_second_question_gets_nothing(self):
        bin_folder = self.folder / 'twice'
        bin_folder.mkdir()
        heard = bin_folder / 'heard'
        program = bin_folder / 'ssh'
        program.write_text(SSH_THAT_ASKS_TWICE.format(python=sys.executable, ssh=shutil.which('ssh'), heard=heard))
        program.chmod(0o755)
        text = self.railbed('power', 'status', self.cluster, status=3,
                            environment={'PATH': f'{bin_folder}:{os.environ["PATH"]}'})
        self.assertIn('its BMC refuses user or password', text)
        self.assertEqual(heard.read_bytes(), PASSWORD.encode() + b'\n')

    def test_a_question_of_the_bmc_is_no_question_of_ssh(self):
        with self.aten.trouble('phish'):
            self.railbed('power', 'status', self.cluster, status=3, timeout='5')
        self.assertNotIn(PASSWORD, ''.join(self.aten.heard()))

    def test_nothing_shows_the_password(self):
        with bmc_lab.watched_processes() as seen:
            self.railbed('sensors', self.cluster, 'aten', status=2)
            self.railbed('power', 'off', self.cluster, 'aten')
        self.assertTrue(any(b'NumberOfPasswordPrompts' in text for text in seen))
        self.assertFalse(any(PASSWORD.encode() in text for text in seen))

    def test_nothing_is_written_to_the_users_ssh_folder(self):
        def look():
            return sorted((path.name, path.stat().st_mtime_ns, path.read_bytes()) for path in self.known_hosts.parent.iterdir())
        before = look()
        self.railbed('power', 'status', self.cluster)
        self.assertEqual(look(), before)

    def test_the_users_own_options_do_not_count(self):
        config = self.known_hosts.parent / 'config'
        config.write_text('Host *\n  StrictHostKeyChecking no\n  ProxyCommand touch ' + str(self.folder / 'ran') + '\n')
        self.addCleanup(config.unlink)
        asked = self.folder / 'asked'
        program = self.folder / 'askpass'
        program.write_text(f'#!/bin/sh\ntouch {asked}\necho wrong\n')
        program.chmod(0o755)
        self.railbed('power', 'status', self.cluster, environment={
            'SSH_ASKPASS': str(program), 'SSH_ASKPASS_REQUIRE': 'force', 'DISPLAY': ':0'})
        self.assertFalse((self.folder / 'ran').exists() or asked.exists())

    def test_an_unknown_host_key_gets_no_password(self):
        self.known_hosts.write_text('')
        text = self.railbed('power', 'status', self.cluster, status=3)
        self.assertIn('known_hosts has no host key of its BMC: log in once with `ssh ', text)
        self.assertIn(f'admin@{self.aten.address}`', text)
        self.assertEqual(self.known_hosts.read_text(), '')
        self.assertEqual(self.aten.heard(), [])

    def test_a_changed_host_key_gets_no_password(self):
        before = self.aten.log.read_text().count('password')
        self.known_hosts.write_text(self.dell.known().replace(self.dell.address, self.aten.address))
        self.assertIn('is not the one that known_hosts has', self.railbed('power', 'status', self.cluster, status=3))
        self.assertEqual(self.aten.log.read_text().count('password'), before)

    def test_an_old_one_needs_old_algorithms(self):
        plain = subprocess.run(['ssh', '-F', '/dev/null', '-oBatchMode=yes', f'admin@{self.old.address}', 'true'],
                               capture_output=True, text=True)
        self.assertIn('Unable to negotiate', plain.stderr)
        self.write({'old': self.old.address})
        self.assertIn('old  on\n', self.railbed('power', 'status', self.cluster))

    def test_algorithms_that_ssh_forgot_break_nothing(self):
        bin_folder = self.folder / 'young'
        bin_folder.mkdir()
        ssh = shutil.which('ssh')
        (bin_folder / 'ssh').write_text(f'#!/bin/sh\ncase "$*" in "-Q key") echo ssh-ed25519; exit;; "-Q mac") exit 255;; '
                                        f'*ssh-dss*) exit 1;; esac\nexec {ssh} "$@"\n')
        (bin_folder / 'ssh').chmod(0o755)
        self.railbed('power', 'status', self.cluster, environment={'PATH': f'{bin_folder}:{os.environ["PATH"]}'})

    def test_one_that_is_no_smash_clp_is_named(self):
        self.write({'new': self.racadm.address})
        text = self.railbed('power', 'status', self.cluster, status=3, timeout='5')
        self.assertIn('its BMC greets with "racadm>>", which is no SMASH CLP', text)

    def within(self, seconds, *words):
        begin = time.monotonic()
        text = self.railbed(*words, status=3, timeout='5')
        self.assertLess(time.monotonic() - begin, seconds)
        return text

    def test_dead_deaf_and_closed(self):
        subprocess.run(['ip', 'link', 'add', 'void', 'type', 'veth', 'peer', 'name', 'nobody'], check=True)
        for words in ('addr add 10.99.0.1/24 dev void', 'link set nobody up', 'link set void up',
                      'neigh add 10.99.0.2 lladdr 02:00:00:00:00:02 dev void'):
            subprocess.run(['ip', *words.split()], check=True)
        deaf = socket.create_server(('127.0.9.100', 22))
        self.addCleanup(deaf.close)
        self.write({'dead': '10.99.0.2'})
        self.assertIn('its BMC does not answer', self.within(45, 'power', 'status', self.cluster))
        self.write({'deaf': '127.0.9.100'})
        self.assertIn('its BMC does not answer', self.within(45, 'power', 'status', self.cluster))
        self.write({'closed': '127.0.9.101'})
        self.assertIn('its BMC has no ssh', self.within(45, 'power', 'status', self.cluster))

    def test_one_that_hangs_in_the_middle(self):
        with self.aten.trouble('hang /system1'):
            self.assertIn('its BMC stopped answering', self.within(45, 'power', 'status', self.cluster))
        with self.aten.trouble('hang /system1/sensors1/sensor2'):
            self.assertIn('its BMC stopped answering', self.within(45, 'sensors', self.cluster, 'aten'))
        with self.aten.trouble('hang /system1/pwrmgtsvc1'):
            self.within(45, 'power', 'off', self.cluster, 'aten')

    def test_one_that_prints_without_end(self):
        with self.aten.trouble('endless'):
            self.assertIn('its BMC prints without end', self.within(45, 'power', 'status', self.cluster))

    def test_an_interrupt_leaves_nothing(self):
        with self.aten.trouble('hang login'):
            running = subprocess.Popen([RAILBED, 'power', 'status', str(self.cluster), '--timeout', '60'], text=True,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                       env={**os.environ, 'HOME': str(self.folder / 'home')})
            self.addCleanup(running.kill)
            until = time.monotonic() + 30
            while not list(self.ssh_left()) and time.monotonic() < until:
                time.sleep(0.05)
            running.send_signal(signal.SIGINT)
            self.assertEqual(running.wait(timeout=20), 3)
        self.assertEqual(list(self.ssh_left()), [])


if __name__ == '__main__':
    why = missing()
    if why:
        print(why)
        sys.exit(77)
    enter_namespaces()
    guardian.begin()
    unittest.main()
