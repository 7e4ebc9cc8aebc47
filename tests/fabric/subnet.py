"""A simulated InfiniBand subnet: ibsim, OpenSM, and programs that ask it through umad2sim. Everything that was started is
stopped by its process id."""
import contextlib
import glob
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RAILBED = os.environ.get('RAILBED', str(ROOT / 'build/release/railbed'))


def preload():
    """The library that stands between a program and the simulator; None where it is not installed."""
    found = glob.glob('/usr/lib/*/umad2sim/libumad2sim.so') + glob.glob('/usr/lib*/umad2sim/libumad2sim.so')
    return found[0] if found else None


def missing():
    """What keeps a subnet from being simulated here, or nothing."""
    lacking = [name for name in ('ibsim', 'opensm') if not shutil.which(name, path=os.environ['PATH'] + ':/usr/sbin:/sbin')]
    return lacking or ([] if preload() else ['libumad2sim.so'])


def leaf_guid(number):
    return 0x0002c90200400000 + number * 16


def hca_guid(number):
    return 0x0002c90300100000 + number * 16


class Tree:
    """A fat tree of two levels, as cables that a test may move before it is written."""

    def __init__(self, leaves, hcas, spines, links=1, speed='HDR', width=4, rails=0):
        self.leaves, self.spines = leaves, spines
        self.cables = []  # [(node, port), (node, port), width, speed]
        self.names, self.ports, self.guids, self.devices = {}, {}, {}, {}
        for leaf in range(leaves):
            self.add(f'leaf{leaf:02d}', hcas + spines * links + 4, leaf_guid(leaf), 0xd2f0)
        for spine in range(spines):
            self.add(f'spine{spine:02d}', leaves * links + 4, leaf_guid(leaves + spine), 0xd2f0)
        for number in range(leaves * hcas):
            leaf, hole = divmod(number, hcas)
            name = f'node{number:03d} mlx5_0'
            if rails:  # leaf k of each group holds device k of all its hosts
                group, rail = divmod(leaf, rails)
                name = f'node{group * hcas + hole:03d} mlx5_{rail}'
            self.add(name, 1, hca_guid(number), 0x101b)
            self.cables.append([(f'leaf{leaf:02d}', hole + 1), (name, 1), width, speed])
        for leaf in range(leaves):
            for spine in range(spines):
                for link in range(links):
                    self.cables.append([(f'leaf{leaf:02d}', hcas + spine * links + link + 1),
                                        (f'spine{spine:02d}', leaf * links + link + 1), width, speed])

    def add(self, name, ports, guid, device):
        self.ports[name], self.guids[name], self.devices[name] = ports, guid, device

    def is_switch(self, name):
        return self.devices[name] == 0xd2f0 or name.startswith(('leaf', 'spine'))

    def cable(self, node, port):
        return next(one for one in self.cables if (node, port) in one[:2])

    def replug(self, node, port, old, new):
        """The cable of (node, port) leaves the hole `old` for the hole `new`."""
        one = self.cable(node, port)
        one[one[:2].index(old)] = new

    def swap(self, one, other):
        """Exchanges the cables in two holes."""
        a, b = self.cable(*one), self.cable(*other)
        i, j = a[:2].index(one), b[:2].index(other)
        a[i], b[j] = other, one

    def unplug(self, node, port):
        self.cables.remove(self.cable(node, port))

    def remove(self, name):
        self.cables = [one for one in self.cables if name not in (one[0][0], one[1][0])]
        del self.ports[name]

    def text(self):
        """In the format of ibnetdiscover; nodes that no cable reaches are left out."""
        lines = {}
        lids = {name: place + 1 for place, name in enumerate(self.ports)}
        key = {name: f'"{"S" if self.is_switch(name) else "H"}-{self.guids[name]:016x}"' for name in self.ports}

        def port_guid(name):
            return '' if self.is_switch(name) else f'({self.guids[name] + 1:x})'

        for end, other, width, speed in self.cables:
            for (name, port), (peer, far) in ((end, other), (other, end)):
                own = '' if self.is_switch(name) else f' lid {lids[name]} lmc 0'
                lines.setdefault(name, []).append(
                    (port, f'[{port}]{port_guid(name)} \t{key[peer]}[{far}]{port_guid(peer)} \t\t#{own} "{peer}" lid {lids[peer]} '
                           f'{width}x{speed}'))
        out = []
        for name in sorted(lines, key=lambda name: not self.is_switch(name)):
            guid = self.guids[name]
            out.append(f'vendid=0x2c9\ndevid=0x{self.devices[name]:x}\nsysimgguid=0x{guid:x}')
            if self.is_switch(name):
                out.append(f'switchguid=0x{guid:x}({guid:x})\nSwitch\t{self.ports[name]} {key[name]}\t\t# "{name}" enhanced '
                           f'port 0 lid {lids[name]} lmc 0')
            else:
                out.append(f'caguid=0x{guid:x}\nCa\t{self.ports[name]} {key[name]}\t\t# "{name}"')
            out += [line for _, line in sorted(lines[name])] + ['']
        return '\n'.join(out)


