#!/usr/bin/env python3
"""railbed apply on three operating systems, after which plan is empty, also after a reboot: Ubuntu with netplan, Debian with
systemd-networkd, and a root like RHEL's with NetworkManager. RAILBED names the program.

Each node is one of sshd_fleet.py whose programs are those of the lab's Debian, begun by a systemd of its own in namespaces: units,
the network's programs and the reboot are real, within seconds. What makes a root Ubuntu's or RHEL's is what these have in /etc and
leave out; grubby, which Debian does not have, and udevadm are stand-ins, and so is the file of the kernel's command line. The kernel is this
machine's, so that modules, the processors' governor and adapters are left to tests/lab. Builds the lab's packages if they are missing.
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

from sshd_fleet import SshdFleet, missing

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "lab")]
import guardian  # noqa: E402
import os_image  # noqa: E402
from packages import LabError  # noqa: E402

RAILBED = os.environ["RAILBED"]
FOLDER = pathlib.Path(os.environ.get("RAILBED_LAB_DIR", os_image.DEFAULT_FOLDER)).resolve()
NODES = ("node1", "node2")
PATIENCE = 150
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJGISr1lYjKwKPdG7ZFYCmhP2VezYkcSrC+s1IBJTHmK ops"
CLUSTER = """\
railbed: 1
cluster: pair
ssh: {config: %s}
expect: {os: %s, socket_buffer: 256 MiB}
configure: {user: ops, authorized_keys: ["%s"], console: ttyS1, console_rate: 9600}
nodes: [node1, node2]
rails: [{name: rail0, subnet: 10.88.0.0/24, interface: eth1, first_address: 10.88.0.1, mtu: 9000, fabric: ethernet}]
"""
# What has nothing to do in a namespace, or would reach beyond it: modules, clocks, NFS's kernel half.
MASKED = """apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer
systemd-modules-load.service systemd-binfmt.service proc-sys-fs-binfmt_misc.automount systemd-random-seed.service
systemd-update-utmp.service iwpmd.service rdma-ndd.service nfs-server.service nfs-blkmap.service rpcbind.service rpcbind.socket
nfs-mountd.service nfs-idmapd.service proc-fs-nfsd.mount run-rpc_pipefs.mount getty@tty1.service console-getty.service
systemd-hwdb-update.service systemd-timesyncd.service NetworkManager-wait-online.service rpc-statd-notify.service""".split()
# Begins a system again and again, in a process namespace of its own each time: the one before has rebooted. A boot finds the
# interfaces bare. /proc/sys is the host's but for the network's half.
BOOTS = r"""
mkdir -p {root}
mount -t overlay -o lowerdir={system},upperdir={upper},workdir={work} overlay {root}
cat >/dev/shm/boot <<'END'
for port in $(ls /sys/class/net | grep eth); do ip link set $port down; ip address flush dev $port; ip link set $port mtu 1500; done
cat /proc/sys/kernel/random/uuid >/dev/shm/boot_id
cd {root}
mount -t proc proc proc
mount --bind proc/sys proc/sys; mount -o remount,bind,ro proc/sys; mount --bind /proc/sys/net proc/sys/net
mount -t tmpfs tmpfs proc/sys/net/core
for key in rmem_max wmem_max rmem_default wmem_default; do echo 212992 >proc/sys/net/core/$key; done
echo 4096 >proc/sys/net/core/somaxconn
mount --bind /dev/shm/boot_id proc/sys/kernel/random/boot_id
[ ! -e boot/arguments ] || mount --bind boot/arguments proc/cmdline
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm
for device in null zero full random urandom tty; do touch dev/$device; mount --bind /dev/$device dev/$device; done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts; ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mount -t cgroup2 cgroup2 sys/fs/cgroup
pivot_root . mnt
exec env -i container=railbed PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c 'umount -l /mnt; exec /lib/systemd/systemd --log-target=console'
END
while :; do unshare --mount --pid --ipc --cgroup --fork --kill-child sh -e /dev/shm/boot || :; done
"""
NETPLAN = """network:
  version: 2
  ethernets:
    eth0:
      addresses: [{address}/24]
      routes: [{{to: default, via: 10.77.0.254}}]
