#!/usr/bin/env python3
"""railbed at BMCs that speak Redfish, among them ones that show a wrong certificate, hang, send elsewhere or never stop
talking. Exits 77 where there can be none."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import bmc_lab
import redfish_lab
from redfish_lab import CD, RedfishBmc, SYSTEM

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ['RAILBED']


class RedfishTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        self.cluster = self.folder / 'cluster.yaml'
        self.bmcs = []

    def start(self, count=1, **more):
        for number in range(count):
            bmc = RedfishBmc(f'127.0.8.{number + 1}', self.folder, **more)
            self.addCleanup(bmc.__exit__)
            self.bmcs.append(bmc)
        self.write()
        return self.bmcs[0]

    def write(self, protocol='protocol: redfish, ', certificates=None, nodes=None):
        """cluster.yaml, and the keys that it trusts: those that the BMCs have."""
        nodes = nodes or {f'gpu{number}': bmc.address for number, bmc in enumerate(self.bmcs)}
        trust = self.folder / 'bmc-keys'
        if certificates is None:
            certificates = ''.join(f'gpu{number} {bmc.pin}\n' for number, bmc in enumerate(self.bmcs))
        trust.write_text(certificates)
        trusted = 'certificates: bmc-keys, ' if certificates else ''
        self.cluster.write_text(
            f'railbed: 1\ncluster: pod\nbmc: {{{protocol}{trusted}password_file: passwords}}\nnodes:\n' +
            ''.join(f'  - {{name: {name}, bmc: {address}}}\n' for name, address in nodes.items()))
        passwords = self.folder / 'passwords'
        passwords.write_text(''.join(f'gpu{number} {bmc.user} {bmc.password}\n' for number, bmc in enumerate(self.bmcs)))
        passwords.chmod(0o600)

    def run_railbed(self, *words, timeout=120):
        if '--timeout' not in words and words[0] != 'verify':
            words = (*words, '--timeout', '15')
        return subprocess.run([RAILBED, *map(str, words)], capture_output=True, text=True, timeout=timeout,
                              env={**os.environ, 'HOME': str(self.folder), 'NO_COLOR': '1'}, stdin=subprocess.DEVNULL)

    def railbed(self, *words, status=0, **more):
        done = self.run_railbed(*words, **more)
        self.assertEqual(done.returncode, status, f'{words}: {done.stdout}{done.stderr}')
        return done.stdout if status < 3 else done.stdout + done.stderr


class OneByOne(RedfishTest):
    def test_power(self):
        bmc = self.start(2)
        self.assertEqual(self.railbed('power', 'status', self.cluster), 'gpu[0-1]  on\n')
        self.railbed('power', 'soft', self.cluster, 'gpu0', '--wait', '20')
        self.assertEqual(bmc.acted, [(f'{SYSTEM}/Actions/ComputerSystem.Reset', {'ResetType': 'GracefulShutdown'})])
        self.assertEqual(self.railbed('power', 'status', self.cluster, 'gpu0'), 'gpu0  off\n')
        self.railbed('power', 'on', self.cluster, 'gpu0', '--wait', '20')
        self.railbed('power', 'reset', self.cluster, 'gpu0')
        self.assertEqual(bmc.acted[-1][1], {'ResetType': 'ForceRestart'})
        # This one's list of resets has no PowerCycle: it is switched off and on.
        del bmc.acted[:]
        self.railbed('power', 'cycle', self.cluster, 'gpu0')
        self.assertEqual([body['ResetType'] for _, body in bmc.acted], ['ForceOff', 'On'])
        allowed = bmc.at(SYSTEM)['Actions']['#ComputerSystem.Reset']['ResetType@Redfish.AllowableValues']
        allowed.remove('GracefulShutdown')
        self.assertIn('its BMC knows no GracefulShutdown, but On, ForceOff', self.railbed('power', 'soft', self.cluster, 'gpu0', status=3))

    def test_boot_from_a_virtual_cd(self):
        bmc = self.start()
        self.assertIn('holds redfish.dmtf.org/freeImages/freeOS.1.1.iso already',
                      self.railbed('bmc', 'insert', 'http://10.0.0.1/os.iso', self.cluster, status=3))
        self.railbed('bmc', 'eject', self.cluster)
        self.railbed('bmc', 'insert', 'http://10.0.0.1/os.iso', self.cluster)
        self.assertEqual((bmc.at(CD)['Image'], bmc.at(CD)['Inserted']), ('http://10.0.0.1/os.iso', True))
        self.railbed('boot', 'cd', self.cluster)
        boot = bmc.at(SYSTEM)['Boot']
        self.assertEqual((boot['BootSourceOverrideTarget'], boot['BootSourceOverrideEnabled'], boot['BootSourceOverrideMode']),
                         ('Cd', 'Once', 'UEFI'))
        self.railbed('boot', 'none', self.cluster)
        self.assertEqual(boot['BootSourceOverrideEnabled'], 'Disabled')
        for image in ('ftp://x/os.iso', 'http://me:secret@x/os.iso', '/os.iso'):
            self.railbed('bmc', 'insert', image, self.cluster, status=64)

    def test_media_by_actions(self):
        bmc = self.start()
        action = redfish_lab.ROOT + CD + '/Actions/VirtualMedia.'
        bmc.at(CD)['Actions'] = {f'#VirtualMedia.{name}': {'target': action + name} for name in ('InsertMedia', 'EjectMedia')}
        self.railbed('bmc', 'eject', self.cluster)
        self.railbed('bmc', 'insert', 'https://10.0.0.1/os.iso', self.cluster)
        self.assertEqual([path.rpartition('.')[2] for path, _ in bmc.acted], ['EjectMedia', 'InsertMedia'])
        # Older services keep virtual media with the manager.
        bmc.at('Managers/BMC')['VirtualMedia'] = bmc.at(SYSTEM).pop('VirtualMedia')
        self.railbed('bmc', 'eject', self.cluster)
        self.assertFalse(bmc.at(CD)['Inserted'])

    def test_identify_and_rate(self):
        bmc = self.start()
        self.railbed('identify', self.cluster)
        self.assertEqual(bmc.at(SYSTEM)['IndicatorLED'], 'Blinking')
        bmc.at(SYSTEM)['LocationIndicatorActive'] = True
        self.railbed('identify', self.cluster, '--off')
        self.assertFalse(bmc.at(SYSTEM)['LocationIndicatorActive'])
        self.railbed('bmc', 'set-sol-rate', '57600', self.cluster)
        self.assertEqual(bmc.at('Managers/BMC/SerialInterfaces/TTY0')['BitRate'], '57600')
        text = self.railbed('bmc', 'show', self.cluster)
        self.assertRegex(text, r'BMC +Contoso, firmware 1\.45\.455b66-rev4')
        self.assertRegex(text, r'serial-over-LAN +on, 57600 bit/s')
        self.assertRegex(text, r"maker's default +refused")
        self.assertRegex(text, r'spoken with by +redfish')

    def test_sensors_in_two_documents(self):
        bmc = self.start()
        del bmc.at('Chassis/1U')['Sensors']
        facts = json.loads(self.railbed('sensors', self.cluster, '--json', status=1))['nodes'][0]
        rows = {(one['name'], one['reading'], one['units'], one['severity']) for one in facts['sensors']['value']}
        self.assertEqual(rows, {('CPU1 Temp', 41, 'C', 'nominal'), ('Chassis Intake Temp', 25, 'C', 'nominal'),
                                ('BaseBoard System Fan', 2100, 'RPM', 'nominal'), ('BaseBoard System Fan Backup', 2050, 'RPM', 'nominal'),
                                ('VRM1 Voltage', 12, 'V', 'nominal'), ('VRM2 Voltage', 5, 'V', 'nominal'),
                                ('Power Supply Bay', 325, 'W', 'warning'), ('System Input Power', 344, 'W', 'nominal')})
        hot = bmc.at('Chassis/1U/Thermal')['Temperatures'][0]
        hot['ReadingCelsius'], hot['Status'] = 47, {'State': 'Enabled'}  # says no health: the threshold is 45
        text = self.railbed('sensors', self.cluster, status=2)
        self.assertIn('CPU1 Temp', text)

    def test_a_document_for_each_sensor(self):
        bmc = self.start()
        for name in ('Thermal', 'Power'):
            del bmc.at('Chassis/1U')[name]
        there = {document['Name'] for path, document in bmc.documents.items()
                 if {'@odata.id': path} in bmc.at('Chassis/1U/Sensors')['Members']
                 and document['Status']['State'] == 'Enabled' and 'Reading' in document}
        for expands in (True, False):
            bmc.expands = expands
            bmc.documents[redfish_lab.ROOT]['ProtocolFeaturesSupported']['ExpandQuery']['NoLinks'] = expands
            bmc.asked.clear()
            connections = bmc.connections
            done = self.run_railbed('sensors', self.cluster, '--json')
            sensors = json.loads(done.stdout)['nodes'][0]['sensors']['value']
            self.assertLessEqual(there, {one['name'] for one in sensors}, expands)
            self.assertIn('Power Supply', {one['type'] for one in sensors})
            self.assertEqual(bmc.connections - connections, 1, 'each question greeted anew')
            self.assertEqual(len(bmc.asked) < 20, expands, bmc.asked)

    def test_events(self):
        bmc = self.start()
        facts = json.loads(self.railbed('sel', self.cluster, '--json', status=2))['nodes'][0]['events']['value']
        self.assertEqual([(one['id'], one['time'], one['type'], one['severity'], one['event']) for one in facts],
                         [(1, '2012-03-07 14:44:00', 'Temperature', 'critical', 'Temperature threshold exceeded'),
                          (2, '2012-03-07 14:45:00', 'Temperature', 'critical', 'Temperature threshold exceeded')])
        pages = [path for _, path in bmc.asked if '/Entries' in path]
        self.assertEqual(len(pages), 2, 'a page that leads to itself is read once more and no oftener')
        self.railbed('sel', '--clear', self.cluster)
        self.assertEqual(self.railbed('sel', self.cluster, '--json').count('"event"'), 0)

    def test_password(self):
        bmc = self.start()
        new = self.folder / 'new'
        new.write_text('n3w-and-better\n')
        new.chmod(0o600)
        self.railbed('bmc', 'set-password', self.cluster, '--new-password-file', new)
        self.assertEqual(bmc.acted, [('AccountService/Accounts/1', {'Password': 'n3w-and-better'})])
        self.assertIn('refuses user or password', self.railbed('power', 'status', self.cluster, status=3))
        self.write()
        self.railbed('power', 'status', self.cluster)

    def test_a_baseboard_of_gpus_is_not_the_machine(self):
        """As a DGX describes itself: the first of two systems can be told nothing of booting."""
        bmc = self.start()
        board = redfish_lab.ROOT + 'Systems/HGX_Baseboard_0'
        bmc.documents[board] = {'@odata.id': board, 'Id': 'HGX_Baseboard_0', 'PowerState': 'Off'}
        bmc.at('Systems')['Members'].insert(0, {'@odata.id': board})
        self.assertEqual(self.railbed('power', 'status', self.cluster), 'gpu0  on\n')

    def test_verify(self):
        bmc = self.start(2)
        bmc.at('Managers/BMC')['DateTime'] = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
        text = self.cluster.read_text().replace('{name: gpu0,', '{name: gpu0, local: true,')
        self.cluster.write_text(text.replace('{name: gpu1,', '{name: gpu1, ssh: 127.0.9.250,'))
        self.bmcs[1].__exit__()
        done = self.run_railbed('verify', self.cluster, '--bmc', '--json', '--all', '--connect-timeout', '15')
        findings = {(one['rule'], one['node']): one for one in json.loads(done.stdout)['findings']}
        for rule, status in {'reachable': 'pass', 'power': 'pass', 'sensors': 'warn', 'events': 'warn', 'clock': 'pass',
                             'default-login': 'pass'}.items():
            self.assertEqual(findings[f'bmc.{rule}', 'gpu0']['status'], status, rule)
        self.assertEqual(findings['bmc.reachable', 'gpu1']['status'], 'fail')


class Makers(RedfishTest):
    """What makers' services do differently, by public reports and mockups (docs/how-to/out-of-band.md)."""

    def test_entries_without_a_severity(self):
        """Supermicro's say in their message what happened, and older iDRACs wrap the type in a list."""
        bmc = self.start()
        entries = bmc.at(f'{SYSTEM}/LogServices/Log1/Entries')
        entries.pop('Members@odata.nextLink', None)
        entries['Members'] = [
            {'@odata.id': f'{redfish_lab.ROOT}x/{number}', 'Id': str(number), 'Created': f'2026-01-19T10:00:{number:02}Z', 'EntryType': 'SEL',
             'SensorType': kind, 'EntryCode': code, 'Message': message}
            for number, kind, code, message in (
                (1, 'Memory', 'Assert', 'Correctable ECC @DIMMB1(CPU1) - Assertion'),
                (2, 'Memory', 'Assert', 'Uncorrectable ECC @DIMMB1(CPU1) - Assertion'),
                (3, [{'Member': 'Power Supply'}], [{'Member': 'Assert'}], 'Power Supply Failure detected'),
                (4, 'Temperature', 'Deassert', 'Upper Critical - going high - Deassertion'),
                (5, 'OS Boot', 'Assert', 'C: boot completed'))]
        facts = json.loads(self.railbed('sel', self.cluster, '--json', status=2))['nodes'][0]['events']['value']
        self.assertEqual([(event['type'], event['severity']) for event in facts],
                         [('Memory', 'warning'), ('Memory', 'critical'), ('Power Supply', 'critical'), ('Temperature', 'nominal'),
                          ('OS Boot', 'unknown')])

    def test_no_sensors_are_not_sensors_in_order(self):
        bmc = self.start()
        bmc.at('Chassis')['Members'] = []
        self.assertIn('has no sensors', self.railbed('sensors', self.cluster, status=3))

    def test_thresholds_without_a_health(self):
        bmc = self.start()
        hot = bmc.at('Chassis/1U/Thermal')['Temperatures'][0]
        hot.update(ReadingCelsius=44, Status={'State': 'Enabled'}, UpperThresholdNonCritical=42, UpperThresholdCritical=45, UpperThresholdFatal=48)
        facts = json.loads(self.run_railbed('sensors', self.cluster, '--json').stdout)['nodes'][0]
        self.assertEqual({row['severity'] for row in facts['sensors']['value'] if row['name'] == hot['Name']}, {'warning'})
        hot.update(ReadingCelsius=49, UpperThresholdCritical=None)
        facts = json.loads(self.run_railbed('sensors', self.cluster, '--json').stdout)['nodes'][0]
        self.assertEqual({row['severity'] for row in facts['sensors']['value'] if row['name'] == hot['Name']}, {'critical'})

    def test_a_mode_that_cannot_be_written(self):
        bmc = self.start()

        def answers(handler, body):
            if 'BootSourceOverrideMode' in body.get('Boot', {}):
                handler.refuse(400, 'The property BootSourceOverrideMode is a read only property.')
                return True
            return False
        bmc.answers = answers
        self.railbed('boot', 'pxe', self.cluster)
        self.assertEqual(bmc.at(SYSTEM)['Boot']['BootSourceOverrideTarget'], 'Pxe')

    def test_boot_order_in_the_pending_settings(self):
        """iDRAC 10's own document is read-only."""
        bmc = self.start()
        pending = f'{redfish_lab.ROOT}{SYSTEM}/Settings'
        bmc.at(SYSTEM)['@Redfish.Settings'] = {'SettingsObject': {'@odata.id': pending}}
        bmc.documents[pending] = {'@odata.id': pending, 'Id': 'Settings', 'Boot': {'BootSourceOverrideTarget': 'None'}}

        def answers(handler, body):
            if handler.path.endswith('/Settings'):
                return False
            handler.refuse(400, 'The property Boot is a read-only property and cannot be assigned a value.')
            return True
        bmc.answers = answers
        self.railbed('boot', 'pxe', self.cluster)
        self.assertEqual(bmc.documents[pending]['Boot']['BootSourceOverrideTarget'], 'Pxe')

    def test_if_match_refused(self):
        bmc = self.start()

        def answers(handler, body):
            if handler.headers.get('If-Match'):
                handler.refuse(412, 'The precondition is not met.')
            else:
                bmc.patch(handler.path.removeprefix(redfish_lab.ROOT), body)
                handler.answer(200, {})
            return True
        bmc.answers = answers
        self.railbed('identify', self.cluster)
        self.assertEqual(bmc.at(SYSTEM)['IndicatorLED'], 'Blinking')

    def test_a_change_that_is_not_stored(self):
        bmc = self.start()
        bmc.answers = lambda handler, body: (handler.answer(200, {}), True)[1]
        self.assertIn('does not show the boot order', self.railbed('boot', 'bios', self.cluster, '--timeout', '5', status=3))

    def test_a_task_that_fails_and_one_that_ends(self):
        bmc = self.start()
        task = f'{redfish_lab.ROOT}TaskService/Tasks/7'
        states = ['Running', 'Exception']

        def answers(handler, body):
            bmc.documents[task] = {'@odata.id': task, '@odata.type': '#Task.v1_7_0.Task', 'TaskState': states[0]}
            bmc.waiting = (handler.path.removeprefix(redfish_lab.ROOT), body)
            handler.answer(202, bmc.documents[task], Location=task)
            return True

        def trouble(handler, path):
            if path == task and bmc.documents[task]['TaskState'] != states[-1]:
                bmc.documents[task].update(TaskState=states[-1], Messages=[{'Message': 'No media in the drive.'}])
                if states[-1] == 'Completed':
                    bmc.patch(*bmc.waiting)
            return False
        bmc.answers, bmc.trouble = answers, trouble
        self.assertIn('began the change and failed (Exception): No media in the drive.', self.railbed('boot', 'cd', self.cluster, status=3))
        states[-1] = 'Completed'
        self.railbed('boot', 'cd', self.cluster)
        self.assertEqual(bmc.at(SYSTEM)['Boot']['BootSourceOverrideTarget'], 'Cd')

    def test_a_busy_service_is_asked_again(self):
        bmc = self.start()
        left = [3]

        def trouble(handler, path):
            if left[0] == 0 or path == redfish_lab.ROOT:
                return False
            left[0] -= 1
            handler.answer(503, {}, **{'Retry-After': '1'})
            return True
        bmc.trouble = trouble
        self.assertEqual(self.railbed('power', 'status', self.cluster), 'gpu0  on\n')
        self.assertEqual(left, [0])

    def test_sessions_where_basic_is_off(self):
        bmc = self.start()
        bmc.tokens = []
        self.assertEqual(self.railbed('power', 'status', self.cluster), 'gpu0  on\n')
        self.assertEqual(sum(method == 'POST' for method, _ in bmc.asked), 1)
        self.assertEqual(bmc.tokens, [], 'the session was left open')
        # A wrong password is tried once each way, and no further.
        bmc.password, bmc.asked = 'another', []
        self.assertIn('refuses user or password', self.railbed('power', 'status', self.cluster, status=3))
        self.assertEqual(sum(method == 'POST' for method, _ in bmc.asked), 1)

    def test_a_password_that_has_to_be_changed(self):
        bmc = self.start()
        account = f'{redfish_lab.ROOT}AccountService/Accounts/1'

        def trouble(handler, path):
            if bmc.password == 'n3w-and-better' or path == redfish_lab.ROOT:
                return False
            handler.answer(403, {'error': {'@Message.ExtendedInfo': [{'MessageId': 'Base.1.8.PasswordChangeRequired', 'MessageArgs': [account],
                                                                      'Message': 'The password must be changed.'}]}})
            return True
        bmc.trouble = trouble
        self.assertIn('demands another password before anything else', self.railbed('power', 'status', self.cluster, status=3))
        new = self.folder / 'new'
        new.write_text('n3w-and-better\n')
        new.chmod(0o600)
        bmc.answers = lambda handler, body: (bmc.patch(handler.path.removeprefix(redfish_lab.ROOT), body), handler.answer(204), True)[2]
        self.railbed('bmc', 'set-password', self.cluster, '--new-password-file', new)
        self.assertEqual(bmc.password, 'n3w-and-better')

    def test_a_baseboards_events_and_a_member_that_is_none(self):
        """A DGX lists a log service among its systems, and its baseboard keeps the GPUs' events."""
        bmc = self.start()
        board, log = redfish_lab.ROOT + 'Systems/HGX_Baseboard_0', redfish_lab.ROOT + 'Systems/HGX_Baseboard_0/LogServices'
        bmc.documents[board] = {'@odata.id': board, '@odata.type': '#ComputerSystem.v1_17_0.ComputerSystem', 'Id': 'HGX_Baseboard_0',
                                'LogServices': {'@odata.id': log}}
        bmc.documents[log] = {'Members': [{'@odata.id': log + '/EventLog'}]}
        bmc.documents[log + '/EventLog'] = {'Id': 'EventLog', 'Entries': {'@odata.id': log + '/EventLog/Entries'}}
        bmc.documents[log + '/EventLog/Entries'] = {'Members@odata.count': 1, 'Members': [
            {'@odata.id': log + '/EventLog/Entries/1', 'Id': '1', 'Created': '2026-01-19T10:00:00+00:00', 'Severity': 'Critical',
             'Message': 'The resource property GPU_SXM_3 Temp has exceeded its threshold.'}]}
        bmc.documents[log + '/FDR'] = {'@odata.id': log + '/FDR', '@odata.type': '#LogService.v1_1_0.LogService', 'Id': 'FDR'}
        bmc.at('Systems')['Members'][:0] = [{'@odata.id': log + '/FDR'}, {'@odata.id': board}, {'@odata.id': log + '/Gone'}]
        self.assertEqual(self.railbed('power', 'status', self.cluster), 'gpu0  on\n')
        self.assertIn('GPU_SXM_3', self.railbed('sel', self.cluster, status=2))

    def test_a_serial_console_that_nobody_states(self):
        bmc = self.start()
        console = bmc.at('Managers/BMC').pop('SerialConsole')
        self.assertRegex(self.railbed('bmc', 'show', self.cluster), r'serial-over-LAN +not told')
        bmc.at(SYSTEM)['SerialConsole'] = {'SSH': {'ServiceEnabled': True, 'Port': 2200}, 'IPMI': {'ServiceEnabled': False}}
        self.assertRegex(self.railbed('bmc', 'show', self.cluster), r'serial-over-LAN +on')
        self.assertTrue(console['ServiceEnabled'])

    def test_reset_types_in_an_action_info(self):
        bmc = self.start()
        info = f'{redfish_lab.ROOT}{SYSTEM}/ResetActionInfo'
        reset = bmc.at(SYSTEM)['Actions']['#ComputerSystem.Reset']
        allowed = reset.pop('ResetType@Redfish.AllowableValues')
        reset['@Redfish.ActionInfo'] = info
        bmc.documents[info] = {'Parameters': [{'Name': 'ResetType', 'AllowableValues': ['On', 'ForceOff']}]}
        self.assertIn('knows no ForceRestart, but On, ForceOff', self.railbed('power', 'reset', self.cluster, status=3))
        reset['ResetType@Redfish.AllowableValues'] = allowed

    def test_a_drive_by_another_name(self):
        bmc = self.start()
        bmc.at(CD)['MediaTypes'] = ['CD/DVD']
        bmc.at(SYSTEM)['Boot']['BootSourceOverrideTarget@Redfish.AllowableValues'] = ['None', 'Pxe', 'UsbCd']
        self.railbed('bmc', 'eject', self.cluster)
        self.railbed('boot', 'cd', self.cluster)
        self.assertEqual(bmc.at(SYSTEM)['Boot']['BootSourceOverrideTarget'], 'UsbCd')

    def test_a_clock_that_was_never_set(self):
        bmc = self.start()
        for date in ('1970-01-01T00:12:00+00:00', '0000-00-00T00:00:00Z'):
            bmc.at('Managers/BMC')['DateTime'] = date
            self.assertRegex(self.railbed('bmc', 'show', self.cluster), r'clock +never set', date)


