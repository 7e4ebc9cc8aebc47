#!/usr/bin/env python3
"""railbed power, boot, sensors, sel, identify and bmc at simulated BMCs, among them dead ones and one with another
password. Exits 77 where there can be none."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

import bmc_lab

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ['RAILBED']


class BmcTest(unittest.TestCase):
    COUNT = 3

    @classmethod
    def setUpClass(cls):
        cls.lab = bmc_lab.BmcLab(cls.COUNT)
        cls.lab.__enter__()
        cls.addClassCleanup(cls.lab.__exit__)
        cls.folder = cls.lab.folder
        cls.home = cls.folder / 'home'
        cls.home.mkdir()
        cls.cluster = cls.folder / 'cluster.yaml'
        cls.passwords = cls.folder / 'bmc.passwords'
        nodes = {f'gpu{number:02}': bmc.address for number, bmc in enumerate(cls.lab.bmcs)}
        cls.write(nodes, {f'gpu{number:02}': bmc.password for number, bmc in enumerate(cls.lab.bmcs)})

    @classmethod
    def write(cls, nodes, passwords):
        text = 'railbed: 1\ncluster: pod\nbmc: {password_file: bmc.passwords}\nnodes:\n'
        cls.cluster.write_text(text + ''.join(f'  - {{name: {name}, bmc: {bmc}}}\n' for name, bmc in nodes.items()))
        cls.passwords.write_text(''.join(f'{name} admin {password}\n' for name, password in passwords.items()))
        cls.passwords.chmod(0o600)

    def run_railbed(self, *words, environment=None, timeout=120, **more):
        if '--timeout' not in words and words[0] not in ('verify', 'prove', 'monitor'):
            words = (*words, '--timeout', '15')  # simulators share this machine's processors with whatever else runs
        return subprocess.run([RAILBED, *map(str, words)], capture_output=True, text=True, timeout=timeout,
                              env={**os.environ, 'HOME': str(self.home), 'NO_COLOR': '1', **(environment or {})},
                              stdin=subprocess.DEVNULL, **more)

    def railbed(self, *words, status=0, **more):
        done = self.run_railbed(*words, **more)
        self.assertEqual(done.returncode, status, f'{words}: {done.stdout}{done.stderr}')
        return done.stdout


class OneByOne(BmcTest):
    def test_power(self):
        self.assertEqual(self.railbed('power', 'status', self.cluster), 'gpu[00-02]  on\n')
        self.assertIn('the BMC took it', self.railbed('power', 'off', self.cluster, 'gpu01'))
        self.assertEqual([bmc.power() for bmc in self.lab.bmcs], [True, False, True])
        self.assertEqual(self.railbed('power', 'status', self.cluster), 'gpu[00,02]  on\ngpu01       off\n')
        self.railbed('power', 'on', self.cluster, 'gpu01', '--wait', '20')
        self.assertTrue(self.lab.bmcs[1].power())
        for action in ('cycle', 'reset', 'soft'):
            self.railbed('power', action, self.cluster, 'gpu02')
        self.assertFalse(self.lab.bmcs[2].power())
        self.railbed('power', 'on', self.cluster, 'gpu02')

    def test_a_node_that_does_not_shut_down_is_named(self):
        deaf = self.lab.bmcs[0].folder / 'deaf'
        deaf.touch()
        self.addCleanup(deaf.unlink)
        done = self.run_railbed('power', 'soft', self.cluster, 'gpu00', '--wait', '2')
        self.assertEqual(done.returncode, 2)
        self.assertIn('gpu00: after 2 s its power is on', done.stderr)

    def test_more_than_one_node_is_asked_for(self):
        done = self.run_railbed('power', 'off', self.cluster)
        self.assertEqual(done.returncode, 64)
        self.assertIn('--yes', done.stderr)
        self.assertTrue(all(bmc.power() for bmc in self.lab.bmcs))
        self.railbed('power', 'off', self.cluster, '--yes')
        self.assertFalse(any(bmc.power() for bmc in self.lab.bmcs))
        self.railbed('power', 'on', self.cluster)

    def test_boot(self):
        self.assertIn('boots from pxe the next time', self.railbed('boot', 'pxe', self.cluster, 'gpu01', '--once'))
        self.assertEqual(self.lab.bmcs[1].boot(), 'pxe')
        self.railbed('boot', 'bios', self.cluster, 'gpu01', '--always')
        self.assertEqual(self.lab.bmcs[1].boot(), 'bios')
        self.railbed('boot', 'none', self.cluster, 'gpu01')
        self.assertEqual(self.lab.bmcs[1].boot(), 'none')

    def test_identify(self):
        self.assertIn('shines', self.railbed('identify', self.cluster, 'gpu00', '--seconds', '5'))
        self.assertIn('identify', (self.lab.bmcs[0].folder / 'chassis.log').read_text())

    def test_sensors_and_events(self):
        bmc = self.lab.bmcs[2]
        self.assertEqual(self.railbed('sensors', self.cluster), '3 nodes: all sensors in order\n')
        one = self.railbed('sensors', self.cluster, 'gpu02')
        self.assertRegex(one, r'nominal +GPU0 Temp +62 C +at most 90 +OK')
        self.assertRegex(one, r'nominal +FAN1 +9000 RPM')
        self.assertEqual(self.railbed('sel', self.cluster, 'gpu02'), 'gpu02: 0 events\n')
        bmc.say('sensor_set_value 0x20 0 1 88 1')
        bmc.say('sensor_set_bit 0x20 0 0x20 1 1 1')
        hot = self.railbed('sensors', self.cluster, status=2)
        self.assertRegex(hot, r'gpu02\n +critical +CPU1 Temp +88 C')
        self.assertRegex(hot, r'critical +PSU1 .*Presence detected, Power Supply Failure detected')
        self.assertIn('2 nodes: all sensors in order', hot)
        events = self.railbed('sel', self.cluster, 'gpu02', status=2)
        self.assertIn('CPU1 Temp: Upper Critical - going high', events)
        self.assertIn('PSU1: Power Supply Failure detected', events)
        bmc.say('sensor_set_value 0x20 0 1 55 0')
        bmc.say('sensor_set_bit 0x20 0 0x20 1 0 0')
        self.railbed('sel', self.cluster, 'gpu02', '--clear')
        self.assertEqual(self.railbed('sel', self.cluster, 'gpu02'), 'gpu02: 0 events\n')
        facts = json.loads(self.railbed('sensors', self.cluster, 'gpu00', '--json'))['nodes']
        self.assertEqual(facts[0]['sensors']['value'][0]['name'], 'CPU1 Temp')

    def test_no_secret_is_seen(self):
        with bmc_lab.watched_processes() as seen:
            for words in (('sensors',), ('power', 'status'), ('sel',)):
                self.railbed(*words, self.cluster)
            done = self.run_railbed('power', 'status', self.cluster, 'gpu00',
                                    environment={'RAILBED_BMC_PASSWORD': self.lab.bmcs[0].password})
        self.assertEqual(done.returncode, 64, 'nobody said which user that password is of')
        asked = [text for text in seen if b'ipmi' in text.split(b'\0')[0]]
        self.assertTrue(asked, 'the watch saw no child')
        for bmc in self.lab.bmcs:
            for text in seen:
                program = text.split(b'\0')[0]
                if bmc.password.encode() in text:
                    # The test's own call hands it over, and nothing that railbed starts has it.
                    self.assertIn(b'RAILBED_BMC_PASSWORD=', text, program)
                    self.assertNotIn(b'ipmi', program)
            for file in self.home.rglob('*'):
                if file.is_file():
                    self.assertNotIn(bmc.password.encode(), file.read_bytes(), file)


class Consoles(BmcTest):
    COUNT = 3

    def attach(self, node, *words):
        running = subprocess.Popen([RAILBED, 'console', str(self.cluster), node, *words], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
                                   env={**os.environ, 'HOME': str(self.home), 'NO_COLOR': '1'})
        self.addCleanup(running.kill)
        return running

    def wait_until(self, condition, what, seconds=20):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.1)

    def wait_attached(self, running):
        self.assertIn('attached', running.stderr.readline())

    def test_both_ways_and_into_a_log(self):
        bmc, log = self.lab.bmcs[0], self.folder / 'gpu00.console'
        running = self.attach('gpu00', '--log', str(log))
        self.wait_attached(running)
        running.stdin.write('root\r')
        self.wait_until(lambda: b'root\r' in bmc.console.heard, 'the keys did not arrive')
        bmc.console.say(b'GRUB loading.\r\n')
        self.wait_until(lambda: 'GRUB loading.' in log.read_text(), 'the text did not arrive')
        running.stdin.write('~~x\r')
        self.wait_until(lambda: b'~x\r' in bmc.console.heard, 'a tilde')
        running.stdin.write('~.')
        out, errors = running.communicate(timeout=20)
        self.assertEqual(running.returncode, 0, errors)
        self.assertIn('login: ', out)
        self.assertIn('GRUB loading.', out)
        self.assertEqual(log.stat().st_mode & 0o777, 0o600)

    def test_taken_and_stolen(self):
        first = self.attach('gpu01')
        self.wait_attached(first)
        second = self.attach('gpu01')
        _, errors = second.communicate(timeout=30)
        self.assertEqual(second.returncode, 3)
        self.assertIn("gpu01: somebody else has its console; --steal takes it over", errors)
        third = self.attach('gpu01', '--steal')
        self.wait_attached(third)
        third.stdin.write('mine\r')
        self.wait_until(lambda: b'mine' in self.lab.bmcs[1].console.heard, 'the stolen console is dead')
        third.stdin.write('~.')
        third.communicate(timeout=20)

    def test_many_for_the_record(self):
        folder = self.folder / 'boot'
        running = subprocess.Popen([RAILBED, 'console', str(self.cluster), '--record', str(folder)], text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, 'HOME': str(self.home), 'NO_COLOR': '1'})
        self.addCleanup(running.kill)
        logs = [folder / f'gpu{number:02}.log' for number in range(3)]
        self.wait_until(lambda: all(log.exists() and 'attached' in log.read_text() for log in logs), 'not attached')
        for number, bmc in enumerate(self.lab.bmcs):
            bmc.console.say(f'\x1b[2Jkernel of {number}\r\n'.encode())
        self.wait_until(lambda: all('kernel of' in log.read_text() for log in logs), 'not recorded')
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=20)
        self.assertEqual(running.returncode, 0, errors)
        for number, log in enumerate(logs):
            self.assertRegex(log.read_text(), rf'(?m)^\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ .*kernel of {number}$')
            self.assertNotIn('\x1b', log.read_text())
            self.assertIn(f'kernel of {number}', out)

    def test_a_dead_bmc_is_named(self):
        self.write({'gpu00': '127.0.9.150'}, {'gpu00': 'x'})
        self.addCleanup(self.write, {f'gpu{number:02}': bmc.address for number, bmc in enumerate(self.lab.bmcs)},
                        {f'gpu{number:02}': bmc.password for number, bmc in enumerate(self.lab.bmcs)})
        done = self.run_railbed('console', self.cluster, 'gpu00')
        self.assertEqual(done.returncode, 3)
        self.assertIn('gpu00: its BMC does not answer', done.stderr)


class Settings(BmcTest):
    COUNT = 2

    def test_show_rate_and_password(self):
        text = self.railbed('bmc', 'show', self.cluster, 'gpu00')
        self.assertIn('Super Micro Computer Inc. (10876), firmware 3.15', text)
        self.assertRegex(text, r"maker's default +refused")
        self.assertRegex(text, r'cipher suite +3')
        self.railbed('bmc', 'set-sol-rate', '115200', self.cluster, 'gpu00')
        self.assertRegex(self.railbed('bmc', 'show', self.cluster, 'gpu00'), r'serial-over-LAN +on, 115200 bit/s')
        new = self.folder / 'new'
        new.write_text('n3w-and-better\n')
        new.chmod(0o600)
        self.railbed('bmc', 'set-password', self.cluster, 'gpu01', '--new-password-file', new)
        self.assertIn('refuses user or password', self.railbed('power', 'status', self.cluster, 'gpu01', status=3))
        self.passwords.write_text('gpu01 admin n3w-and-better\n')
        self.railbed('power', 'status', self.cluster, 'gpu01')
        new.write_text('has a blank\n')
        self.assertEqual(self.run_railbed('bmc', 'set-password', self.cluster, 'gpu01', '--new-password-file', new).returncode, 64)


class Many(BmcTest):
    COUNT = 60

    def test_four_dead_among_sixty_four(self):
        nodes = {f'gpu{number:02}': bmc.address for number, bmc in enumerate(self.lab.bmcs)}
        passwords = {f'gpu{number:02}': bmc.password for number, bmc in enumerate(self.lab.bmcs)}
        dead = {f'gpu{60 + number}': f'127.0.9.{10 + number}' for number in range(4)}
        self.write({**nodes, **dead}, {**passwords, **dict.fromkeys(dead, 'x')})
        text = self.railbed('sensors', self.cluster, status=3)
        self.assertIn('60 nodes: all sensors in order', text)
        self.assertEqual(re.findall(r'(?m)^(\w+): no answer: its BMC does not answer$', text), list(dead))


class Monitor(BmcTest):
    COUNT = 2

    def metrics(self, node):
        return self.railbed('monitor', self.cluster, '--node', node, '--bmc', '--once', timeout=300)

    def test_sensors_are_metrics_and_what_is_wrong_is_a_finding(self):
        bmc = self.lab.bmcs[1]
        bmc.say('sensor_set_value 0x20 0 1 88 1')
        sound, hot = self.metrics('gpu00'), self.metrics('gpu01')
        for text in (sound, hot):
            self.assertIn('\nipmi_up{collector="ipmi"} 1\n', text)
            self.assertIn('\nipmi_chassis_power_state 1\n', text)
            self.assertIn('\nrailbed_collector_success{collector="bmc"} 1\n', text)
            self.assertRegex(text, r'\nipmi_fan_speed_rpm\{id="\d+",name="FAN1"\} 9000\n')
            self.assertRegex(text, r'\nipmi_sensor_state\{id="\d+",name="PSU1",type="Power Supply"\} 0\n')
            self.assertNotIn('rule="bmc.default-login"', text)
            self.assertNotIn('rule="bmc.clock"', text)
        self.assertRegex(hot, r'\nipmi_temperature_celsius\{id="\d+",name="CPU1 Temp"\} 88\n')
        self.assertRegex(hot, r'\nipmi_temperature_state\{id="\d+",name="CPU1 Temp"\} 2\n')
        self.assertIn('railbed_finding{rule="bmc.sensors",subject="sensors",status="fail"} 1', hot)
        self.assertNotIn('rule="bmc.sensors"', sound)
        bmc.stop()
        dead = self.metrics('gpu01')
        self.assertIn('\nipmi_up{collector="ipmi"} 0\n', dead)
        self.assertIn('\nrailbed_collector_success{collector="bmc"} 0\n', dead)
        self.assertIn('railbed_finding{rule="bmc.reachable",subject="BMC",status="fail"} 1', dead)


class Verify(BmcTest):
    COUNT = 2

    def test_bmcs_are_judged(self):
        bmc = self.lab.bmcs[1]
        bmc.say('sensor_set_value 0x20 0 2 92 1')
        text = self.cluster.read_text().replace('{name: gpu00,', '{name: gpu00, local: true,')
        self.cluster.write_text(text.replace('{name: gpu01,', '{name: gpu01, ssh: 127.0.9.250,'))
        done = self.run_railbed('verify', self.cluster, '--bmc', '--json', '--all', '--connect-timeout', '5')
        self.assertIn(done.returncode, (2, 3), done.stderr)
        findings = {(one['rule'], one['node']): one for one in json.loads(done.stdout)['findings']}
        self.assertEqual(findings['bmc.sensors', 'gpu01']['status'], 'fail')
        self.assertIn('GPU0 Temp 92 C', findings['bmc.sensors', 'gpu01']['message'])
        self.assertEqual(findings['bmc.sensors', 'gpu00']['status'], 'pass')
        self.assertEqual(findings['bmc.default-login', 'gpu00']['status'], 'pass')
        self.assertEqual(findings['bmc.events', 'gpu01']['status'], 'warn')
        self.assertEqual(findings['bmc.power', 'gpu01']['status'], 'pass')
        page = self.folder / 'page.html'
        done = self.run_railbed('prove', self.cluster, '--bmc', '--no-measure', '--no-store', '-o', page,
                                '--connect-timeout', '5')
        self.assertIn(done.returncode, (2, 3), done.stderr)
        drawn = page.read_text()
        for shown in (r'2 BMCs: .*1 broken', 'on · GPU0 Temp 92 C', 'sensors are out of range: GPU0 Temp 92 C'):
            self.assertTrue(re.search(shown, drawn), shown)


class DefaultLogin(BmcTest):
    COUNT = 0

    def test_a_makers_default_login_is_a_failure(self):
        with bmc_lab.BmcLab(1, user='ADMIN', password='ADMIN') as lab:
            self.write({'gpu00': lab.bmcs[0].address}, {})
            self.passwords.write_text('gpu00 ADMIN ADMIN\n')
            text = self.railbed('bmc', 'show', self.cluster, status=2)
            self.assertIn('ACCEPTED as ADMIN', text)


class Trouble(BmcTest):
    COUNT = 2

    def test_dead_refused_and_silent(self):
        whole, other = self.lab.bmcs
        relay = bmc_lab.Relay('127.0.9.1', whole, packets=11)
        self.addCleanup(relay.close)
        self.write({'gpu00': whole.address, 'gpu01': '127.0.9.200', 'gpu02': other.address, 'gpu03': '127.0.9.1'},
                   {'gpu00': whole.password, 'gpu01': 'x', 'gpu02': 'wrong', 'gpu03': whole.password})
        begin = time.monotonic()
        text = self.railbed('sensors', self.cluster, status=3)
        self.assertLess(time.monotonic() - begin, 60)  # the silence of gpu03, twice: its power is asked why
        self.assertIn('1 node: all sensors in order', text)
        self.assertIn('gpu01: no answer: its BMC does not answer', text)
        self.assertIn('gpu02: no answer: its BMC refuses user or password', text)
        self.assertIn('gpu03: no answer: its BMC stopped answering', text)

    def test_password_files(self):
        self.write({'gpu00': self.lab.bmcs[0].address}, {'gpu00': self.lab.bmcs[0].password})
        self.passwords.chmod(0o640)
        done = self.run_railbed('power', 'status', self.cluster)
        self.assertEqual(done.returncode, 64)
        self.assertIn('chmod 600', done.stderr)
        self.passwords.chmod(0o600)
        self.passwords.write_text('gpu00 admin\nsecret-of-nobody\n')
        done = self.run_railbed('power', 'status', self.cluster)
        self.assertEqual(done.returncode, 64)
        self.assertIn('bmc.passwords:1: expected NODES USER PASSWORD', done.stderr)
        self.assertNotIn('secret-of-nobody', done.stderr)
        self.passwords.unlink()
        self.assertIn('gpu00  on', self.railbed('power', 'status', self.cluster, '--user', 'admin', environment={
            'RAILBED_BMC_PASSWORD': self.lab.bmcs[0].password}))

    def test_an_interrupt_leaves_nothing(self):
        # Addresses that no other test has: it may run beside this one.
        self.write({f'gpu{number:02}': f'127.0.77.{100 + number}' for number in range(8)},
                   {f'gpu{number:02}': 'x' for number in range(8)})
        running = subprocess.Popen([RAILBED, 'sensors', str(self.cluster), '--timeout', '60'], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                   env={**os.environ, 'HOME': str(self.home)})
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(timeout=20), 3)
        self.assertEqual(subprocess.run(['pgrep', '-f', r'127\.0\.77\.10'], capture_output=True).stdout, b'')


if __name__ == '__main__':
    why = bmc_lab.missing()
    if why:
        print(why)
        sys.exit(77)
    bmc_lab.enter_namespace()
    guardian.begin()
    unittest.main()
