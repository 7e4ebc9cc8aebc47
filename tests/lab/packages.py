"""Packages of this distribution without root: apt-get solves and downloads, and nothing is installed."""
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.parse

# Dependencies on paper: nothing in the guest runs them, and firmware alone would be half a gigabyte.
UNUSED_PACKAGES = re.compile(r'perl|lib.*-perl$|libperl|.*firmware|.*-microcode$'
                             r'|initramfs-tools|klibc|libklibc|udev$')
UNUSED_PATHS = ('./usr/share/doc', './usr/share/man', './usr/share/locale', '*/kernel/sound',
                '*/kernel/drivers/gpu', '*/kernel/drivers/media', '*/kernel/drivers/net/wireless')



class LabError(Exception):
    """Something the person at the keyboard can act on; shown without a traceback."""


_began = time.monotonic()


def progress(text):
    print(f'lab {time.monotonic() - _began:6.1f}s  {text}', file=sys.stderr, flush=True)


def run(argv, **kwargs):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, **kwargs)
    if done.returncode:
        tail = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise LabError(f'{os.path.basename(argv[0])} {" ".join(argv[1:3])}…: exit {done.returncode}\n  ' +
                       '\n  '.join(tail))
    return done.stdout


def write_private(path, data):
    """Whole or not at all, and for the owner only."""
    scratch = path.with_name(path.name + '.new')
    scratch.unlink(missing_ok=True)
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'wb') as out:
        out.write(data if isinstance(data, bytes) else data.encode())
    os.replace(scratch, path)


class Apt:
    """apt-get without root: solves, downloads and unpacks; installs nothing."""

    def __init__(self, folder, architecture=None):
        """`architecture`: Debian's word for another than this machine's, of which nothing is installed."""
        self.folder = folder
        self.debs = folder / 'debs'
        (self.debs / 'partial').mkdir(parents=True, exist_ok=True)
        self.empty_status = folder / 'empty-status'
        self.empty_status.write_text('')
        # --print-uris leaves out what it finds in the archive folder: give it one that stays empty.
        (folder / 'apt/archives/partial').mkdir(parents=True, exist_ok=True)
        # No sandbox user: as root, apt would download as a user who may not enter this folder.
        self.options = ['-o', 'Debug::NoLocking=1', '-o', 'APT::Sandbox::User=',
                        '-o', f'Dir::Cache={folder}/apt']
        if architecture:
            self.options += ['-o', f'APT::Architecture={architecture}', '-o', f'APT::Architectures={architecture}']

    def solve(self, names, installed):
        """Package files that `names` need: (package, version, file). `installed`: less what this host has."""
        argv = ['apt-get', *self.options, '-y', '--no-install-recommends', '--print-uris']
        if not installed:
            argv += ['-o', f'Dir::State::status={self.empty_status}']
        files = []
        for line in run([*argv, 'install', *names]).splitlines():
            if not line.startswith("'"):
                continue
            file = line.split()[1]
            package, version, _ = file.split('_', 2)
            # QEMU must run with the C library that this host has already loaded it by.
            if not UNUSED_PACKAGES.match(package) and not (installed and package in ('libc6', 'libc-bin')):
                files.append((package, urllib.parse.unquote(version), file))
        return files

    def refresh(self):
        """Own package lists: the system's may be absent (fresh containers) or too old to download by."""
        progress('package lists (the system has none that serve)')
        lists = self.folder / 'apt/lists'
        (lists / 'partial').mkdir(parents=True, exist_ok=True)
        self.options += ['-o', f'Dir::State::lists={lists}']
        run(['apt-get', *self.options, 'update'])

    def get(self, alternatives, root, installed=False):
        """Downloads and unpacks the first of `alternatives` (lists of names) that can be had, into `root`."""
        try:
            files = self.solve_first(alternatives, installed)
            self.download(files)
        except LabError:
            self.refresh()
            files = self.solve_first(alternatives, installed)
            self.download(files)
        contents = '\n'.join(file for _, _, file in files)
        if (root / '.complete').exists() and (root / '.complete').read_text() == contents:
            return
        progress(f'unpack {len(files)} packages')
        shutil.rmtree(root, ignore_errors=True)
        for name in ('bin', 'sbin', 'lib', 'lib64'):  # merged /usr, whichever way each package was built
            (root / 'usr' / name).mkdir(parents=True)
            (root / name).symlink_to(f'usr/{name}')
        for _, _, file in files:
            unpack(self.debs / file, root)
        (root / '.complete').write_text(contents)

    def solve_first(self, alternatives, installed):
        for names in alternatives[:-1]:
            try:
                return self.solve(names, installed)
            except LabError:
                pass
        return self.solve(alternatives[-1], installed)

    def download(self, files):
        missing = [(p, v) for p, v, file in files if not (self.debs / file).exists()]
        if not missing:
            return
        progress(f'download {len(missing)} packages')
        # apt-get checks each file against the signed lists. In groups, so that there is progress to show.
        for i in range(0, len(missing), 40):
            group = missing[i:i + 40]
            run(['apt-get', *self.options, '-q', 'download', *(f'{p}={v}' for p, v in group)], cwd=self.debs)
            progress(f'  {min(i + 40, len(missing))} of {len(missing)}')


def unpack(deb, root):
    with subprocess.Popen(['dpkg-deb', '--fsys-tarfile', str(deb)], stdout=subprocess.PIPE) as packed:
        run_tar = subprocess.run(['tar', '-x', '--keep-directory-symlink', '--no-same-owner', '-C', str(root),
                                  *(f'--exclude={p}' for p in UNUSED_PATHS)], stdin=packed.stdout,
                                 stderr=subprocess.PIPE, text=True)
        packed.stdout.close()
    if packed.returncode or run_tar.returncode:
        raise LabError(f'cannot unpack {deb}: {run_tar.stderr.strip()[-300:]}')


