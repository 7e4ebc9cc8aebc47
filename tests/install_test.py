#!/usr/bin/env python3
"""cmake --install into an empty folder: what is there works from there, and nothing else is there."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ['RAILBED']).resolve().parent


class Install(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.place = pathlib.Path(kept.name)

    def install(self, *words, **environment):
        subprocess.run(['cmake', '--install', BUILD, *words], check=True, capture_output=True, env={**os.environ, **environment})

    def run_there(self, *words):
        return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, timeout=60).stdout

    def test_everything_is_in_its_place(self):
        self.install('--prefix', self.place)
        files = sorted(str(file.relative_to(self.place)) for file in self.place.rglob('*') if file.is_file())
        examples = [file for file in files if file.startswith(('share/doc/railbed/examples/', 'share/doc/railbed/schema/'))]
        self.assertIn('share/doc/railbed/examples/v100-pair.yaml', examples)
        self.assertIn('share/doc/railbed/schema/findings.schema.json', examples)
        self.assertEqual(sorted(set(files) - set(examples)),
                         ['bin/railbed', 'lib/systemd/system/railbed-monitor.service', 'share/bash-completion/completions/railbed',
                          'share/fish/vendor_completions.d/railbed.fish', 'share/man/man1/railbed.1'])
        railbed = self.place / 'bin/railbed'
        self.assertTrue(self.run_there(railbed, 'version').startswith('railbed '))
        self.run_there(railbed, 'check', self.place / 'share/doc/railbed/examples/v100-pair.yaml')
        # The example works where it lies, without the repository.
        pair = self.place / 'share/doc/railbed/examples/sick-pair'
        done = subprocess.run([railbed, 'verify', '--root', pair], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (2, ''), done.stdout)
        self.assertIn('FAIL  gpu02: ens17np0 runs at 200 Gb/s', done.stdout)
        unit = (self.place / 'lib/systemd/system/railbed-monitor.service').read_text()
        self.assertIn(f'ExecStart={railbed} monitor', unit)
        script = f'source {self.place}/share/bash-completion/completions/railbed && complete -p railbed'
        self.assertIn('railbed', self.run_there('bash', '-c', script))

    @unittest.skipUnless(shutil.which('systemd-analyze'), 'no systemd-analyze')
    def test_systemd_takes_the_unit(self):
        self.install('--prefix', self.place)
        unit = self.place / 'lib/systemd/system/railbed-monitor.service'
        said = subprocess.run(['systemd-analyze', 'verify', '--man=no', unit], capture_output=True, text=True, timeout=60)
        self.assertEqual((said.returncode, said.stdout + said.stderr), (0, ''))
        exposed = subprocess.run(['systemd-analyze', 'security', '--offline=yes', unit], capture_output=True, text=True, timeout=60)
        level = re.search(r'Overall exposure level for railbed-monitor.service: ([0-9.]+)', exposed.stdout)
        self.assertTrue(level, exposed.stdout + exposed.stderr)
        self.assertLessEqual(float(level[1]), 4.0)

    def test_for_a_package(self):
        self.install('--prefix', '/usr', DESTDIR=str(self.place))
        self.assertTrue((self.place / 'usr/bin/railbed').is_file())
        self.assertTrue((self.place / 'usr/share/bash-completion/completions/railbed').is_file())
        self.assertEqual([folder.name for folder in self.place.iterdir()], ['usr'])

    def test_the_build_shows_how_far_it_is(self):
        ninja = "for i in 1 2; do echo \"[$i/2] Building CXX object a.o\"; done; echo 'a.cc:1: error: no'; exit 7"
        shown = subprocess.run([ROOT / 'scripts/build-with-progress', 'sh', '-c', ninja], capture_output=True, text=True, timeout=60)
        self.assertEqual((shown.returncode, shown.stdout), (7, ''))
        self.assertIn('a.cc:1: error: no\n', shown.stderr)
        self.assertNotIn('Building', shown.stderr)


if __name__ == '__main__':
    unittest.main()
