"""Nodes to reach over real ssh, on one machine: each is a network namespace with its own sshd, mounts, host name
and process ids, joined by a bridge in a namespace of its own. Needs root; touches nothing outside what it makes.

    with SshdFleet({"node01": {}, "node02": {"home": "full"}, "node03": {"state": "refusing"}}) as fleet:
        fleet.run(["ssh", "-F", fleet.ssh_config, "node01", "hostname"])
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

NETWORK = "10.77.0."
# Accepts connections and never says a word.
HANGING = "import socket,sys,time; s=socket.create_server((sys.argv[1],22)); k=[]\nwhile True: k.append(s.accept())"
# In mounts of its own, with which the namespace goes.
TRY = """mkdir -p /run/netns
mount -t tmpfs tmpfs /run/netns
ip netns add try
ip netns exec try unshare --mount --uts --pid --fork true
"""
SSHD = """Port 22
HostKey {lab}/host_key
AuthorizedKeysFile {lab}/id.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
MaxStartups 200
"""
SSH = """Host *
  User root
  IdentityFile {lab}/id
  IdentitiesOnly yes
  UserKnownHostsFile {lab}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  ControlPath none
"""


def missing():
    """Why the fleet cannot be had here, or nothing."""
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    for program in ("ip", "sshd", "ssh", "ssh-keygen", "unshare", "mount"):
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            return f"needs {program}"
    made = subprocess.run(["unshare", "--mount", "sh", "-ec", TRY], capture_output=True, text=True)
    return f"cannot make namespaces: {made.stderr.strip()}" if made.returncode else None


class SshdFleet:
    """`nodes`: name → {"state": "up" | "refusing" | "unplugged" | "absent" | "hanging",
    "home": "plain" | "full" | "noexec", "bashrc": text, "setup": shell text, run on the node before its sshd}."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.mark = f"rbf{os.getpid()}"
        self.lab = None
        self.processes = {}
        self.namespaces = []

    def __enter__(self):
        # Not under /tmp or /root: nodes have their own.
        self.lab = guardian.make_folder("railbed-fleet-", "/var/tmp")
        try:
            self._write_files()
            self._add_namespace("hub")
            self._ip("hub", "link add br0 type bridge")
            self._ip("hub", f"addr add {NETWORK}254/24 dev br0")
            self._ip("hub", "link set br0 up")
            for number, (name, node) in enumerate(self.nodes.items(), 1):
                self._start(number, name, node)
            self._await_servers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()  # and with it, by --kill-child, everything on that node; unshare heeds no SIGTERM
        for process in self.processes.values():
            process.wait()
        for namespace in self.namespaces:
            subprocess.run(["ip", "netns", "del", namespace])
        shutil.rmtree(self.lab, ignore_errors=True)

    @property
    def ssh_config(self):
        return str(self.lab / "ssh_config")

    def address(self, name):
        return NETWORK + str(list(self.nodes).index(name) + 1)

    def inside(self, words):
        """The words, as a command in the controller's namespace."""
        return ["ip", "netns", "exec", self.mark + "hub", *words]

    def run(self, words, **options):
        return subprocess.run(self.inside(words), capture_output=True, text=True, **options)

    def unplug(self, name):
        self._ip("hub", f"link set v{list(self.nodes).index(name) + 1} down")

    def plug(self, name):
        self._ip("hub", f"link set v{list(self.nodes).index(name) + 1} up")

    def on(self, name, words):
        """The words, as a command in a node's network (its files and processes are this machine's)."""
        return ["ip", "netns", "exec", self.mark + name, *words]

    def join(self, one, other, device="rail", network="10.88.0."):
        """A second link between two nodes, apart from the one that ssh takes; they get .1 and .2 on it."""
        self._ip(one, f"link add {device} type veth peer name {device} netns {self.mark + other}")
        for number, name in enumerate((one, other), 1):
            self._ip(name, f"addr add {network}{number}/24 dev {device}")
            self._ip(name, f"link set {device} up")

    def cable(self, one, port, other, other_port, up=True):
        """A link without addresses between ports of two nodes, or from a node to a namespace of the fleet's own."""
        self._ip(one, f"link add {port} type veth peer name {other_port} netns {self.mark + other}")
        for node, name in ((one, port), (other, other_port)):
            self._ip(node, f"link set {name} {'up' if up else 'down'}")

    def switch(self, name, *ends):
        """A bridge in a namespace of its own, with a bare link to each (node, port)."""
        self._add_namespace(name)
        self._ip(name, "link add br0 type bridge")
        self._ip(name, "link set br0 up")
        for node, port in ends:
            self.plug_in(node, port, name)

    def plug_in(self, node, port, switch="hub"):
        """A bare link from a node to a bridge; `hub` is the one that ssh goes through."""
        self.cable(node, port, switch, f"{node}{port}")
        self._ip(switch, f"link set {node}{port} master br0")

    def join_by_switch(self, one, other, switch="switch", device="rail", network="10.88.0.", mtu=9000):
        """The same by a bridge in a namespace of its own, whose ports are named after the nodes. No packet is longer than
        the MTU: segments that leave whole would pass every port, whatever its MTU."""
        self._add_namespace(switch)
        self._ip(switch, "link add br0 type bridge")
        self._ip(switch, f"link set br0 mtu {mtu} up")
        for number, name in enumerate((one, other), 1):
            self._ip(name, f"link add {device} type veth peer name {name} netns {self.mark + switch}")
            self._ip(switch, f"link set dev {name} mtu {mtu} master br0 up")
            self._ip(name, f"link set {device} mtu {mtu} gso_max_segs 1")
            self._ip(name, f"addr add {network}{number}/24 dev {device}")
            self._ip(name, f"link set {device} up")

    def agents(self, name):
        """The process ids, on this machine, of the railbed agents of a node."""
        inside = os.stat(f"/run/netns/{self.mark + name}").st_ino
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (path / "cmdline").read_bytes().split(b"\0")
                if (os.stat(path / "ns/net").st_ino == inside and b"agents/" in words[0] and b"agent" in words[1:]):
                    found.append(int(path.name))
        return found

    def home(self, name):
        return self.lab / "home" / name

    def processes_with(self, text):
        """Command lines of the controller and the nodes that hold the text: leftovers. Another test may have its own."""
        inside = {os.stat(f"/run/netns/{name}").st_ino for name in self.namespaces}
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if text in line and os.stat(path.parent / "ns/net").st_ino in inside:
                    found.append(line)
        return found

    def _write_files(self):
        for key in ("host_key", "id"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.lab / key], check=True)
        host_key = (self.lab / "host_key.pub").read_text()
        names = ",".join(self.address(name) for name in self.nodes)
        (self.lab / "known_hosts").write_text(f"{names} {host_key}")
        (self.lab / "sshd_config").write_text(SSHD.format(lab=self.lab))
        hosts = [f"Host {name}\n  HostName {self.address(name)}\n" for name in self.nodes]
        (self.lab / "ssh_config").write_text("".join(hosts) + SSH.format(lab=self.lab))
        pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd's own, for separated privileges

    def _add_namespace(self, name):
        subprocess.run(["ip", "netns", "add", guardian.own_namespace(self.mark + name)], check=True)
        self.namespaces.append(self.mark + name)
        self._ip(name, "link set lo up")

    def _ip(self, namespace, words):
        subprocess.run(["ip", "-n", self.mark + namespace, *words.split()], check=True)

    def _start(self, number, name, node):
        state = node.get("state", "up")
        if state == "absent":
            return
        self._add_namespace(name)
        self._ip("hub", f"link add v{number} type veth peer name eth0 netns {self.mark + name}")
        self._ip("hub", f"link set v{number} master br0 up")
        self._ip(name, f"addr add {self.address(name)}/24 dev eth0")
        self._ip(name, "link set eth0 up")
        if state == "unplugged":
            self._ip(name, "link set eth0 down")
        if state == "hanging":
            words = [sys.executable, "-c", HANGING, self.address(name)]
        elif state == "up":
            words = ["sh", "-ec", self._node_script(name, node)]
        else:
            return
        self.home(name).mkdir(parents=True)
        (self.home(name) / ".bashrc").write_text(node.get("bashrc", ""))
        with open(self.lab / f"{name}.log", "wb") as log:
            # With its own process ids, everything that a node started ends with it.
            self.processes[name] = subprocess.Popen(
                ["ip", "netns", "exec", self.mark + name, "unshare", "--mount", "--uts", "--pid", "--fork",
                 "--kill-child", "--mount-proc", *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _node_script(self, name, node):
        home = node.get("home", "plain")
        script = f"hostname {name}; mount -t tmpfs tmpfs /dev/shm; "
        if home == "plain":
            script += f"mount --bind {self.home(name)} /root; "
        elif home == "noexec":
            script += "mount -t tmpfs -o noexec tmpfs /root; "
        elif home == "full":
            for folder in ("/root", "/tmp", "/dev/shm"):
                script += f"mount -t tmpfs -o size=64k tmpfs {folder}; head -c 65536 /dev/zero >{folder}/full || :; "
        script += node.get("setup", "")
        return script + f"exec /usr/sbin/sshd -D -e -f {self.lab}/sshd_config -o ListenAddress={self.address(name)}"

    def _await_servers(self):
        for name, process in self.processes.items():
            probe = ["ip", "netns", "exec", self.mark + name, "ss", "-Hltn", "sport", "=", ":22"]
            until = time.monotonic() + 30
            while not subprocess.run(probe, capture_output=True, text=True).stdout.strip():
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"{name} did not come up: {(self.lab / f'{name}.log').read_text()}")
                time.sleep(0.05)
