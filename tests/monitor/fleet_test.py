#!/usr/bin/env python3
"""Eight nodes, watched by a real Prometheus with the files that `railbed monitor files` wrote: each fault fires one alert, on its
node alone, and clears when it is mended; all queries of all dashboards find data meanwhile.

Each node is a network namespace in which a `railbed monitor` answers at the node's own address. Its machine is the composed one of
tests/machines/h100-cx7, with the node's name and addresses; a fault is what the kernel would show of it, written to its file.
The faults begin one after the other. Time runs twelve times as fast: each duration of the rules and of the scrape configuration is
divided by that, and nothing else is changed. With --minutes N nothing is, and N minutes pass at least. Needs root.
"""
import argparse
import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.request

from prometheus import Prometheus, without_data

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fleet"))
from sshd_fleet import SshdFleet, missing  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = pathlib.Path(os.environ["RAILBED"]).resolve()
MACHINES = HERE.parent / "machines"
SOUND = MACHINES / "h100-cx7/gpu01.tree"
NODES = [f"gpu{number:02}" for number in range(1, 9)]
FACTOR = 12
PATIENCE = 120
# No hardware of the composed machine tells it, or nothing was measured: panels of other nodes.
SILENT = ("railbed_probe_", "ipmi_", "railbed_measured_", "railbed_ceiling_", "railbed_gpu_processes", "railbed_job_spin_seconds",
          "railbed_optics_power", "railbed_fec_")


# What the composed machine's library and drivers would say of themselves under a watch, so that each panel has its series.
GPU_COUNTERS = {"power": 412.0, "fan_speed": 40, "memory_temperature": 61, "memory_clock": 2619, "sm_clock": 1980, "pcie_replays": 0,
                "ecc_volatile_corrected": 0, "ecc_aggregate_uncorrectable": 0, "remapped_correctable": 0, "remapped_uncorrectable": 0}
DRIVER_COUNTERS = {**{f"{way}_prio3_{what}": 0 for way in ("rx", "tx") for what in ("pause", "pause_duration", "discards")},
                   "tx_pause_storm_warning_events": 0, "tx_pause_storm_error_events": 0, "rx_pcs_symbol_err_phy": 0}
LINK_COUNTERS = {f"{way}_{what}": 0 for way in ("rx", "tx") for what in ("bytes", "packets", "errors", "dropped")}


def with_counters(text):
    """The machine's text, and in it what only a watch asks for."""
    extra = "".join(f' "{name}": {json.dumps({"value": value, "from": "nvml"})},\n' for name, value in GPU_COUNTERS.items())
    text = re.sub(r' "sm_clock": .*\n', "", text)
    text = re.sub(r"^(@ nvml [0-9a-f:.]+ <<END\n\{\n)", lambda found: found[1] + extra, text, flags=re.M)
    text = text.replace('"errors":{"recovery":0}', '"errors":{"recovery":0,"crc":0,"replay":0}')
    for place in re.findall(r"^(/sys/devices/\S+/infiniband/\w+/ports/1)/state = ", text, re.M):
        text += f"{place}/counters/port_xmit_discards = 0\n"
    for place, device in re.findall(r"^(/sys/devices/\S+/net/(ens1[1-8]np0))/mtu = ", text, re.M):
        text += "".join(f"{place}/statistics/{name} = {value}\n" for name, value in LINK_COUNTERS.items())
        text += f"@ statistics {device} <<END\n{json.dumps(DRIVER_COUNTERS)}\nEND\n"
    return text


def machine_of(number):
    """The composed machine's text with another node's name and addresses."""
    text = SOUND.read_text()
    hexadecimal = f"{number:x}"
    for pattern, by in ((r"94:6d:ae:00:01:", f"94:6d:ae:00:0{hexadecimal}:"),
                        (r"946d:ae03:0001:", f"946d:ae03:000{hexadecimal}:"),
                        (r"aeff:fe00:01([0-9a-f]{2})", rf"aeff:fe00:0{hexadecimal}\1"),
                        (r"ffff:(0a[0-9a-f]{2}):0001", rf"ffff:\1:000{hexadecimal}"),
                        (r"02:00:00:02:00:01", f"02:00:00:02:00:0{hexadecimal}"),
                        (r"\b(10\.\d+\.0|192\.168\.0)\.1\b", rf"\1.{number}"), (r"10\.N\.0\.1", f"10.N.0.{number}"),
                        (r"hostname = gpu01", f"hostname = gpu{number:02}")):
        text = re.sub(pattern, by, text)
    return text


