#!/usr/bin/env python3
"""The packages that scripts/package makes: dpkg and rpm install them into empty roots, upgrade them and remove them without a
trace; two runs give the same bytes. Skips itself without rpm, dpkg, or the right to be root in a namespace."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import guardian

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ['RAILBED']).resolve().parent
AS_ROOT = [] if os.getuid() == 0 else ['unshare', '-r']
OLDER = '0.0.1'
PLACES = ['usr/bin/railbed', 'usr/lib/systemd/system/railbed-monitor.service', 'usr/share/bash-completion/completions/railbed',
          'usr/share/fish/vendor_completions.d/railbed.fish', 'usr/share/man/man1/railbed.1.gz',
          'usr/share/doc/railbed/changelog.gz', 'usr/share/doc/railbed/railbed.spdx.json',
          'usr/share/doc/railbed/examples/v100-pair.yaml']


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, **more)
    if done.returncode:
        raise AssertionError(f'{words} ended with {done.returncode}:\n{done.stdout}')
    return done.stdout


def make(output, *more):
    run(SOURCE / 'scripts/package', BUILD, '--level', '1', '--output', output, *more)
    return output


def everything_in(root, but):
    return sorted(str(path.relative_to(root)) for path in root.rglob('*') if not path.is_relative_to(root / but))


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.place = pathlib.Path(kept.name)
        cls.new = make(cls.place / 'new')
        cls.old = make(cls.place / 'old', '--version', OLDER)
        cls.version = run(os.environ['RAILBED'], 'version').split()[1]

    def one(self, folder, pattern):
        found = list(folder.glob(pattern))
        self.assertEqual(len(found), 1, pattern)
        return found[0]

    def empty_root(self, *folders):
        root = pathlib.Path(tempfile.mkdtemp(dir=self.place))
        for folder in folders:
            (root / folder).mkdir(parents=True)
        return root

    def self_check(self, program):
        done = subprocess.run([program, 'self-check', '--json'], capture_output=True, text=True, timeout=60)
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        return json.loads(done.stdout)

    def works_in(self, root):
        for place in PLACES:
            self.assertTrue((root / place).is_file(), place)
        program = root / 'usr/bin/railbed'
        self.assertEqual(run(program, 'version').strip(), f'railbed {self.version}')
        said = self.self_check(program)
        self.assertEqual(said['self']['path'], str(program))
        self.assertEqual(said['self']['sha256'], hashlib.sha256(program.read_bytes()).hexdigest())
        # Neither stripping nor packing took the agent out of it.
        carried = said['agents'][0]
        self.assertEqual((carried['architecture'], carried['path'], carried['problem']), (said['self']['architecture'], str(program), ''))

    def test_without_rpmbuild_there_is_a_deb(self):
        tools = pathlib.Path(tempfile.mkdtemp(dir=self.place))
        for folder in os.environ['PATH'].split(':'):
            for program in pathlib.Path(folder).glob('*'):
                if program.name != 'rpmbuild' and not (tools / program.name).is_symlink():
                    (tools / program.name).symlink_to(program)
        words = [SOURCE / 'scripts/package', BUILD, '--level', '1', '--output', self.place / 'debian']
        env = {**os.environ, 'PATH': str(tools)}
        done = subprocess.run([*words, '--forms', 'deb,tar'], capture_output=True, text=True, timeout=120, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.one(self.place / 'debian', '*.deb')
        self.assertEqual(list((self.place / 'debian').glob('*.rpm')), [])
        done = subprocess.run([*words, '--forms', 'rpm'], capture_output=True, text=True, timeout=120, env=env)
        self.assertEqual((done.returncode, done.stdout), (3, ''))
        self.assertIn('no rpmbuild here', done.stderr)

    def test_dpkg_installs_upgrades_and_removes(self):
        root = self.empty_root('var/lib/dpkg/info', 'var/lib/dpkg/updates', 'var/lib/dpkg/triggers')
        (root / 'var/lib/dpkg/status').touch()
        before = everything_in(root, 'var/lib/dpkg')
        dpkg = [*AS_ROOT, 'dpkg', f'--root={root}', '--force-script-chrootless', '--force-depends', '--log=/dev/null']
        for folder, version in ((self.old, OLDER), (self.new, self.version)):
            run(*dpkg, '--install', self.one(folder, '*.deb'))
            said = run('dpkg-query', f'--admindir={root}/var/lib/dpkg', '-W', '-f', '${Version} ${db:Status-Status}', 'railbed')
            self.assertEqual(said, f'{version}-1 installed')
            self.works_in(root)
        self.assertEqual(run(*dpkg, '--verify', 'railbed'), '')
        run(*dpkg, '--purge', 'railbed')
        self.assertEqual(everything_in(root, 'var/lib/dpkg'), before)

    def test_an_upgrade_restarts_the_monitor_once(self):
        place = pathlib.Path(tempfile.mkdtemp(dir=self.place))
        run('dpkg-deb', '--control', self.one(self.new, '*.deb'), place / 'control')
        (place / 'systemctl').write_text(f'#!/bin/sh\necho "$@" >> {place}/told\n')
        (place / 'systemctl').chmod(0o755)
        for script, words, expected in (('postinst', 'configure 0.0.1-1', ['daemon-reload', 'try-restart railbed-monitor.service']),
                                        ('postinst', 'configure ""', ['daemon-reload']),
                                        ('prerm', 'upgrade 9.9.9-1', []), ('postrm', 'upgrade 9.9.9-1', []),
                                        ('prerm', 'remove', ['--no-reload disable --now railbed-monitor.service'])):
            (place / 'told').write_text('')
            within = f'mount -t tmpfs none /run && mkdir -p /run/systemd/system && PATH={place}:$PATH {place}/control/{script} {words}'
            run('unshare', '-m', *(['-r'] if AS_ROOT else []), 'sh', '-c', within)
            self.assertEqual((place / 'told').read_text().splitlines(), expected, (script, words))

    def test_rpm_installs_upgrades_and_removes(self):
        root = self.empty_root('var/lib/rpm', 'usr/bin', 'usr/lib/systemd/system', 'usr/share/doc', 'usr/share/man/man1')
        rpm = [*AS_ROOT, 'rpm', '--root', root, '--dbpath', '/var/lib/rpm']
        run(*rpm, '--initdb')
        before = everything_in(root, 'var/lib/rpm')
        for folder, version in ((self.old, OLDER), (self.new, self.version)):
            run(*rpm, '--nodeps', *(['--force-debian'] if pathlib.Path('/etc/debian_version').exists() else []), '--upgrade',
                self.one(folder, '*.rpm'))
            self.assertEqual(run(*rpm, '-q', '--queryformat', '%{VERSION}', 'railbed'), version)
            self.works_in(root)
        self.assertEqual(run(*rpm, '--verify', '--nodeps', 'railbed'), '')
        run(*rpm, '--nodeps', '--erase', 'railbed')
        self.assertEqual(everything_in(root, 'var/lib/rpm'), before)

    def test_nothing_but_the_c_library_is_needed(self):
        deb, rpm = self.one(self.new, '*.deb'), self.one(self.new, '*.rpm')
        self.assertEqual(run('dpkg-deb', '-f', deb, 'Depends').strip(), 'libc6 (>= 2.34), libgcc-s1')
        self.assertEqual(run('dpkg-deb', '-f', deb, 'Recommends').strip(), 'openssh-client')
        self.assertEqual(run('dpkg-deb', '-f', deb, 'Suggests').strip(), 'rdma-core, fio')
        for line in run('rpm', '-qp', '--requires', rpm).splitlines():
            self.assertRegex(line, r'^(rpmlib\(|rtld\(|(libc|libm|libgcc_s|ld-linux-[\w-]+)\.so\.\d)')
        self.assertEqual(run('rpm', '-qp', '--suggests', rpm).split(), ['fio', 'rdma-core'])
        self.assertEqual(run('rpm', '-qp', '--recommends', rpm).split(), ['openssh-clients'])

    def test_the_same_bytes_again(self):
        again = make(self.place / 'again')
        sums = {folder: {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
                for folder in (self.new, again)}
        self.assertEqual(sums[self.new], sums[again])
        run('sha256sum', '--check', '--quiet', 'SHA256SUMS', cwd=self.new)

    def test_the_tarball_works_where_it_is_unpacked(self):
        archive = self.one(self.new, '*.tar.gz')
        with tarfile.open(archive) as tar:
            self.assertEqual({entry.name.split('/')[0] for entry in tar}, {archive.name.removesuffix('.tar.gz')})
            self.assertEqual({(entry.uid, entry.gid) for entry in tar}, {(0, 0)})
        root = self.empty_root()
        run('tar', '-xf', archive, '-C', root)
        program = self.one(root, '*/bin/railbed')
        self.assertEqual(self.self_check(program)['railbed'], self.version)
        run(program, 'check', program.parent.parent / 'share/doc/railbed/examples/v100-pair.yaml')

    def test_what_is_linked_in_is_said(self):
        document = json.loads(self.one(self.new, '*.spdx.json').read_text())
        packages = {package['SPDXID']: package for package in document['packages']}
        linked = {packages[entry['relatedSpdxElement']]['name']: packages[entry['relatedSpdxElement']]
                  for entry in document['relationships'] if entry['relationshipType'] == 'STATIC_LINK'}
        self.assertEqual({name for name in linked if not name.startswith('libstdc++')},
                         {'libarchive-dev', 'libcrypt-dev', 'liblzma-dev', 'libsqlite3-dev', 'libssl-dev', 'libyaml-cpp-dev',
                          'zlib1g-dev'})
        self.assertEqual(linked['libssl-dev']['versionInfo'], run('dpkg-query', '-W', '-f', '${Version}', 'libssl-dev'))
        self.assertEqual(linked['libssl-dev']['licenseDeclared'], 'Apache-2.0')
        licences = {one['licenseId'] for one in document['hasExtractedLicensingInfos']}
        for package in packages.values():
            declared = package['licenseDeclared']
            self.assertTrue(declared in licences or re.fullmatch(r'[\w.-]+', declared) and not declared.startswith('LicenseRef'), package)
            self.assertNotEqual(declared, 'NOASSERTION', package)

    def test_what_is_no_build_is_refused(self):
        done = subprocess.run([SOURCE / 'scripts/package', self.place], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 64)
        self.assertIn('build the target railbed there first', done.stderr)


if __name__ == '__main__':
    missing = [program for program in ('rpm', 'rpmbuild', 'dpkg', 'dpkg-deb', 'ninja', 'git') if not shutil.which(program)]
    if missing or subprocess.run([*AS_ROOT, 'true'], capture_output=True).returncode:
        print(f'skipped: no {", ".join(missing) or "user namespaces"} here')
        sys.exit(77)
    guardian.begin()
    unittest.main()