class Mockups(RedfishTest):
    """Shapes in public mockups and recordings of services (docs/reference/read.md), composed anew."""

    def sensors(self, **more):
        facts = json.loads(self.run_railbed('sensors', self.cluster, '--json', **more).stdout)['nodes'][0]
        return {row['name']: row for row in facts['sensors'].get('value', [])}

    def shown(self):
        return json.loads(self.run_railbed('bmc', 'show', self.cluster, '--json').stdout)['nodes'][0]

    def test_sensors_in_older_and_newer_documents(self):
        """Neither form is complete. A sensor of both is read once, also where the older form's name is longer."""
        bmc = self.start()
        thermal = bmc.at('Chassis/1U/Thermal')
        thermal['Temperatures'] = [{'Name': 'VR1 Temperature', 'ReadingCelsius': 40}, {'Name': 'Inlet', 'ReadingCelsius': 25}]
        thermal['Fans'] = []
        bmc.at('Chassis/1U/Power').update(Voltages=[], PowerSupplies=[], PowerControl=[])
        folder = f'{redfish_lab.ROOT}Chassis/1U/Sensors'
        rows = (('a', 'VR1', 'Temperature', 40, 'Cel'), ('b', 'Inlet', None, 25, None), ('c', 'VR1', 'Current', 7, 'A'),
                ('Vin', 'VR2', 'Voltage', 12, 'V'), ('Vout', 'VR2', 'Voltage', 1, 'V'))
        for name, shown, kind, reading, units in rows:
            bmc.documents[f'{folder}/{name}'] = {'@odata.id': f'{folder}/{name}', '@odata.type': '#Sensor.v1_1_0.Sensor', 'Id': name,
                                                 'Name': shown, 'Reading': reading, **({'ReadingType': kind, 'ReadingUnits': units} if kind else {})}
        bmc.at('Chassis/1U/Sensors')['Members'] = [{'@odata.id': f'{folder}/{name}'} for name, *_ in rows]
        bmc.at('Chassis/1U/Sensors')['Members@odata.count'] = len(rows)
        for expands in (True, False):
            bmc.expands = expands
            bmc.documents[redfish_lab.ROOT]['ProtocolFeaturesSupported']['ExpandQuery']['NoLinks'] = expands
            self.assertEqual(set(self.sensors()), {'VR1 Temperature', 'Inlet', 'VR1', 'Vin: VR2', 'Vout: VR2'}, expands)
        # Nothing is asked for one by one that the older form holds.
        bmc.at('Chassis/1U/Sensors').update({'Members': [{'@odata.id': f'{folder}/a'}], 'Members@odata.count': 1})
        bmc.asked.clear()
        self.assertEqual(set(self.sensors()), {'VR1 Temperature', 'Inlet'})
        self.assertNotIn(('GET', f'{folder}/a'), bmc.asked)

    def test_sensors_that_measure_nothing_now(self):
        """An offline sensor shows 0, and thresholds of 0 stand for none: neither is critical."""
        bmc = self.start()
        del bmc.at('Chassis/1U')['Sensors']
        bmc.at('Chassis/1U/Thermal')['Temperatures'] = [
            {'Name': 'offline', 'ReadingCelsius': 0, 'UpperThresholdCritical': 92, 'UpperThresholdFatal': 0, 'Status': {'State': 'UnavailableOffline'}},
            {'Name': 'none', 'ReadingCelsius': 30, 'UpperThresholdCritical': 0, 'UpperThresholdFatal': 0},
            {'Name': 'both', 'ReadingCelsius': 0, 'LowerThresholdCritical': 0, 'UpperThresholdCritical': 0},
            {'Name': 'one', 'ReadingCelsius': 30, 'UpperThresholdCritical': 92, 'UpperThresholdFatal': 0},
            {'Name': 'margin', 'ReadingCelsius': -40, 'UpperThresholdCritical': 0}]
        found = {name: row['severity'] for name, row in self.sensors().items() if row['type'] == 'Temperature'}
        self.assertEqual(found, {'none': 'unknown', 'both': 'unknown', 'one': 'nominal', 'margin': 'nominal'})

    def test_sensors_of_one_name(self):
        """Power supplies without names of their own, and the same board in two chassis."""
        bmc = self.start()
        del bmc.at('Chassis/1U')['Sensors']
        bmc.at('Chassis/1U/Power').update(Voltages=[], PowerControl=[{'MemberId': '0', 'PowerConsumedWatts': 300}], PowerSupplies=[
            {'MemberId': str(number), 'Name': 'Supply', 'LastPowerOutputWatts': 100 + number, 'Status': {'Health': 'OK'}} for number in (0, 1)])
        other = redfish_lab.ROOT + 'Chassis/Node1'
        bmc.documents[other] = {'@odata.id': other, 'Thermal': {'@odata.id': f'{other}/Thermal'}}
        bmc.documents[f'{other}/Thermal'] = dict(bmc.at('Chassis/1U/Thermal'), Fans=[])
        bmc.at('Chassis')['Members'].append({'@odata.id': other})
        found = self.sensors()
        self.assertEqual((found['Supply 0']['reading'], found['Supply 1']['reading'], found['Power 0']['reading']), (100, 101, 300))
        self.assertLessEqual({'1U: CPU1 Temp', 'Node1: CPU1 Temp', 'BaseBoard System Fan'}, set(found))

    def test_the_bmc_among_other_managers(self):
        """A blade names no manager, and its microcontrollers come first. Its firmware is in the inventory alone."""
        bmc = self.start()
        del bmc.at(SYSTEM)['Links']['ManagedBy']
        self.assertEqual(self.shown()['device']['value']['firmware'], '1.45.455b66-rev4')
        for path, kind in (('Managers/MCU0', 'AuxiliaryController'), ('Managers/Rack', 'EnclosureManager')):
            bmc.documents[redfish_lab.ROOT + path] = {'@odata.id': redfish_lab.ROOT + path, 'Id': path, 'ManagerType': kind}
            bmc.at('Managers')['Members'].insert(0, {'@odata.id': redfish_lab.ROOT + path})
        self.assertEqual(self.shown()['device']['value']['firmware'], '1.45.455b66-rev4')
        del bmc.at('Managers/BMC')['FirmwareVersion']
        bmc.at('Managers/BMC').get('Links', {}).pop('ActiveSoftwareImage', None)
        inventory = redfish_lab.ROOT + 'UpdateService/FirmwareInventory'
        bmc.documents[redfish_lab.ROOT]['UpdateService'] = {'@odata.id': redfish_lab.ROOT + 'UpdateService'}
        bmc.documents[redfish_lab.ROOT + 'UpdateService'] = {'FirmwareInventory': {'@odata.id': inventory}}
        bmc.documents[inventory] = {'Members': [{'@odata.id': f'{inventory}/{name}'} for name in ('Node0.BIOS', 'BMC')]}
        bmc.documents[f'{inventory}/BMC'] = {'@odata.id': f'{inventory}/BMC', 'Id': 'BMC', 'Version': 'nc.1.6'}
        self.assertEqual(self.shown()['device']['value']['firmware'], 'nc.1.6')
        del bmc.documents[inventory]['Members'][1]
        self.assertRegex(self.railbed('bmc', 'show', self.cluster), r'firmware not told')

    def test_a_serial_console_without_a_way_to_connect(self):
        bmc = self.start()
        bmc.at('Managers/BMC')['SerialConsole'] = {'ServiceEnabled': False, 'MaxConcurrentSessions': 0, 'ConnectTypesSupported': []}
        self.assertRegex(self.railbed('bmc', 'show', self.cluster), r'serial-over-LAN +not told')
        bmc.at('Managers/BMC')['SerialConsole']['ConnectTypesSupported'] = ['IPMI']
        self.assertRegex(self.railbed('bmc', 'show', self.cluster), r'serial-over-LAN +off')

    def test_no_clock(self):
        bmc = self.start()
        bmc.at('Managers/BMC')['DateTime'] = None
        self.assertRegex(self.railbed('bmc', 'show', self.cluster), r'clock +not told: .*has no clock')

    def test_the_managers_sel_beside_the_systems_log(self):
        """The firmware's log hangs at the system, the SEL at the manager. Its times have no zone."""
        bmc = self.start()
        log = redfish_lab.ROOT + 'Managers/BMC/LogServices/SEL'
        bmc.documents[log] = {'@odata.id': log, 'Id': 'SEL', 'LogEntryType': 'SEL', 'Entries': {'@odata.id': f'{log}/Entries'}}
        bmc.documents[f'{log}/Entries'] = {'Members@odata.count': 1, 'Members': [
            {'@odata.id': f'{log}/Entries/9', 'Id': '9', 'Created': '2026-01-19 10:00:00 ', 'Message': 'Power Supply Failure detected'}]}
        bmc.at('Managers/BMC/LogServices')['Members'].append({'@odata.id': log})
        events = json.loads(self.railbed('sel', self.cluster, '--json', status=2))['nodes'][0]['events']['value']
        self.assertEqual([(one['id'], one['time']) for one in events][-1], (9, '2026-01-19 10:00:00'))
        self.assertEqual(len(events), 3)

    def test_several_machines_behind_one_bmc(self):
        """To switch the first of them would be a mistake. The one with the node's name is the machine."""
        bmc = self.start()
        other = redfish_lab.ROOT + 'Systems/Other'
        bmc.documents[other] = {**bmc.at(SYSTEM), '@odata.id': other, 'Id': 'Other', 'Name': 'Other', 'HostName': 'web484', 'PowerState': 'Off'}
        bmc.at('Systems')['Members'].insert(0, {'@odata.id': other})
        self.assertIn('serves 2 machines', self.railbed('power', 'status', self.cluster, status=3))
        self.assertIn('serves 2 machines (Other, 437XR1138R2)', self.railbed('power', 'off', self.cluster, status=3))
        self.assertFalse(bmc.acted)
        # The log and the BMC itself are told where one BMC says that it manages both.
        self.assertNotIn('value', json.loads(self.run_railbed('sel', self.cluster, '--json').stdout)['nodes'][0]['events'])
        bmc.at('Managers/BMC')['Links']['ManagerForServers'].append({'@odata.id': other})
        self.assertIn('value', json.loads(self.run_railbed('sel', self.cluster, '--json').stdout)['nodes'][0]['events'])
        bmc.at(SYSTEM)['HostName'] = 'GPU0.pod.example'
        self.assertEqual(self.railbed('power', 'status', self.cluster), 'gpu0  on\n')

    def test_a_service_without_a_machine(self):
        """A chassis' or a switch's has sensors and a log."""
        bmc = self.start()
        del bmc.documents[redfish_lab.ROOT]['Systems']
        self.assertIn('has no Systems', self.railbed('power', 'status', self.cluster, status=3))
        self.assertTrue(self.sensors())
        events = json.loads(self.run_railbed('sel', self.cluster, '--json').stdout)['nodes'][0]['events']
        self.assertEqual(len(events.get('value', [])), len(bmc.at('Managers/BMC/LogServices/Log/Entries')['Members']), events)