def check_machine():
    """What makes node 2 of the composed pair is what the pair's own file says."""
    there = (SOUND.parent / "gpu02.tree").read_text()
    for made, line in zip(machine_of(2).splitlines(), there.splitlines(), strict=True):
        assert made == line, f"{made}\n{line}"


class Machine:
    """A node's file, which says what differs from its sound self."""

    def __init__(self, folder, number):
        self.base = folder / f"base{number}.tree"
        self.file = folder / f"gpu{number:02}.tree"
        self.base.write_text(with_counters(machine_of(number)))
        self.places = {}
        for line in self.base.read_text().splitlines():
            found = re.match(r"(/sys/devices/\S+)/(net|infiniband)/(\w+)/", line)
            if found:
                self.places[found[3]] = f"{found[1]}/{found[2]}/{found[3]}"
        self.write("")

    def write(self, lines):
        fresh = self.file.with_suffix(".fresh")
        fresh.write_text(f"railbed-tree 1\nbase: {self.base.name}\n{lines}")
        fresh.rename(self.file)

    def shows(self, device, **files):
        """"net" or adapter, and what its files say: `counters__link_downed=1`."""
        return "".join(f"{self.places[device]}/{name.replace('__', '/')} {value if str(value).startswith('!') else f'= {value}'}\n"
                       for name, value in files.items())

    def port(self, device, **files):
        return self.shows(device, **{f"ports__1__{name}": value for name, value in files.items()})


def answer_of(fixture, name):
    """A recorded answer of another composed machine: a block of its file."""
    text = (MACHINES / fixture / "gpu01.tree").read_text()
    return re.search(rf"^@ {name} <<END\n.*?^END\n", text, re.M | re.S)[0]


def cut_link(machine, seconds):
    return (machine.shows("ens12np0", operstate="down", carrier=0, speed="! EINVAL", carrier_changes=3)
            + machine.port("mlx5_1", state="1: DOWN", phys_state="2: Polling", counters__link_downed=1))


def link_again(machine, seconds):
    return machine.shows("ens12np0", carrier_changes=4) + machine.port("mlx5_1", counters__link_downed=1)


def low_mtu(machine, seconds):
    found = re.search(r"^@ verbs <<END\n(.*)\nEND\n", machine.base.read_text(), re.M)
    devices = json.loads(found[1])
    next(one for one in devices["devices"] if one["name"] == "mlx5_2")["ports"][0]["active_mtu"] = 1024
    return machine.shows("ens13np0", mtu=1500) + f"@ verbs <<END\n{json.dumps(devices)}\nEND\n"


def loss(machine, seconds):
    """A hundred thousand packets a second, of which one in a thousand is lost."""
    return machine.port("mlx5_3", counters__port_rcv_packets=10**7 + int(100000 * seconds), hw_counters__packet_seq_err=int(100 * seconds),
                        hw_counters__rx_write_requests=int(1000 * seconds))


def slow_link(machine, seconds):
    return machine.shows("ens15np0", speed=200000) + machine.port("mlx5_4", rate="200 Gb/sec (4X HDR)")


def module_gone(machine, seconds):
    text = (MACHINES / "h100-mlx5-ib-missing/gpu01.tree").read_text()
    return re.sub(r"^/proc/driver/nvidia/version .*\n", "", text.split("\n", 2)[2], flags=re.M)


def xid(machine, seconds):
    return answer_of("h100-xid-79", "kernel-log")


