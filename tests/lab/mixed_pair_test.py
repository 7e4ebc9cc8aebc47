#!/usr/bin/env python3
"""An x86-64 and an arm64 machine, as the owner of a PC and a DGX Spark has them: scripts/package makes the packages of both
builds, and the x86-64 one, unpacked, proves the pair of emulated machines with the agent that it holds for arm64.

RAILBED is the x86-64 program, RAILBED_ARM64 the other (default: build/arm64/railbed), both in the folders they were built in.
Skips itself without the latter. RAILBED_KEEP names a folder for the report that is to stay. No number is judged: every
speed is an emulator's.
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from vm_pair import Pair  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

ROOT = HERE.parent.parent
RAILBED = pathlib.Path(os.environ.get('RAILBED', ROOT / 'build/release/railbed')).resolve()
ARM64 = pathlib.Path(os.environ.get('RAILBED_ARM64', ROOT / 'build/arm64/railbed')).resolve()
NEEDED = ('rpmbuild', 'qemu-system-aarch64', 'qemu-aarch64-static')
PAIR = Pair(os.environ.get('RAILBED_LAB', ROOT / 'build/lab'), architecture='aarch64')
# What emulators of unlike processors do on a busy machine: one is slower than the other, and packets are sent again.
OF_EMULATION = {'measured.both-ways', 'measured.rdma-beats-tcp', 'measured.latency', 'measured.loss'}
# The guests' root file system tells df no size, so the agent lies in memory.
AGENT = 'exec $(ls -t /dev/shm/railbed-0/agents/*/railbed | head -n 1) agent'
MACHINES = {'vm1': 'x86_64', 'vm2': 'aarch64'}


def installed(folder):
    """The program of the x86-64 tarball, unpacked as a person without root does."""
    subprocess.run([sys.executable, ROOT / 'scripts/package', RAILBED.parent, ARM64.parent, '--level', '1', '--output', folder],
                   check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=300)
    tarball, = folder.glob('railbed-*-linux-x86_64.tar.gz')
    subprocess.run(['tar', '-xf', tarball, '-C', folder, '--strip-components=1'], check=True)
    return folder / 'bin/railbed'


def facts_of(words):
    """What an agent that these words start answers to "facts" (docs/reference/agent-protocol.md, "Frames")."""
    request = b'{"method": "facts", "deadline_ms": 60000}\n{}'
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        agent.stdin.write(b'\0RBF\1\2\0\0' + struct.pack('>II', 1, len(request)) + request)
        agent.stdin.flush()
        kind = 0
        while kind not in (3, 4):
            _, _, kind, _, _, size = struct.unpack('>4sBBHII', agent.stdout.read(16))
            body = agent.stdout.read(size)
        agent.stdin.close()
    return json.loads(body)


class MixedPair(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix='railbed-mixed-')
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.program = installed(cls.folder)
        was_up = PAIR.locked()
        PAIR.up()
        if not was_up:
            cls.addClassCleanup(PAIR.down)

    def railbed(self, *words):
        return subprocess.run([self.program, *words, '--connect-timeout', '60'], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=300,
                              env={**os.environ, 'XDG_STATE_HOME': str(self.folder / 'state')})

    def test_each_machine_tells_its_facts_by_an_agent_of_its_own(self):
        done = self.railbed('verify', str(PAIR.cluster), '--json')
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        for node, machine in MACHINES.items():
            facts = facts_of(PAIR.ssh_argv(node, AGENT))
            self.assertEqual(facts['system']['os']['architecture']['value'], machine)
            self.assertEqual([device['name'] for device in facts['rdma']['devices']['value']], ['rxe0'])

    def test_they_are_proven_over_tcp_and_rdma_both_ways(self):
        done = self.railbed('prove', str(PAIR.cluster), '--measurements', 'measurements.json', '--json')
        if 'RAILBED_KEEP' in os.environ:
            shutil.copy(self.folder / 'report.html', os.environ['RAILBED_KEEP'])
        self.assertIn(done.returncode, (0, 1, 2), done.stdout[:4000] + done.stderr)
        found = json.loads(done.stdout)['findings']
        self.assertEqual([one for one in found if one['status'] == 'unknown'], [], done.stderr)
        failed = [one for one in found if one['status'] == 'fail']
        self.assertEqual([one for one in failed if one['rule'] not in OF_EMULATION], [], done.stderr)
        measured = json.loads((self.folder / 'measurements.json').read_text())['measurements']
        for one in measured:
            self.assertIsNone(one['failure'], one)
            self.assertEqual(one['wrong_bytes'], 0, one)
        ways = {(m['engine'], m['metric'], m['from']['node']) for m in measured if m['summary']['median'] > 0}
        self.assertLessEqual({(engine, 'bandwidth', node) for engine in ('tcp', 'rdma') for node in MACHINES}, ways)
        self.assertLessEqual({('tcp', 'latency'), ('rdma', 'latency')}, {way[:2] for way in ways})
        page = (self.folder / 'report.html').read_text()
        for word in ('vm1', 'vm2', 'rail0', 'rxe0', 'TCP', 'RDMA'):
            self.assertIn(word, page)


if __name__ == '__main__':
    if missing := [str(one) for one in (RAILBED, ARM64) if not one.exists()] + [one for one in NEEDED if not shutil.which(one)]:
        print(f'no {", ".join(missing)}: docs/how-to/install.md, "Make the packages"')
        sys.exit(77)
    guardian.begin()
    unittest.main(verbosity=2)