class Certificates(RedfishTest):
    def test_nobody_is_trusted_unseen(self):
        bmc = self.start()
        self.write(certificates='')
        text = self.railbed('power', 'status', self.cluster, status=3)
        self.assertIn('not signed by anybody whom this machine trusts', text)
        self.assertFalse(bmc.asked, 'the password went to a stranger')
        # What it shows is the file that then trusts it.
        shown = subprocess.run([RAILBED, 'bmc', 'certificates', str(self.cluster)], capture_output=True, text=True, timeout=60)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn(f'\ngpu0 {bmc.pin}\n', shown.stdout)
        self.write(certificates=shown.stdout)
        self.railbed('power', 'status', self.cluster)
        self.assertIn('trusted', self.railbed('bmc', 'certificates', self.cluster))

    def test_another_key_is_refused(self):
        bmc = self.start()
        other, _ = redfish_lab.make_certificate(self.folder, 'other')
        self.write(certificates=f'gpu0 {redfish_lab.pin_of(other)}\n')
        self.assertIn('another key than the one that is known', self.railbed('power', 'status', self.cluster, status=3))
        self.assertFalse(bmc.asked)
        self.assertIn('ANOTHER KEY', self.railbed('bmc', 'certificates', self.cluster, status=2))

    def test_an_authority(self):
        authority = redfish_lab.make_certificate(self.folder, 'authority')
        bmc = self.start(authority=authority)
        self.write(certificates=authority[1].read_text())
        self.railbed('power', 'status', self.cluster)
        # The same certificate at another address.
        with RedfishBmc('127.0.8.9', self.folder, shown=(bmc.key, bmc.certificate)) as thief:
            self.bmcs = [thief]
            self.write(certificates=authority[1].read_text())
            self.assertIn('is for another name', self.railbed('power', 'status', self.cluster, status=3))
            self.assertFalse(thief.asked)

    def test_wrong_files(self):
        self.start()
        for text, why in (('gpu7 sha256//x\n', ':1: expected NODE'), (f'gpu7 {self.bmcs[0].pin}\n', ':1: '),
                          (f'gpu0 {self.bmcs[0].pin}\n' * 2, ':2: a second key'), ('# nothing\n', 'holds no certificate')):
            self.write(certificates=text)
            self.assertIn(why, self.railbed('power', 'status', self.cluster, status=64))


