#!/usr/bin/env python3
"""What a BMC's ssh starts: a SMASH CLP at a terminal, in one of its makers' dialects.

    smash_bmc.py DIALECT FOLDER

FOLDER/power holds 1 or 0; FOLDER/heard gets every command. A file FOLDER/trouble makes it sick: `hang TARGET`, `endless`,
`phish`, `slow`. It shares nothing with what reads it: the texts follow the makers' guides and what fence agents expect.
"""
import pathlib
import sys
import time

ATEN = {
    '/': ([], ['system1']),
    '/system1': ([], ['logs1', 'pwrmgtsvc1', 'sensors1', 'sol1']),
    '/system1/pwrmgtsvc1': (['Name=IPMI Power Management', 'PowerState={one_or_six}', 'EnabledState=enabled'], []),
    '/system1/sensors1': ([], ['sensor1', 'sensor2', 'sensor3']),
    '/system1/sensors1/sensor1': (['DeviceID=CPU1 Temp', 'SensorType=2', 'BaseUnits=2', 'UnitModifier=0', 'CurrentReading=55',
                                   'UpperThresholdCritical=85', 'HealthState=5'], []),
    '/system1/sensors1/sensor2': (['DeviceID=12V', 'SensorType=3', 'BaseUnits=5', 'UnitModifier=-2', 'CurrentReading=1212',
                                   'LowerThresholdCritical=1080', 'HealthState=5'], []),
    '/system1/sensors1/sensor3': (['DeviceID=FAN1', 'SensorType=5', 'BaseUnits=19', 'CurrentReading=0', 'HealthState=25'], []),
}
DELL = {
    '/': ([], ['admin1']),
    '/admin1': ([], ['system1', 'hdwr1', 'profiles1']),
    '/admin1/system1': (['CreationClassName = CIM_ComputerSystem', 'EnabledState = {two_or_three}', 'HealthState = 5 (OK)'],
                        ['logs1', 'sp1', 'tempsensor1']),
    '/admin1/system1/tempsensor1': (['ElementName = System Board Inlet Temp', 'SensorType = 2', 'BaseUnits = 2',
                                     'CurrentReading = 23', 'HealthState = 5 (OK)'], []),
}
ILO = {
    '/': ([], ['system1', 'map1']),
    '/system1': (['name=ProLiant DL380 Gen9', 'enabledstate={word}'], ['firmware1', 'sensor1', 'fan1', 'powersupply1']),
    '/system1/sensor1': (['DeviceID=01-Inlet Ambient', 'ElementName=Ambient', 'OperationalStatus=Ok', 'RateUnits=Celsius',
                          'CurrentReading=19', 'SensorType=Temperature', 'HealthState=Ok', 'oemhp_CautionValue=42',
                          'oemhp_CriticalValue=46'], []),
    '/system1/fan1': (['DeviceID=Fan 1', 'ElementName=System', 'OperationalStatus=Ok', 'DesiredSpeed=25 percent',
                       'HealthState=Ok'], []),
    '/system1/powersupply1': (['ElementName=Power Supply', 'OperationalStatus=Failed', 'HealthState=Failed'], []),
    '/map1/firmware1': (['version=2.82', 'date=Feb 06 2023', 'name=iLO 4'], []),
}
GREETING = {'aten': 'Insyde SMASH-CLP System Management Shell, versions 1.05\nCopyright (c) 2015-2016\nAll Rights Reserved\n\n\n',
            'dell': '\n', 'ilo': 'User:admin logged-in to ILOGB8 (10.0.0.9 / FE80::1)\niLO Standard 2.82\nServer Name: gpu\n\n',
            'racadm': ''}
PROMPT = {'aten': '-> ', 'dell': '\x1b[1;32m/admin1->\x1b[0m ', 'ilo': '</>hpiLO-> ', 'racadm': 'racadm>>'}
TREE = {'aten': ATEN, 'dell': DELL, 'ilo': ILO, 'racadm': {}}
SWITCH = {'aten': '/system1/pwrmgtsvc1', 'dell': '/admin1/system1', 'ilo': '/system1', 'racadm': ''}


class Clp:
    def __init__(self, dialect, folder):
        self.dialect, self.folder = dialect, pathlib.Path(folder)
        self.trouble = (self.folder / 'trouble').read_text().split() if (self.folder / 'trouble').exists() else ['']

    def on(self):
        return (self.folder / 'power').read_text().strip() == '1'

    def say(self, text):
        sys.stdout.write(text)
        sys.stdout.flush()

    def status(self, error=''):
        if self.dialect == 'aten':
            return error.capitalize() + '\n' if error else ''
        tag = 'COMMAND PROCESSING FAILED' if error else 'COMMAND COMPLETED'
        return f'status={2 if error else 0}\nstatus_tag={tag}\n' + (f'error_tag={error}\n' if error else '')

    def show(self, path):
        if path not in TREE[self.dialect]:
            return self.status('INVALID TARGET')
        properties, targets = TREE[self.dialect][path]
        on = self.on()
        values = {'one_or_six': 1 if on else 6, 'two_or_three': '2 (Enabled)' if on else '3 (Disabled)',
                  'word': 'enabled' if on else 'disabled'}
        verbs = ['cd', 'show', 'help', 'version', 'exit'] + (['start', 'stop', 'reset'] if path == SWITCH[self.dialect] else [])
        colon = {'aten': ' :', 'dell': ':', 'ilo': ''}[self.dialect]
        shown = [properties_line.format(**values) for properties_line in properties]
        sections = [('Targets', targets or ['none'] * (self.dialect == 'aten')), ('Properties', shown),
                    ('Verbs', [' '.join(verbs)] if self.dialect == 'ilo' else verbs)]
        text = self.status() + f'\n{path}\n\n'
        for name, entries in sections:
            text += f'  {name}{colon}\n' + ''.join(f'    {entry}\n' for entry in entries) + '\n'
        return text

    def switch(self, verb, words):
        force = '-force' in words
        path = [word for word in words if not word.startswith('-')][-1:]
        if force and self.dialect == 'dell':
            return self.status('COMMAND SYNTAX ERROR')
        if path != [SWITCH[self.dialect]]:
            return self.status('INVALID TARGET')
        if verb != 'reset':
            (self.folder / 'power').write_text('1\n' if verb == 'start' else '0\n')
        return self.status() + f'\n{path[0]}\n{verb} done...\n'

    def answer(self, line):
        verb, *words = line.split()
        if self.trouble[0] == 'hang' and self.trouble[1] in words:
            time.sleep(3600)
        if verb == 'show' and len(words) == 1:
            return self.show(words[0])
        if verb in ('start', 'stop', 'reset'):
            return self.switch(verb, words)
        return self.status('COMMAND NOT RECOGNIZED')

    def run(self):
        self.say(GREETING[self.dialect])
        if self.trouble[0] == 'hang' and self.trouble[1] == 'login':
            time.sleep(3600)
        if self.trouble[0] == 'phish':
            self.say("admin@127.0.9.1's password: ")
        while self.trouble[0] == 'endless':
            self.say('0123456789abcdef' * 64)
        self.say(PROMPT[self.dialect])
        for line in sys.stdin:
            with (self.folder / 'heard').open('a') as heard:
                heard.write(line)
            if line.strip() == 'exit':
                return
            self.say((self.answer(line) if line.strip() else '') + PROMPT[self.dialect])


Clp(*sys.argv[1:3]).run()