class Subnet:
    """A simulator with a folder and a socket name of its own."""

    def __init__(self, topology, limits=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='railbed-ib-'))
        self.name = self.folder.name
        self.managers = []
        (self.folder / 'net').write_text(topology)
        self.out = open(self.folder / 'console', 'wb')
        self.simulator = subprocess.Popen(['ibsim', '-s', *limits, 'net'], cwd=self.folder, env=self.environment(),
                                          stdin=subprocess.PIPE, stdout=self.out, stderr=subprocess.STDOUT)
        try:
            self.until(lambda: 'simulator ready' in self.console(), 'the simulator')
        except BaseException:
            self.close()
            raise

    def environment(self, host=None):
        env = {**os.environ, 'IBSIM_SOCKNAME': self.name, 'OSM_TMP_DIR': str(self.folder), 'OSM_CACHE_DIR': str(self.folder),
               'PATH': os.environ['PATH'] + ':/usr/sbin:/sbin'}
        if host is not None:
            env |= {'SIM_HOST': f'H-{hca_guid(host):016x}', 'LD_PRELOAD': preload()}
        return env

    def console(self):
        return (self.folder / 'console').read_text(errors='replace')

    def until(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f'{what} did not come: {self.console()[-2000:]}')
            time.sleep(0.02)

    def say(self, command):
        """To the simulator's console, which takes it before the next datagram."""
        self.simulator.stdin.write((command + '\n').encode())
        self.simulator.stdin.flush()
        time.sleep(0.3)

    def manage(self, host=0, *options):
        """Starts OpenSM on an HCA and waits until the subnet is up, or it stands by."""
        number = len(self.managers)
        log, conf = self.folder / f'osm{number}.log', self.folder / 'osm.conf'
        conf.write_text('force_log_flush TRUE\nsweep_interval 1\n')
        env = self.environment(host) | {'OSM_CACHE_DIR': str(self.folder / f'cache{number}')}
        (self.folder / f'cache{number}').mkdir()
        with open(self.folder / f'osm{number}.out', 'wb') as out:
            self.managers.append(subprocess.Popen(['opensm', '-F', str(conf), '-f', str(log), *options], cwd=self.folder, env=env,
                                                  stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT))
        self.until(lambda: log.exists() and any(word in log.read_text(errors='replace') for word in
                                                ('SUBNET UP', 'Entering STANDBY')), 'OpenSM')
        return self.managers[-1]

    def run(self, *words, host=1, timeout=120):
        return subprocess.run(words, env=self.environment(host), cwd=self.folder, capture_output=True, text=True, timeout=timeout)

    def railbed(self, *words, host=1, timeout=120):
        return self.run(RAILBED, 'fabric', *words, host=host, timeout=timeout)

    @staticmethod
    def stop(process):
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def close(self):
        for manager in self.managers:
            self.stop(manager)
        with contextlib.suppress(OSError):
            self.simulator.stdin.close()
        self.stop(self.simulator)
        self.out.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