class Scene:
    """A fault of one node. Times are in seconds of the fast or the true clock's rules: as if nothing were shortened.
    `after` is what stays when the fault is taken away; counters keep what they counted."""

    def __init__(self, node, alert, fault, begins, lasts, after=lambda machine, seconds: ""):
        self.node, self.alert, self.fault, self.begins, self.lasts, self.after = node, alert, fault, begins, lasts, after
        self.phase = None

    def play(self, machine, now):
        since = now - self.begins
        phase = "before" if since < 0 else "fault" if since < self.lasts else "after"
        if phase == "fault":
            machine.write(self.fault(machine, since))
        elif phase == "after" and self.phase != phase:
            machine.write(self.after(machine, self.lasts))
        if phase != self.phase and phase != "before":
            print(f"{now:5.0f} s  {self.node}: {self.alert}: {phase}", flush=True)
        self.phase = phase


# The node that vanishes waits the longest for its alert.
def scenes():
    return [Scene("gpu02", "RailbedNetCarrier", cut_link, 60, 240, link_again),
            Scene("gpu03", "RailbedNetMtu", low_mtu, 90, 240),
            Scene("gpu04", "RailbedRdmaPacketLoss", loss, 120, 330, loss),
            Scene("gpu05", "RailbedNetSpeed", slow_link, 150, 240),
            Scene("gpu06", "RailbedRdmaAdapterModules", module_gone, 180, 240),
            Scene("gpu07", "RailbedGpuXidReboot", xid, 210, 240)]


def enter(namespace):
    """From here on this process, and what it starts, is in that network."""
    with open(f"/run/netns/{namespace}") as there:
        assert ctypes.CDLL(None, use_errno=True).setns(there.fileno(), 0x40000000) == 0, os.strerror(ctypes.get_errno())


def write_files(folder, fleet, factor):
    text = (MACHINES / "h100-cx7/cluster.yaml").read_text()
    nodes = "".join(f"  - {{name: {name}, ssh: {fleet.address(name)}}}\n" for name in NODES)
    (folder / "cluster.yaml").write_text(re.sub(r"^nodes:\n(  - .*\n)+", f"nodes:\n{nodes}", text, flags=re.M))
    subprocess.run([RAILBED, "monitor", "files", "cluster.yaml", "-o", "."], cwd=folder, check=True, timeout=PATIENCE,
                   stdout=subprocess.DEVNULL)
    for file in ("railbed.rules.yml", "prometheus.yml"):
        path = folder / file
        path.write_text(shortened(path.read_text(), factor))
        subprocess.run(["promtool", "check", "rules" if "rules" in file else "config", path], check=True, timeout=PATIENCE,
                       stdout=subprocess.DEVNULL)


def shortened(text, factor):
    """Each duration of a rule or of Prometheus' configuration, by the factor; a scrape that takes longer may last until the next."""
    units = {"s": 1000, "m": 60000, "h": 3600000}
    short = lambda found: f"{found[1]}{int(found[2]) * units[found[3]] // factor}ms"
    if factor == 1:
        return text
    text = re.sub(r"scrape_timeout: .*", "scrape_timeout: 30s", text)
    return re.sub(r"((?:for|scrape_interval|scrape_timeout|evaluation_interval): |\[|offset )(\d+)([smh])\b", short, text)