class FoundOut(RedfishTest):
    def test_redfish_where_only_that_answers(self):
        self.start()
        self.write(protocol='')
        facts = json.loads(self.railbed('power', 'status', self.cluster, '--json'))['nodes'][0]
        self.assertEqual(facts['protocol'], 'redfish')
        self.railbed('power', 'off', self.cluster)
        self.assertEqual(self.bmcs[0].at(SYSTEM)['PowerState'], 'Off')

    def test_ipmi_where_both_do(self):
        with bmc_lab.BmcLab(1) as lab:
            ipmi = lab.bmcs[0]
            bmc = RedfishBmc(ipmi.address, self.folder)
            self.addCleanup(bmc.__exit__)
            bmc.user, bmc.password = ipmi.user, ipmi.password
            self.bmcs = [bmc]
            self.write(protocol='')
            facts = json.loads(self.railbed('power', 'status', self.cluster, '--json'))['nodes'][0]
            self.assertEqual((facts['protocol'], facts['power']['value']), ('ipmi', 'on'))
            self.assertFalse(bmc.asked)


class Trouble(RedfishTest):
    def trouble(self, act, wanted, **more):
        """What the BMC does instead of an answer, and what railbed then says."""
        asked = []

        def trouble(handler, path):
            asked.append(path)
            return act(handler, path)
        self.bmcs = []
        bmc = RedfishBmc('127.0.8.1', self.folder, trouble=trouble)
        try:
            self.bmcs = [bmc]
            self.write()
            self.assertIn(wanted, self.railbed('sensors', self.cluster, status=3, **more))
            self.assertTrue(asked)
        finally:
            bmc.__exit__()

    def test_one_that_stops_in_mid_session(self):
        def hang(handler, path):
            if 'Chassis' in path:
                self.over.wait(60)
                handler.close_connection = True
                return True
            return False
        self.over = threading.Event()
        self.addCleanup(self.over.set)
        bmc = RedfishBmc('127.0.8.1', self.folder, trouble=hang)
        self.addCleanup(bmc.__exit__)
        self.bmcs = [bmc]
        self.write()
        self.assertIn('does not answer', self.railbed('sensors', self.cluster, '--timeout', '1', status=3))

    def test_answers_that_are_none(self):
        def elsewhere(handler, path):
            handler.answer(302, {}, Location='https://127.0.8.77/redfish/v1/')
            return True

        def garbage(handler, path):
            handler.answer(200, 'it is a string')
            return True

        def deep(handler, path):
            handler.send_response(200)
            body = b'[' * 100000
            handler.send_header('Content-Length', str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
            return True

        def endless(handler, path):
            handler.send_response(200)
            handler.send_header('Transfer-Encoding', 'chunked')
            handler.end_headers()
            while True:
                handler.wfile.write(b'10000\r\n' + b' ' * 0x10000 + b'\r\n')

        def broken(handler, path):
            handler.send_response(500)
            handler.send_header('Content-Length', '0')
            handler.end_headers()
            return True

        self.trouble(elsewhere, 'sends to another place (HTTP 302)')
        self.trouble(garbage, 'answers no document of Redfish')
        self.trouble(deep, 'answers no document of Redfish')
        self.trouble(endless, 'answers more than 4 MiB')
        self.trouble(broken, 'refuses (HTTP 500)')

    def test_links_that_lead_astray(self):
        bmc = self.start()
        for link in ('https://127.0.8.77/x', '/etc/passwd', '/redfish/v1/../../x', '/redfish/v1/a b', '/redfish/v1/\r\nX: y', 7, None):
            bmc.documents[redfish_lab.ROOT]['Systems'] = {'@odata.id': link}
            bmc.asked.clear()
            self.assertIn("its BMC's Redfish service has no Systems", self.railbed('power', 'status', self.cluster, status=3))
            self.assertEqual([path for _, path in bmc.asked], [redfish_lab.ROOT])

    def test_hostile_words(self):
        bmc = self.start()
        bmc.at('Managers/BMC')['FirmwareVersion'] = '\x1b[2Jowned\u202e'
        bmc.at('Chassis/1U/Thermal')['Temperatures'][0]['Name'] = '\x1b]0;title\x07'
        for words in (('bmc', 'show'), ('sensors', '--all')):
            text = self.run_railbed(*words, self.cluster).stdout
            for bad in ('\x1b', '\x07', '\u202e'):
                self.assertNotIn(bad, text)

    def test_no_secret_is_seen(self):
        bmc = self.start()
        with bmc_lab.watched_processes() as seen:
            for words in (('sensors',), ('sel',), ('bmc', 'show')):
                self.run_railbed(*words, self.cluster)
        self.assertTrue(any(b'railbed' in text for text in seen), 'the watch saw nothing')
        self.assertFalse([text for text in seen if bmc.password.encode() in text])


if __name__ == '__main__':
    why = bmc_lab.missing()
    if why:
        print(why)
        sys.exit(77)
    bmc_lab.enter_namespace()
    guardian.begin()
    unittest.main()