"""
NETWORKD = """[Match]
Name=eth0

[Network]
Address={address}/24
Gateway=10.77.0.254
"""
KEYFILE = """[connection]
id=management
type=ethernet
interface-name=eth0

[ipv4]
method=manual
address1={address}/24,10.77.0.254

[ipv6]
method=link-local
"""
# Keeps what the kernels get in a file that the next boot shows as the command line.
GRUBBY = r"""#!/bin/sh
for word; do
  case $word in
    --args=*) added=${word#--args=} ;;
    --remove-args=*) removed=${word#--remove-args=} ;;
    --info=*) printf 'index=0\nkernel="/boot/vmlinuz-5.14.0"\nargs="%s"\n' "$(cat /boot/next 2>/dev/null)"; exit ;;
  esac
done
kept=
for one in $(cat /boot/next 2>/dev/null); do
  case " $removed " in *" $one "*) continue ;; esac
  for new in $added; do case $one in "${new%%=*}="* | "$new") continue 2 ;; esac; done
  kept="$kept $one"
done
echo "ro$(echo " $kept $added" | sed 's/ ro / /; s/  */ /g')" >/boot/next
"""
REASON = missing()


class System:
    """What is laid over the lab's Debian to make it that operating system."""
    name, release, manager, where, management = "", "", "", "", ""
    mode = 0o600
    absent = ()
    sections = "network,hosts,sysctl,ssh"

    def files(self, node, address):
        """{path: (mode, text)}"""
        return {"etc/os-release": (0o644, self.release), self.where: (self.mode, self.management.format(address=address)),
                "etc/hostname": (0o644, node + "\n"), "etc/hosts": (0o644, f"127.0.0.1 localhost\n127.0.1.1 {node}\n"),
                "etc/machine-id": (0o444, hashlib.md5(node.encode()).hexdigest() + "\n")}


class Ubuntu(System):
    name, manager = "ubuntu 22.04", "systemd-networkd"
    release = 'NAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\nID_LIKE=debian\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n'
    where, management = "etc/netplan/50-cloud-init.yaml", NETPLAN  # as its installer leaves it
    absent = ("usr/sbin/NetworkManager", "lib/systemd/system/NetworkManager.service")

    def files(self, node, address):  # netplan calls udevadm, and no udev runs where /sys is another's
        return super().files(node, address) | {"usr/bin/udevadm": (0o755, "#!/bin/sh\n")}


class Debian(System):
    name, manager = "debian 12", "systemd-networkd"
    release = 'NAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'
    where, management = "etc/systemd/network/10-management.network", NETWORKD
    mode = 0o644  # systemd-networkd reads it as a user of its own
    absent = (*Ubuntu.absent, "usr/sbin/netplan", "usr/libexec/netplan", "lib/systemd/system-generators/netplan", "etc/netplan")


class Rhel(System):
    name, manager = "rhel 9.4", "NetworkManager"
    release = ('NAME="Red Hat Enterprise Linux"\nVERSION_ID="9.4"\nID="rhel"\nID_LIKE="fedora"\nPLATFORM_ID="platform:el9"\n'
               'PRETTY_NAME="Red Hat Enterprise Linux 9.4 (Plow)"\n')
    where, management = "etc/NetworkManager/system-connections/management.nmconnection", KEYFILE
    absent = (*Debian.absent[2:], "usr/bin/apt-get", "usr/bin/dpkg", "usr/sbin/update-grub", "etc/debian_version", "etc/network")
    sections = System.sections + ",console"

    def files(self, node, address):
        return super().files(node, address) | {
            "etc/hosts": (0o644, "127.0.0.1   localhost localhost.localdomain localhost4 localhost4.localdomain4\n"),
            "etc/NetworkManager/conf.d/server.conf": (0o644, "[main]\nno-auto-default=*\n"),
            "etc/sysconfig/network": (0o644, ""), "usr/sbin/grubby": (0o755, GRUBBY), "boot/next": (0o644, "ro\n")}