class Watch:
    """The monitors of all nodes, and the clock that the faults go by."""

    def __init__(self, folder, fleet, factor):
        self.factor = factor
        self.machines = {name: Machine(folder, number) for number, name in enumerate(NODES, 1)}
        self.processes = []
        self.logs = []
        for name in NODES:
            log = open(folder / f"{name}.log", "wb")
            self.logs.append(log)
            words = [RAILBED, "monitor", folder / "cluster.yaml", "--root", self.machines[name].file, "--node", name,
                     "--listen", f"{fleet.address(name)}:9885", "--plain-http", "--state", folder / f"state-{name}",
                     "--every", str(60 // factor)]
            self.processes.append(subprocess.Popen(fleet.on(name, words), stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        self.began = time.monotonic()

    def begin(self):
        self.began = time.monotonic()

    def now(self):
        return (time.monotonic() - self.began) * self.factor

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(PATIENCE)
        for log in self.logs:
            log.close()


FIRING = 'count by (node, alertname, subject) (ALERTS{alertstate="firing"})'


def named(rows):
    return sorted((row["metric"].get("node", ""), row["metric"]["alertname"]) for row in rows)


def play(watch, prometheus, all_scenes, minutes, while_all_is_wrong):
    """Until every fault has come and gone, and so have the alerts."""
    asked_at = all_scenes[-1].begins + all_scenes[-1].lasts - 30
    last = max(one.begins + one.lasts for one in all_scenes)
    clear_by = max(last + 1200, minutes * 60 + 300)
    fired = {}
    while True:
        now = watch.now()
        for scene in all_scenes:
            scene.play(watch.machines[scene.node], now)
        firing = named(prometheus.value(FIRING))
        for one in firing:
            if one not in fired:
                print(f"{now:5.0f} s  {one[0]}: {one[1]} fires", flush=True)
            fired.setdefault(one, now)
        for one in [one for one in fired if fired[one] is not None and one not in firing]:
            print(f"{now:5.0f} s  {one[0]}: {one[1]} is clear", flush=True)
            fired[one] = None
        if while_all_is_wrong and now > asked_at:
            while_all_is_wrong()
            while_all_is_wrong = None
        if now > last and now >= minutes * 60 and not firing:
            return
        assert now < clear_by, f"never clear: {firing}"
        time.sleep(min(1, 6 / watch.factor))


def check_dashboards(folder, prometheus, node, factor):
    window = f"{max(120000 // factor, 20000)}ms"
    choices = {"$cluster": "h100-pair", "$node": ".*", "$rail": "rail3", "$__rate_interval": window, "$__range": window}
    asked, empty = 0, []
    for file in sorted((folder / "dashboards").glob("*.json")):
        found, lacking = without_data(json.loads(file.read_text()), prometheus, node, choices)
        asked += found
        empty += lacking
    silent = [one for one in empty if any(word in one for word in SILENT)]
    print(f"{asked} queries find data; {len(silent)} ask for probes, a BMC or measurements", flush=True)
    assert len(silent) == len(empty), "no data: " + "\n".join(one for one in empty if one not in silent)


def check(folder, minutes):
    factor = 1 if minutes else FACTOR
    all_scenes = scenes()
    with SshdFleet({name: {} for name in NODES}) as fleet:
        enter(fleet.mark + "hub")
        write_files(folder, fleet, factor)
        watch = Watch(folder, fleet, factor)
        prometheus = None
        try:
            for name in NODES:
                await_answer(f"http://{fleet.address(name)}:9885/metrics")
            prometheus = Prometheus(folder)
            prometheus.wait(f'count(up{{job="railbed"}} == 1) == {len(NODES)} and on () count(railbed_look_success == 1) == {len(NODES)}')
            assert not prometheus.value('ALERTS{alertstate="firing"}'), prometheus.value("ALERTS")
            watch.begin()
            play(watch, prometheus, all_scenes, minutes, lambda: check_dashboards(folder, prometheus, "gpu04", factor))
            ever = prometheus.value('count by (node, alertname, subject) (max_over_time(ALERTS{alertstate="firing"}[1h]))')
            expected = sorted((one.node, one.alert) for one in all_scenes)
            assert named(ever) == expected, f"\nfired:    {named(ever)}\nexpected: {expected}"
        finally:
            if prometheus:
                prometheus.stop()
            watch.stop()


def await_answer(url):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                if b"\nrailbed_look_success 1\n" in answer.read():
                    return
        except OSError:
            pass
        assert time.monotonic() < end, url
        time.sleep(0.3)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--minutes", type=float, default=0, help="run as long, and by the true clock")
    chosen = options.parse_args()
    lacks = missing() or next((f"needs {one}" for one in ("prometheus", "promtool") if not shutil.which(one)), None)
    if lacks:
        print(lacks, file=sys.stderr)
        return 77
    check_machine()
    check(guardian.make_folder("railbed-watched-", "/var/tmp"), chosen.minutes)
    return 0


if __name__ == "__main__":
    guardian.begin()
    sys.exit(main())
