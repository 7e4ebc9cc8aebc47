#!/usr/bin/env python3
"""The network's files, read by the programs that they are for: netplan generates from them, nmcli reads the
connections, and a systemd-networkd in a network namespace of its own sets interfaces by them. Skips itself without root.

Usage: network_files_test.py CONFIGURE_TEST; netplan and nmcli are taken from the system, else unpacked."""
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lab"))
import packages  # noqa: E402
import guardian  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "railbed-network-tools"
NETWORKD = "/usr/lib/systemd/systemd-networkd"

# In namespaces of its own. networkd waits for udev unless /sys is read-only, and has its state in /run.
NAMESPACE = """
mount -t tmpfs tmpfs /run
mount -t sysfs -o ro sysfs /sys
mkdir -p /run/systemd/netif/links /run/systemd/network
chown -R systemd-network /run/systemd/netif
cp "$1"/* /run/systemd/network/
for name in null on eno1 eno3; do
  ip link add $name type veth peer name peer-$name || exit 77
  ip link set peer-$name mtu 9000 up
done
ip link set eno3 up
/usr/lib/systemd/systemd-networkd 2> /run/log &
networkd=$!
for attempt in $(seq 60); do
  ip address show dev null | grep -q fd00:2::1 && ip address show dev eno1 | grep -q 192.168.1.71 && break
  sleep 0.25
done
sleep 1
kill $networkd
cat /run/log >&2
ip -o link; ip -o address; ip route
"""


def expect(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"{part!r} is not in:\n{text}")