def setUpModule():
    if REASON:
        print(f"systems: {REASON}")
        sys.exit(77)
    try:
        with os_image.exclusive(FOLDER / "os"):
            SystemTest.packages = os_image.common(FOLDER / "os")
    except LabError as problem:
        print(problem, file=sys.stderr)
        sys.exit(77)


class SystemTest:
    maxDiff = 4000

    def setUp(self):
        self.place = guardian.make_folder("railbed-systems-", "/var/tmp")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.lay_out()
        self.fleet = SshdFleet({name: {"setup": self.setup_of(name)} for name in NODES})
        self.addCleanup(self.fleet.__exit__)
        self.give_keys = self.fleet._write_files
        self.fleet._write_files = self.write_files
        self.fleet.__enter__()
        self.fleet.cable("node1", "eth1", "node2", "eth1", up=False)
        for node in NODES:
            self.wait_for(node)
        self.cluster = self.fleet.lab / "cluster.yaml"
        self.cluster.write_text(CLUSTER % (json.dumps(self.fleet.ssh_config), self.system.name, KEY))

    def lay_out(self):
        root = self.place / "system"
        root.mkdir()
        subprocess.run(["tar", "-x", "--numeric-owner", "--exclude=./dev/*", "-C", root, "-f", self.packages], check=True)
        for path in self.system.absent:
            target = root / path
            shutil.rmtree(target) if target.is_dir() and not target.is_symlink() else target.unlink(missing_ok=True)
        for path in [*root.glob("etc/ssh/ssh_host_*"), root / "etc/os-release"]:
            path.unlink()
        done = subprocess.run(["chroot", root, "sh", "-ec", """
            useradd -m -s /bin/bash ops
            systemctl -q mask "$@"; systemctl -q enable ssh.service; systemctl -q set-default multi-user.target
            systemctl -q disable NetworkManager.service systemd-networkd.service 2>/dev/null || :
            systemctl -q enable %s.service""" % self.system.manager, "sh", *MASKED], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def setup_of(self, name):
        own = {part: self.place / name / part for part in ("upper", "work", "root")}
        for folder in own.values():
            folder.mkdir(parents=True)
        for path, (mode, text) in self.system.files(name, f"10.77.0.{NODES.index(name) + 1}").items():
            target = own["upper"] / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            target.chmod(mode)
        return BOOTS.format(system=self.place / "system", **own)

    def write_files(self):
        """The fleet's keys, which the systems have, too."""
        self.give_keys()
        for node in NODES:
            upper = self.place / node / "upper"
            for folder in ("etc/ssh", "root/.ssh"):
                (upper / folder).mkdir(mode=0o755 if folder == "etc/ssh" else 0o700, parents=True, exist_ok=True)
            (upper / "root").chmod(0o700)
            for suffix in ("", ".pub"):
                shutil.copy(self.fleet.lab / f"host_key{suffix}", upper / f"etc/ssh/ssh_host_ed25519_key{suffix}")
            shutil.copy(self.fleet.lab / "id.pub", upper / "root/.ssh/authorized_keys")

    def on(self, node, command):
        return self.fleet.run(["ssh", "-F", self.fleet.ssh_config, "-o", "ConnectTimeout=5", node, command], timeout=PATIENCE)

    def ok(self, node, command):
        done = self.on(node, command)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.strip()

    def wait_for(self, node, other_than=""):
        """Waits until the node has started; another start than that of this boot's name."""
        until = time.monotonic() + PATIENCE
        while True:
            done = self.on(node, "systemctl is-system-running --wait >/dev/null; cat /proc/sys/kernel/random/boot_id")
            if done.returncode == 0 and done.stdout.strip() not in ("", other_than):
                return
            log = self.fleet.lab / f"{node}.log"
            self.assertLess(time.monotonic(), until, log.read_text(errors="replace")[-3000:] + done.stderr)
            time.sleep(0.2)

    def railbed(self, command, *words, status, cluster=None):
        environment = {**os.environ, "XDG_STATE_HOME": str(self.fleet.lab / "state")}
        words = [RAILBED, command, "--no-share", *words, *([] if command == "init" else [str(cluster or self.cluster)])]
        began = time.monotonic()
        done = subprocess.run(self.fleet.inside(words), env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300)
        print(f"{self.system.name}: railbed {command} took {time.monotonic() - began:.1f} s", file=sys.stderr)
        self.assertIn(done.returncode, status, done.stdout[-6000:] + done.stderr[-3000:])
        return done.stdout

    def changes(self):
        """(node, section, title and what is not so) of what is left to do."""
        plan = json.loads(self.railbed("plan", "--as-root", "--only", self.system.sections, "--json", status=(0, 1)))
        for node in plan["nodes"]:
            self.assertEqual(node["error"], "")
        return [(node["node"], change["section"], change["title"], [need["found"] for need in change["unmet"]], change["held"])
                for node in plan["nodes"] for change in node["changes"]]

    def expect_rail(self):
        for node in NODES:
            self.assertEqual(self.ok(node, "cat /sys/class/net/eth1/mtu"), "9000")
        self.ok("node1", "ping -c 1 -W 5 -M do -s 8972 10.88.0.2")
        self.assertEqual(self.ok("node2", "cat /proc/sys/net/core/rmem_max"), "268435456")
        self.assertIn("10.88.0.2", self.ok("node1", "getent hosts node2-rail0"))

    def test_nothing_is_left_to_do(self):
        before = self.changes()
        self.assertEqual({change[1] for change in before}, set(self.system.sections.split(",")), before)
        self.railbed("apply", "--yes", "--management", "--only", self.system.sections, status=(0,))
        self.expect_rail()
        # What grubby has set only the next boot shows.
        self.assertEqual([change for change in self.changes() if change[1] != "console"], [])
        boots = {node: self.ok(node, "cat /proc/sys/kernel/random/boot_id") for node in NODES}
        for node in NODES:
            self.on(node, "[ ! -e /boot/next ] || cp /boot/next /boot/arguments; systemctl --no-block reboot")
        for node in NODES:
            self.wait_for(node, boots[node])
            self.assertEqual(self.ok(node, "systemctl --failed --no-legend | grep -i railbed || :"), "")
        self.expect_rail()
        self.assertEqual(self.changes(), [])
        self.assertIn("nothing to do", self.railbed("apply", "--yes", "--only", self.system.sections, status=(0,)))


@unittest.skipIf(REASON, f"systems: {REASON}")
class UbuntuTest(SystemTest, unittest.TestCase):
    system = Ubuntu()

    def test_from_the_cable_to_a_proof(self):
        """Two systems as they were installed, a bare cable, and no address that anybody types."""
        file = self.fleet.lab / "found.yaml"
        found = json.loads(self.railbed("init", *NODES, "-F", self.fleet.ssh_config, "-o", str(file), "--ports", "eth1", "--bring-up",
                                        "--json", status=(0,)))
        self.assertEqual(found["cables"], ["rail0: eth1 of node1 - eth1 of node2 (one cable)"])
        self.assertEqual(int(self.ok("node1", "cat /sys/class/net/eth1/flags"), 16) & 1, 0)  # down again
        self.railbed("apply", "--yes", status=(0,), cluster=file)
        self.railbed("plan", "--as-root", status=(0,), cluster=file)
        page = str(self.fleet.lab / "report.html")
        proof = json.loads(self.railbed("prove", "--json", "--seconds", "1", "-o", page, status=(0, 1, 2), cluster=file))
        ways = {(one["from"]["node"], one["to"]["node"]) for one in proof["measurements"]}
        self.assertEqual(ways, {NODES, NODES[::-1]}, proof["measurements"])


@unittest.skipIf(REASON, f"systems: {REASON}")
class DebianTest(SystemTest, unittest.TestCase):
    system = Debian()


@unittest.skipIf(REASON, f"systems: {REASON}")
class RhelTest(SystemTest, unittest.TestCase):
    system = Rhel()


if __name__ == "__main__":
    guardian.begin()
    unittest.main()