def run(argv, **kwargs):
    done = subprocess.run([str(one) for one in argv], capture_output=True, text=True, timeout=120, **kwargs)
    if done.returncode == 77:
        return None
    if done.returncode != 0:
        raise AssertionError(f"{argv}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Tools:
    """netplan's generator and nmcli: the system's, else of this distribution's packages."""

    def __init__(self):
        self.root = pathlib.Path("/")
        self.environment = dict(os.environ)
        if self.generator().exists() and shutil.which("nmcli"):
            return
        CACHE.mkdir(parents=True, exist_ok=True)
        self.root = CACHE / "root"
        packages.Apt(CACHE).get([["netplan.io", "network-manager"]], self.root)
        libraries = [str(one) for one in self.root.glob("usr/lib/*-linux-gnu")]
        self.environment["LD_LIBRARY_PATH"] = ":".join(libraries)

    def generator(self):
        return self.root / "usr/libexec/netplan/generate"

    def generate(self, tree):
        done = run([self.generator(), "--root-dir", tree], env=self.environment)
        if "Error" in done.stderr or "WARNING" in done.stderr:
            raise AssertionError(done.stderr)
        return {path.name: path.read_text() for path in (tree / "run").rglob("*") if path.is_file()}

    def read_connection(self, path):
        """What libnm makes of the file; it refuses properties that are not valid."""
        argv = [self.root / "usr/bin/nmcli", "--offline", "connection", "modify", "connection.autoconnect-retries", "3"]
        return run(argv, stdin=path.open(), env=self.environment).stdout


def netplan_takes_the_examples(tools, folder):
    files = tools.generate(folder / "v100-pair")
    for name, address in (("ens6", "10.0.1.1/24"), ("ens6d1", "10.0.0.1/24")):
        expect(files[f"10-netplan-{name}.network"], f"Name={name}\n", f"Address={address}\n", "MTUBytes=9000\n",
               "RequiredForOnline=no\n", "IPv6AcceptRA=no\n")
    expect(tools.generate(folder / "dgx-spark-pair")["10-netplan-enP2p1s0f0np0.network"],
           "Address=192.168.100.1/24\n", "MTUBytes=9000\n")
    expect(tools.generate(folder / "dgx")["netplan-enP2p1s0f0np0.nmconnection"],
           "interface-name=enP2p1s0f0np0\n", "mtu=9000\n", "address1=192.168.100.1/24\n")


def netplan_takes_all_kinds(tools, folder):
    files = tools.generate(folder / "netplan")
    expect(files["10-netplan-eno1.network"], "Address=192.168.1.71/24\n", "Gateway=192.168.1.1\n", "DNS=2001:db8::53\n")
    expect(files["10-netplan-null.network"], "Name=null\n", "Address=fd00:2::1/64\n")
    expect(files["10-netplan-on.network"], "Name=on\n", "VLAN=on.100\n", "MTUBytes=9000\n")
    expect(files["10-netplan-on.100.network"], "Address=10.0.1.1/24\n", "MTUBytes=9000\n")
    expect(files["10-netplan-on.100.netdev"], "Kind=vlan\n", "Id=100\n")
    for name in ("eno3", "eno4"):
        expect(files[f"10-netplan-{name}.network"], "ActivationPolicy=always-down\n")


def netplan_lays_it_over_other_files(tools, folder):
    """What cloud-init wrote for an interface stays but for what railbed says otherwise; nothing is there twice."""
    other = folder / "v100-pair/etc/netplan/50-cloud-init.yaml"
    other.write_text("network:\n  version: 2\n  ethernets:\n"
                     "    eno1: {dhcp4: true}\n"
                     "    ens6: {dhcp4: true, mtu: 1500, addresses: [10.0.1.1/24], "
                     "match: {macaddress: '00:02:c9:00:00:01'}, set-name: ens6}\n")
    other.chmod(0o600)
    shutil.rmtree(folder / "v100-pair/run")
    files = tools.generate(folder / "v100-pair")
    expect(files["10-netplan-eno1.network"], "DHCP=ipv4\n")
    text = files["10-netplan-ens6.network"]
    expect(text, "PermanentMACAddress=00:02:c9:00:00:01\n", "MTUBytes=9000\n")
    assert text.count("Address=10.0.1.1/24\n") == 1, text
    assert "DHCP=" not in text, text


def nmcli_reads_the_connections(tools, folder):
    connections = folder / "networkmanager/etc/NetworkManager/system-connections"
    read = {path.stem: tools.read_connection(path) for path in connections.iterdir()}
    assert sorted(read) == ["railbed-eno1", "railbed-null", "railbed-on", "railbed-on.100"], sorted(read)
    expect(read["railbed-eno1"], "address1=192.168.1.71/24,192.168.1.1\n", "dns=192.168.1.1;\n", "dns=2001:db8::53;\n")
    expect(read["railbed-null"], "id=railbed-null\n", "mtu=9000\n", "address1=fd00:2::1/64\n", "method=disabled\n")
    expect(read["railbed-on.100"], "type=vlan\n", "parent=on\n", "id=100\n", "mtu=9000\n", "never-default=true\n",
           "autoconnect-priority=100\n", "addr-gen-mode=eui64\n")
    trio = folder / "infiniband-trio/etc/NetworkManager/system-connections/railbed-ib0.nmconnection"
    expect(tools.read_connection(trio), "type=infiniband\n", "transport-mode=datagram\n", "mtu=4092\n",
           "address1=10.10.10.1/24\n")


def networkd_sets_the_interfaces(folder):
    try:
        pwd.getpwnam("systemd-network")
    except KeyError:
        return print("systemd-networkd: no such user here, not tried")
    if not pathlib.Path(NETWORKD).exists():
        return print("systemd-networkd: not here, not tried")
    units = folder / "networkd/etc/systemd/network"
    done = run(["unshare", "--net", "--mount", "bash", "-c", NAMESPACE, "bash", units])
    if done is None:
        return print("systemd-networkd: no veth here, not tried")
    state = {line.split(":")[1].split("@")[0].strip(): line for line in done.stdout.splitlines() if "mtu" in line}
    for name in ("null", "on"):
        expect(state[name], "mtu 9000", ",UP")
    assert ",UP" not in state["eno3"], state["eno3"]
    assert "mtu 1500" in state["eno1"], state["eno1"]
    expect(done.stdout, "fd00:2::1/64", "192.168.1.71/24", "default via 192.168.1.1 dev eno1")
    # A kernel without 8021q makes no VLAN.
    if "stacked netdev: Unknown device type" not in done.stderr:
        expect(state["on.100"], "mtu 9000")
        expect(done.stdout, "10.0.1.1/24")
    for trouble in ("Unknown key", "Failed to parse", "Unknown section", "Invalid"):
        assert trouble not in done.stderr, done.stderr


def main():
    if os.geteuid() != 0:
        print("needs root for namespaces")
        return 77
    try:
        tools = Tools()
    except packages.LabError as error:
        print(f"no netplan and nmcli to be had: {error}")
        return 77
    with tempfile.TemporaryDirectory(prefix="railbed-network-", dir="/tmp") as name:
        folder = pathlib.Path(name)
        run([sys.argv[1], "--gtest_brief=1", "--gtest_filter=RenderNetwork.FilesForRealPrograms"],
            env={**os.environ, "RAILBED_RENDERED_FILES": name})
        netplan_takes_the_examples(tools, folder)
        netplan_takes_all_kinds(tools, folder)
        netplan_lays_it_over_other_files(tools, folder)
        nmcli_reads_the_connections(tools, folder)
        networkd_sets_the_interfaces(folder)
    return 0


if __name__ == "__main__":
    guardian.begin()
    sys.exit(main())
