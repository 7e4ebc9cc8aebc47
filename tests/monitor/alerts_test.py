#!/usr/bin/env python3
"""The alerts that `railbed monitor files` writes, in promtool: each fires on its fault and clears after it; fires once, without a
pause, on a fault that comes and goes and while the exporter is started again; none fires on sound series, on a counter that begins
anew, on a series that is new, or beside the finding that says the same. And each stands in docs/reference/alerts.md, which
UPDATE_GOLDEN=1 brings up to date.

Time is counted in steps of 30 s: all is well until step 60, the fault lasts until step 130, and then all is well again.
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

from prometheus import Prometheus

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RAILBED = pathlib.Path(os.environ["RAILBED"]).resolve()
PAGE = ROOT / "docs/reference/alerts.md"
CLUSTER = ROOT / "examples/rail-optimised-1000.yaml"  # whose name is pod
BEGIN, END, LAST = 60, 130, 185
HOLD = 10  # steps that an alert keeps firing
# Steps after a flapping fault has fired: it pauses for less than HOLD, and ends.
PAUSES, ENDS, AWAY = (range(2, 10), range(14, 22), range(26, 34)), 36, range(4, 8)
LOOKS = (BEGIN - 2, BEGIN + 2, BEGIN + 4, BEGIN + 10, BEGIN + 15, BEGIN + 20, BEGIN + 40, END - 2, END + 20, LAST - 1)
SECTIONS_BEGIN = "<!-- of each alert, by tests/monitor/alerts_test.py; UPDATE_GOLDEN=1 writes it -->\n"
SECTIONS_END = "<!-- end of each alert -->\n"
TITLES = {"railbed links": "Links", "railbed transport": "RDMA's transport", "railbed gpus": "GPUs", "railbed bmc": "BMC",
          "railbed measured": "Measurements", "railbed probes": "Probes", "railbed findings other": "Any finding",
          "railbed watch": "The monitoring itself"}
LIST_BEGINS = "<!-- of each rule, by tests/monitor/alerts_test.py -->\n"

PORT = {"device": "mlx5_0", "port": "1"}
GPU = {"gpu": "0", "UUID": "GPU-1", "pci_bus_id": "00000000:1B:00.0", "device": "nvidia0"}
PROBE = {"rail": "rail0", "peer": "gpu02", "transport": "rdma"}
WAY = {"peer": "gpu02", "rail": "rail0", "operation": "write"}

# Counters: alert, severity, finding, metric, labels, growth in a step that is a fault, and one that is none.
COUNTERS = [
    ("RailbedPortLinkDowned", "critical", "load.link-lost", "node_infiniband_link_downed_total", PORT, 1, 0),
    ("RailbedPortIntegrityErrors", "critical", "load.link-lost", "node_infiniband_local_link_integrity_errors_total", PORT, 1, 0),
    ("RailbedPortBufferOverruns", "critical", "load.link-lost", "node_infiniband_excessive_buffer_overrun_errors_total", PORT, 1, 0),
    ("RailbedPortSymbolErrors", "warning", "load.symbol-errors", "node_infiniband_symbol_error_total", PORT, 2, 0.9),
    ("RailbedPortLinkRecovery", "warning", "load.link-recovery", "node_infiniband_link_error_recovery_total", PORT, 3, 2),
    ("RailbedPortReceiveErrors", "critical", "load.receive-errors", "node_infiniband_port_errors_received_total", PORT, 330, 270),
    ("RailbedCarrierChanges", "critical", "load.carrier", "node_network_carrier_changes_total", {"device": "eth100"}, 1, 0.1),
    ("RailbedCableErrors", "warning", "load.cable", "railbed_phy_counter_total",
     {"device": "eth100", "counter": "rx_pcs_symbol_err_phy"}, 1, 0),
    ("RailbedAckTimeouts", "warning", "load.ack-timeouts", "node_infiniband_local_ack_timeout_errors_total", PORT, 33, 27),
    ("RailbedTransmitDiscards", "warning", "load.discards", "node_infiniband_port_discards_transmitted_total", PORT, 3300, 2700),
    ("RailbedRoceSlowRestart", "warning", "load.slow-restart", "railbed_hw_counter_total", PORT | {"counter": "roce_slow_restart"}, 330, 270),
    ("RailbedRoceRetransmits", "warning", "load.slow-restart", "node_infiniband_roce_adp_retransmits_total", PORT, 330, 270),
    ("RailbedCnpIgnored", "warning", "load.cnp-ignored", "railbed_hw_counter_total", PORT | {"counter": "rp_cnp_ignored"}, 1, 0),
    ("RailbedPacketsCorrupted", "critical", "load.corruption", "railbed_hw_counter_total", PORT | {"counter": "rx_icrc_encapsulated"}, 1, 0),
    ("RailbedPauseStorm", "critical", "load.pause-storm", "railbed_pause_storms_total", {"device": "eth100", "direction": "transmitted"}, 1, 0),
    ("RailbedLosslessDiscards", "critical", "load.lossless-discards", "railbed_priority_discards_total", {"device": "eth100", "priority": "3"}, 1, 0),
    ("RailbedOversizeFrames", "critical", "load.oversize", "railbed_phy_counter_total", {"device": "eth100", "counter": "rx_oversize_pkts_phy"}, 1, 0),
    ("RailbedGpuDoubleBitErrors", "critical", "gpu.ecc-uncorrectable", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", GPU, 1, 0),
    ("RailbedGpuPcieReplays", "warning", "gpu.load-replays", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", GPU, 17, 14),
    ("RailbedGpuNvlinkErrors", "warning", "gpu.load-nvlink", "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", GPU, 3300, 2700),
    ("RailbedXidReboot", "critical", "gpu.xid-reboot", "railbed_xid_total", {"pci_bus_id": "0000:1b:00.0", "xid": "79"}, 1, 0),
    ("RailbedXidReset", "critical", "gpu.xid-reset", "railbed_xid_total", {"pci_bus_id": "0000:1b:00.0", "xid": "48"}, 1, 0),
    ("RailbedXidIsolate", "critical", "gpu.xid-isolate", "railbed_xid_total", {"pci_bus_id": "0000:1b:00.0", "xid": "64"}, 1, 0),
    ("RailbedXidApplication", "warning", "gpu.xid-application", "railbed_xid_total", {"pci_bus_id": "0000:1b:00.0", "xid": "13"}, 1, 0),
]
COUNTER_FIRES = 30  # steps by which the alert of a counter has fired
# What stands beside a counter on every node, or its alert means nothing.
BESIDE = {"RailbedCarrierChanges": [("railbed_rail_info", {"rail": "rail0", "interface": "eth100", "peer": ""} | PORT, 1)]}
# Rules that judge counters by their rate since boot: one of the counters that have to grow still.
SINCE_BOOT = {"net.flaps": ("node_network_carrier_changes_total", {"device": "eth100"}),
              "net.receive-errors": ("node_network_receive_errs_total", {"device": "eth100"}),
              "rdma.buffer-overrun": ("node_infiniband_vl15_dropped_total", PORT),
              "rdma.damaged-packets": ("node_infiniband_port_errors_received_total", PORT),
              "rdma.link-lost": ("node_infiniband_link_downed_total", PORT),
              "rdma.packet-loss": ("node_infiniband_local_ack_timeout_errors_total", PORT),
              "rdma.signal-quality": ("node_infiniband_symbol_error_total", PORT)}
# Counters that grow on a sound node.
SOUND = [("railbed_priority_discards_total", {"device": "eth100", "priority": "0"}),
         ("railbed_phy_counter_total", {"device": "eth100", "counter": "rx_corrected_bits_phy"}),
         ("railbed_hw_counter_total", PORT | {"counter": "rx_write_requests"}),
         ("node_network_carrier_changes_total", {"device": "docker0"}),
         ("railbed_xid_total", {"pci_bus_id": "0000:1b:00.0", "xid": "43"}),
         ("node_infiniband_port_packets_received_total", PORT)]

RATE = [("node_infiniband_state_id", PORT, 4, 4), ("railbed_port_rate_expected_bytes_per_second", PORT, 5e10, 5e10)]
# Gauges: alert, a name for the case, severity, finding, [metric, labels, value when well, value at fault].
GAUGES = [
    ("RailbedPortNotActive", "", "critical", "rdma.port-state",
     [("node_infiniband_state_id", PORT, 4, 1), ("railbed_rail_info", {"rail": "rail0", "interface": "eth100"} | PORT, 1, 1)]),
    ("RailbedPortRateLow", "", "critical", "rdma.rate", RATE + [("node_infiniband_rate_bytes_per_second", PORT, 5e10, 2.5e10)]),
    ("RailbedInterfaceMtuLow", "", "critical", "net.mtu",
     [("node_network_mtu_bytes", {"device": "eth100"}, 9000, 1500), ("railbed_interface_mtu_expected_bytes", {"device": "eth100"}, 9000, 9000)]),
    ("RailbedOpticsAlarm", "", "critical", "load.optics", [("railbed_optics_alarm", {"device": "eth100", "alarm": "temperature-high"}, 0, 1)]),
    ("RailbedGpuRemapFailed", "", "critical", "gpu.row-remap-failed", [("DCGM_FI_DEV_ROW_REMAP_FAILURE", GPU, 0, 1)]),
    ("RailbedGpuHot", "chip", "warning", "gpu.temperature", [("DCGM_FI_DEV_GPU_TEMP", GPU, 85, 86)]),
    ("RailbedGpuHot", "memory", "warning", "gpu.temperature", [("DCGM_FI_DEV_MEMORY_TEMP", GPU, 95, 96)]),
    ("RailbedSensorOutOfRange", "warning", "warning", "bmc.sensors", [("ipmi_sensor_state", {"id": "4", "name": "Fan1", "type": "Fan"}, 0, 1)]),
    ("RailbedSensorOutOfRange", "critical", "critical", "bmc.sensors", [("ipmi_sensor_state", {"id": "4", "name": "Fan1", "type": "Fan"}, 0, 2)]),
    ("RailbedSensorOutOfRange", "temperature", "critical", "bmc.sensors", [("ipmi_temperature_state", {"id": "5", "name": "Inlet"}, 0, 2)]),
    ("RailbedProbeLost", "", "warning", "monitor.probe-lost", [("railbed_probe_failed", PROBE | {"reason": "lost"}, 0, 1)]),
    ("RailbedProbeSlow", "", "warning", "monitor.probe-slow", [("railbed_probe_latest_round_trip_seconds", PROBE, 2e-5, 9e-5)]),
    ("RailbedProbeWrongPriority", "", "critical", "monitor.probe-priority",
     [("railbed_probe_priority", {"rail": "rail0", "peer": "gpu02", "end": "there", "direction": "received", "expected": "3", "seen": "0"},
       1, 0)]),
    ("RailbedMeasuredLow", "", "critical", "measured.bandwidth",
     [("railbed_measured_bytes_per_second", WAY, 4.6e10, 4.4e10), ("railbed_ceiling_bytes_per_second", WAY, 5e10, 5e10)]),
    ("RailbedExporterDown", "", "critical", "monitor.exporter-down", [("up", {}, 1, 0)]),
    ("RailbedLookFailed", "", "warning", "monitor.look-failed", [("railbed_look_success", {}, 1, 0)]),
    ("RailbedCollectorFailing", "", "warning", "monitor.collector-failing", [("railbed_collector_success", {"collector": "rdma"}, 1, 0)]),
    ("RailbedCouldNotLook", "", "warning", "monitor.could-not-look",
     [("railbed_finding", {"rule": "rdma.pfc", "subject": "eth100", "status": "unknown"}, None, 1)]),
]
# The others wait: what is so for one scrape alone fires nothing.
AT_ONCE = ("RailbedMeasuredLow", "RailbedGpuRemapFailed")


class Nodes:
    """The series of many nodes, each of which is one case, and the alerts that are expected of them."""

    def __init__(self, pending=None):
        self.pending = pending or {}  # steps before an alert fires, by its name
        self.series = []
        self.firing = []

    def add(self, node, metric, labels, values):
        """`values` is a function of the step; None: no sample."""
        assert len(self.series) < 20000
        named = {"job": "railbed", "cluster": "pod", "node": node, "instance": f"{node}:9885"} | labels
        text = ",".join(f'{key}="{value}"' for key, value in named.items())
        samples = [values(step) for step in range(LAST)]
        before = [None, *samples]
        words = [f"{one:.10g}" if one is not None else "_" if last is None else "stale" for last, one in zip(before, samples)]
        self.series.append({"series": f"{metric}{{{text}}}", "values": " ".join(words)})

    def expect(self, alert, node, severity, finding):
        self.firing.append({"alertname": alert, "node": node, "severity": severity, "finding": finding})


def at_fault(step):
    return BEGIN <= step < END


def at_fault_for(step, steps):
    return BEGIN <= step < BEGIN + steps


def steps_of_fault(step):
    return min(max(step - BEGIN, 0), END - BEGIN)


def flaps(fires, step):
    """Whether a fault that comes and goes, and whose alert fires within that many steps, is there."""
    since = step - BEGIN - fires
    return step >= BEGIN and since < ENDS and not any(since in pause for pause in PAUSES)


def lasts(fires, step):
    """Whether a fault is there, while which the exporter is started again."""
    return 0 <= step - BEGIN < fires + ENDS


def away(fires, step):
    return step - BEGIN - fires in AWAY


def alert_of(rule):
    return "Railbed" + "".join(word.capitalize() for word in re.split(r"[.-]", rule))


def add_finding(nodes, node, rule, status="fail"):
    nodes.add(node, "railbed_finding", {"rule": rule, "subject": "x", "status": status},
              lambda step: 1 if BEGIN - 1 <= step < END else None)


def add_counter(nodes, alert, severity, finding, metric, labels, loud, quiet):
    growing = lambda step: 5 + loud * steps_of_fault(step)
    cases = {
        "fault": growing,
        "found": growing,
        "steady": lambda step: 5 + quiet * step,
        "reset": lambda step: 1e6 if step < BEGIN else 3 * loud,
        "restart": lambda step: 1e6 if step < BEGIN else None if step < BEGIN + 9 else 3 * loud,
        "new": lambda step: None if step < BEGIN else 1e6,
    }
    if metric == "railbed_xid_total":  # its first one makes the series
        cases["first"] = lambda step: None if step < BEGIN + 1 else 1
        cases["reboot"] = lambda step: None if step < BEGIN + 9 else 1
    for case, values in cases.items():
        node = f"{case}-{alert}"
        nodes.add(node, metric, labels, values)
        for beside, its_labels, value in BESIDE.get(alert, []):
            nodes.add(node, beside, its_labels, lambda step, value=value: value)
        if case == "new":  # and so is the node
            nodes.add(node, "up", {}, lambda step: None if step < BEGIN else 1)
        else:
            away = case in ("restart", "reboot")
            nodes.add(node, "up", {}, lambda step, away=away: 0 if away and BEGIN <= step < BEGIN + 9 else 1)
    nodes.expect(alert, f"fault-{alert}", severity, finding)
    add_flapping_counter(nodes, alert, metric, labels, 10 * loud)
    add_finding(nodes, f"found-{alert}", finding)
    nodes.expect(alert_of(finding), f"found-{alert}", "critical", finding)
    add_mended(nodes, alert, finding, metric, labels, loud)


def add_flapping_counter(nodes, alert, metric, labels, loud):
    """It grows ten times as fast as a fault: else its rate, pauses included, is below the limit."""
    fires = COUNTER_FIRES
    grown = lambda is_there: lambda step: 5 + loud * sum(is_there(fires, one) for one in range(BEGIN, step))
    for node, values in ((f"flap-{alert}", grown(flaps)), (f"restart-{alert}", grown(lasts))):
        is_away = lambda step: node.startswith("restart") and away(fires, step)
        nodes.add(node, metric, labels, lambda step: None if is_away(step) else values(step))
        for beside, its_labels, value in BESIDE.get(alert, []):
            nodes.add(node, beside, its_labels, lambda step: None if is_away(step) else value)


def add_mended(nodes, alert, finding, metric, labels, loud):
    """It grew while the finding was told, which is gone; the window still holds the growth."""
    node = f"found-mended-{alert}"
    nodes.add(node, metric, labels, lambda step: 5 + loud * min(steps_of_fault(step), 4))
    for beside, its_labels, value in BESIDE.get(alert, []):
        nodes.add(node, beside, its_labels, lambda step: value)
    nodes.add(node, "railbed_finding", {"rule": finding, "subject": "x", "status": "fail"},
              lambda step: 1 if BEGIN + 1 <= step < BEGIN + 5 else None)


def add_loss(nodes):
    for case, part, severity in (("many", 1e-3, "critical"), ("few", 1e-5, "warning"), ("none", 1e-7, None), ("found", 1e-3, "")):
        node = f"{'fault' if severity else case}-loss-{case}"
        nodes.add(node, "node_infiniband_port_packets_received_total", PORT, lambda step: 3e6 * step)
        for metric in ("packet_sequence_errors", "out_of_sequence_packets_received"):
            nodes.add(node, f"node_infiniband_{metric}_total", PORT, lambda step, part=part: 1.5e6 * part * steps_of_fault(step))
        if severity:
            nodes.expect("RailbedPacketLoss", node, severity, "load.loss")
        elif case == "found":
            add_finding(nodes, node, "load.loss")
            nodes.expect("RailbedLoadLoss", node, "critical", "load.loss")
    for case, is_there in (("flap", flaps), ("restart", lasts)):
        is_away = lambda step: case == "restart" and away(COUNTER_FIRES, step)
        nodes.add(f"{case}-RailbedPacketLoss", "node_infiniband_port_packets_received_total", PORT,
                  lambda step: None if is_away(step) else 3e6 * step)
        for metric in ("packet_sequence_errors", "out_of_sequence_packets_received"):
            nodes.add(f"{case}-RailbedPacketLoss", f"node_infiniband_{metric}_total", PORT, lambda step: None if is_away(step) else
                      1.5e4 * sum(is_there(COUNTER_FIRES, one) for one in range(BEGIN, step)))
    # A driver that is loaded anew: packets begin at 0, and so do losses, which then stand.
    nodes.add("reset-loss", "node_infiniband_port_packets_received_total", PORT, lambda step: 3e6 * (step if step < BEGIN else step - BEGIN))
    for metric in ("packet_sequence_errors", "out_of_sequence_packets_received"):
        nodes.add("reset-loss", f"node_infiniband_{metric}_total", PORT, lambda step: 1e6 if step < BEGIN else 5000)


def add_gauge(nodes, alert, name, severity, finding, metrics):
    node = f"fault-{alert}{name}"
    for metric, labels, well, bad in metrics:
        nodes.add(node, metric, labels, lambda step, well=well, bad=bad: bad if at_fault(step) else well)
        if alert not in AT_ONCE:
            nodes.add(f"short-{alert}{name}", metric, labels, lambda step, well=well, bad=bad: bad if step == BEGIN + 15 else well)
    nodes.expect(alert, node, severity, finding)
    fires = nodes.pending.get(alert, 0) + 2
    for metric, labels, well, bad in metrics:
        nodes.add(f"flap-{alert}{name}", metric, labels, lambda step, well=well, bad=bad: bad if flaps(fires, step) else well)
        nodes.add(f"restart-{alert}{name}", metric, labels, lambda step, well=well, bad=bad:
                  None if away(fires, step) else bad if lasts(fires, step) else well)
    if finding.startswith("monitor."):
        return
    for metric, labels, well, bad in metrics:
        nodes.add(f"found-{alert}{name}", metric, labels, lambda step, well=well, bad=bad: bad if at_fault(step) else well)
    add_finding(nodes, f"found-{alert}{name}", finding)
    nodes.expect(alert_of(finding), f"found-{alert}{name}", "critical", finding)


def add_findings(nodes, rules):
    for rule in [*rules, "later.rule"]:
        alert = alert_of(rule) if rule in rules else "RailbedFindingOther"
        for status, severity in (("fail", "critical"), ("warn", "warning")):
            for case, is_there in (("flap", flaps), ("restart", lasts)) if status == "fail" else ():
                nodes.add(f"{case}-{alert}", "railbed_finding", {"rule": rule, "subject": "x", "status": status},
                          lambda step: 1 if is_there(0, step) and not (case == "restart" and away(0, step)) else None)
                if rule in SINCE_BOOT:
                    nodes.add(f"{case}-{alert}", *SINCE_BOOT[rule], lambda step: 1000 + min(steps_of_fault(step), ENDS - 1) // 12)
            node = f"fault-{status}-{rule}"
            add_finding(nodes, node, rule, status)
            nodes.expect(alert, node, severity, rule)
            if rule in SINCE_BOOT:
                # One that grows, and one that has stopped: its finding stays, and is no alert.
                metric, labels = SINCE_BOOT[rule]
                nodes.add(node, metric, labels, lambda step: 1000 + steps_of_fault(step) // 12)
                nodes.add(f"stopped-{status}-{rule}", metric, labels, lambda step: 1000)
                add_finding(nodes, f"stopped-{status}-{rule}", rule, status)


def add_flapping(nodes):
    """A link that goes and comes each two minutes for ten: one alert, then the monitor reports that it flaps, until it has been well
    for half an hour. Then another one that comes and goes so slowly that only this report bridges its pauses."""
    link = {"rule": "net.carrier", "subject": "eth100"}
    told = lambda begins, ends: lambda step: 5 if begins <= step < ends else None
    since = lambda begins, ends: lambda step: 30 * BEGIN if begins <= step < ends else None
    quick = lambda step: 1 if BEGIN <= step < BEGIN + 20 and (step - BEGIN) % 8 < 4 else None
    slow = lambda step: 1 if BEGIN <= step < BEGIN + 4 or BEGIN + 8 <= step < BEGIN + 12 or BEGIN + 36 <= step < BEGIN + 40 else None
    for node, there, begins, ends in (("flap-quick", quick, BEGIN + 16, BEGIN + 80), ("flap-slow", slow, BEGIN + 16, BEGIN + 100)):
        nodes.add(node, "railbed_finding", link | {"status": "fail"}, there)
        nodes.add(node, "railbed_finding_flapping", link | {"status": "fail"}, told(begins, ends))
        nodes.add(node, "railbed_finding_flapping_since_seconds", link, since(begins, ends))
    # The monitor of a node that flaps is started again.
    nodes.add("restart-RailbedFindingFlapping", "railbed_finding_flapping", link | {"status": "unknown"},
              lambda step: None if away(0, step) else told(BEGIN, BEGIN + 40)(step))
    nodes.add("fault-RailbedFindingFlapping", "railbed_finding_flapping", link | {"status": "unknown"}, told(BEGIN, END))
    nodes.expect("RailbedFindingFlapping", "fault-RailbedFindingFlapping", "warning", "net.carrier")


def add_injected(nodes):
    """A finding that somebody injected fires its alert, also of a rule whose counters stand still, and silences no alert on counters."""
    for rule in ("load.carrier", "rdma.link-lost"):
        node = f"fault-injected-{rule}"
        nodes.add(node, "railbed_finding", {"rule": rule, "subject": "x", "status": "fail", "injected": "true"},
                  lambda step: 1 if BEGIN - 1 <= step < END else None)
        nodes.expect(alert_of(rule), node, "critical", rule)
    node = "fault-injected-load.carrier"
    nodes.add(node, "node_network_carrier_changes_total", {"device": "eth100"}, lambda step: 5 + steps_of_fault(step))
    for beside, labels, value in BESIDE["RailbedCarrierChanges"]:
        nodes.add(node, beside, labels, lambda step, value=value: value)
    nodes.add(node, "up", {}, lambda step: 1)
    nodes.expect("RailbedCarrierChanges", node, "critical", "load.carrier")


def flapping_questions():
    """Who is paged, and when: the link's own alert at once, the word that it flaps later, and nobody afterwards."""
    own = {"alertname": "RailbedNetCarrier", "severity": "critical", "finding": "net.carrier"}
    flapping = {"alertname": "RailbedFindingFlapping", "severity": "warning", "finding": "net.carrier"}
    for node, last in (("flap-quick", BEGIN + 80), ("flap-slow", BEGIN + 100)):
        for step, alerts in ((BEGIN - 1, []), (BEGIN, [own]), (BEGIN + 6, [own]), (BEGIN + 15, [own]), (BEGIN + 16, [own, flapping]),
                             (BEGIN + 34, [own, flapping]), (last + HOLD - 1, [own, flapping]), (last + HOLD + 1, [])):
            yield question(step, f', node="{node}"', [alert | {"node": node} for alert in alerts])


def all_nodes(rules, pending):
    nodes = Nodes(pending)
    for case in COUNTERS:
        add_counter(nodes, *case)
    for case in GAUGES:
        add_gauge(nodes, *case)
    add_loss(nodes)
    for metric, labels in SOUND:
        nodes.add("sound", metric, labels, lambda step: 100 * step)
    # Looked at every ten minutes, and at fault not at all.
    nodes.add("fault-RailbedLookStale", "railbed_look_timestamp_seconds", {},
              lambda step: 30 * (BEGIN if at_fault(step) else step // 20 * 20))
    nodes.expect("RailbedLookStale", "fault-RailbedLookStale", "warning", "monitor.look-stale")
    # It stays old; only the series can come and go.
    for case in ("flap", "restart"):
        gone = lambda step: any(step - BEGIN - 64 in pause for pause in (PAUSES[:2] if case == "flap" else (AWAY,)))
        nodes.add(f"{case}-RailbedLookStale", "railbed_look_timestamp_seconds", {},
                  lambda step: None if gone(step) else 30 * (BEGIN if at_fault_for(step, 64 + 26) else step))
    add_findings(nodes, rules)
    add_flapping(nodes)
    add_injected(nodes)
    return nodes


def samples(rows):
    return [{"labels": "{" + ",".join(f'{key}="{value}"' for key, value in row.items()) + "}", "value": 1} for row in rows]


def at(step):
    return f"{30 * step}s"


def question(step, matchers, rows):
    return {"expr": f'count by (alertname, node, severity, finding) (ALERTS{{alertstate="firing"{matchers}}})',
            "eval_time": at(step), "exp_samples": samples(rows)}


def fires_once(nodes):
    """Each alert that fires on a fault fires on one that flaps, and over a restart: once, until it is over."""
    rows = sorted({(one["alertname"], re.sub("^(fault|found)-", "", one["node"])) for one in nodes.firing if one["node"].startswith("fault-")})
    names = {}
    for alert, node in rows:
        names.setdefault(alert, set()).add(node if node.startswith(alert) else alert)
    expected = [{"alertname": alert, "node": f"{case}-{node}"} for alert, its in names.items() for node in its for case in ("flap", "restart")
                if (case, alert) != ("flap", "RailbedFindingFlapping")]
    expected += [{"alertname": alert, "node": node} for node in ("flap-quick", "flap-slow")
                 for alert in ("RailbedNetCarrier", "RailbedFindingFlapping")]
    every = sorted({one["node"] for one in expected})
    for first in range(0, len(every), 20):  # promtool's queries may load 10,000 samples
        some = every[first:first + 20]
        case = f'alertstate="firing",node=~"{"|".join(some)}"'
        begins = f"ALERTS{{{case}}} unless ALERTS{{{case}}} offset 30s"
        yield {"expr": f"sum by (alertname, node) (count_over_time(({begins})[{30 * (LAST - 1)}s:30s]))", "eval_time": at(LAST - 1),
               "exp_samples": samples([one for one in expected if one["node"] in some])}


def questions(nodes):
    yield from fires_once(nodes)
    yield from flapping_questions()
    yield question(BEGIN - 2, "", [])
    yield question(END - 2, ', node!~"(flap|restart)-.*"', nodes.firing)
    yield question(LAST - 1, "", [])
    for step in LOOKS:
        yield question(step, ', node!~"(fault|found|first|flap|restart)-.*"', [])
    first = [case for case in COUNTERS if case[3] == "railbed_xid_total"]
    yield question(BEGIN + 10, ', node=~"first-.*"',
                   [{"alertname": alert, "node": f"first-{alert}", "severity": severity, "finding": finding}
                    for alert, severity, finding, *_ in first])
    yield question(BEGIN + 25 + HOLD, ', node=~"first-.*"', [])
    counters = "|".join(case[0] for case in COUNTERS)
    for step in (BEGIN + 7, BEGIN + 9, BEGIN + 12, BEGIN + 18, BEGIN + 25):
        yield question(step, f', node=~"found-mended-.*", alertname=~"{counters}"', [])


# What a person reads, of two alerts, word by word.
READ = [
    {"eval_time": at(END - 2), "alertname": "RailbedHostGovernor", "exp_alerts": [{
        "exp_labels": {"job": "railbed", "cluster": "pod", "node": f"fault-{status}-host.governor", "rule": "host.governor",
                       "instance": f"fault-{status}-host.governor:9885", "subject": "x", "status": status,
                       "severity": severity, "finding": "host.governor"},
        "exp_annotations": {
            "summary": f"fault-{status}-host.governor, x: host.governor {status}s; expected: processor runs at full clock",
            "description": "With a saving governor the clock falls between messages; latency rises and perftest warns of "
                           "conflicting frequencies. Expected: performance, or expect.governor of cluster.yaml. Read from: "
                           "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor.",
            "remedy": "Set the performance governor now and at boot. What was seen, with commands for this node: "
                      "railbed verify there. More: railbed explain host.governor",
            "runbook_url": "http://prometheus:9090/consoles/railbed-alerts.html#railbedhostgovernor"}}
        for status, severity in (("fail", "critical"), ("warn", "warning"))]},
    {"eval_time": at(BEGIN + 10), "alertname": "RailbedXidReboot", "exp_alerts": [{
        "exp_labels": {"job": "railbed", "cluster": "pod", "node": f"{case}-RailbedXidReboot", "xid": "79",
                       "instance": f"{case}-RailbedXidReboot:9885", "pci_bus_id": "0000:1b:00.0",
                       "severity": "critical", "finding": "gpu.xid-reboot"},
        "exp_annotations": {
            "summary": f"{case}-RailbedXidReboot, GPU 0000:1b:00.0: Xid 79: the node has to be restarted",
            "description": f"NVIDIA's driver wrote this to the kernel log. Counted in the last 10 minutes: {count}.",
            "remedy": "Drain the node and restart it; then look at the GPU's seat and PCIe link. What it means: railbed explain xid 79",
            "runbook_url": "http://prometheus:9090/consoles/railbed-alerts.html#railbedxidreboot"}}
        for case, count in (("fault", 10), ("first", 1), ("flap", 100), ("restart", 100))]},
    {"eval_time": at(BEGIN + 20), "alertname": "RailbedFindingFlapping", "exp_alerts": [{
        "exp_labels": {"job": "railbed", "cluster": "pod", "node": node, "rule": "net.carrier", "instance": f"{node}:9885",
                       "subject": "eth100", "status": status, "severity": "warning", "finding": "net.carrier"},
        "exp_annotations": {
            "summary": f"{node}, eth100: net.carrier comes and goes",
            "description": f"It changed 5 times{since}. Its own alert fires without a pause until it has not changed for 30 minutes.",
            "remedy": "Something there is about to fail for good: on a link the cable or a module, on a service what starts it again. "
                      "When it came and went: railbed events, on that node. More: railbed explain net.carrier",
            "runbook_url": "http://prometheus:9090/consoles/railbed-alerts.html#railbedfindingflapping"}}
        for node, status, since in (("flap-quick", "fail", " since 1970-01-01 00:30:00 +0000 UTC"),
                                    ("flap-slow", "fail", " since 1970-01-01 00:30:00 +0000 UTC"),
                                    ("restart-RailbedFindingFlapping", "unknown", ""),
                                    ("fault-RailbedFindingFlapping", "unknown", ""))]},
]


def no_targets():
    """Nobody watches the cluster: from the beginning, for a moment without this cluster, and again and again."""
    there = {"plain": lambda step: step >= BEGIN, "flap": lambda step: step >= BEGIN or step in range(30, 38) or step in range(44, 52)}
    firing = [{"alertname": "RailbedNoTargets", "severity": "critical", "finding": "monitor.no-targets"}]
    once = {"expr": 'sum by (alertname) (count_over_time((ALERTS{alertstate="firing"} unless ALERTS{alertstate="firing"} offset 30s)[2700s:30s]))',
            "eval_time": at(BEGIN + HOLD + 10), "exp_samples": samples([{"alertname": "RailbedNoTargets"}])}
    for is_there in there.values():
        nobody = Nodes()
        nobody.add("gpu01", "up", {"cluster": "another"}, lambda step: 1)
        nobody.add("gpu01", "up", {}, lambda step: 1 if is_there(step) else None)
        yield {"interval": "30s", "input_series": nobody.series, "promql_expr_test": [
            question(18, "", []), question(25, "", firing), question(BEGIN + HOLD - 2, "", firing), question(BEGIN + HOLD + 2, "", []), once]}


def rule_tests(rules, pending):
    nodes = all_nodes(rules, pending)
    nodes.add("gpu01", "up", {}, lambda step: 1)
    return {"rule_files": ["railbed.rules.yml"], "evaluation_interval": "30s", "tests": [
        {"interval": "30s", "input_series": nodes.series, "promql_expr_test": list(questions(nodes)), "alert_rule_test": READ,
         "external_url": "http://prometheus:9090"}, *no_targets()]}


def check(*words, **how):
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, **how)
    assert done.returncode == 0, f"{words}:\n{(done.stdout + done.stderr)[-6000:]}"
    return done.stdout


def write_files(folder, cluster, *options):
    check(RAILBED, "monitor", "files", cluster, "-o", folder, *options)


def check_files(folder):
    check("promtool", "check", "rules", folder / "railbed.rules.yml")
    for config in ("prometheus.yml", "railbed.scrape.yml"):
        check("promtool", "check", "config", folder / config)


def check_variants(folder):
    for name in ("ca.pem", "cert.pem", "key.pem", "password"):
        (folder / name).write_text("")
    write_files(folder / "tls", CLUSTER, "--scheme", "https", "--ca", "../ca.pem", "--user", "prom", "--password-file", "../password",
                "--handbook", "https://wiki/{{x}}/")
    check_files(folder / "tls")
    write_files(folder / "client", CLUSTER, "--scheme", "https", "--cert", folder / "cert.pem", "--key", folder / "key.pem")
    check_files(folder / "client")
    refused = subprocess.run([RAILBED, "monitor", "files", CLUSTER, "-o", folder / "no", "--user", "a", "--password-file", "b"],
                             capture_output=True, text=True, timeout=60)
    assert refused.returncode == 64 and "https" in refused.stderr and not (folder / "no").exists(), refused


def check_hostile(folder):
    """A cluster whose name means something in YAML, in PromQL and in templates: its files are sound all the same."""
    cluster = folder / "hostile.yaml"
    cluster.write_text('railbed: 1\ncluster: "a\\"} or vector(1) # {{ $value }} $cluster é\\u0085: - x"\n'
                       'nodes: [{name: gpu1, ssh: "ssh://ops@10.0.0.1:2222"}]\n')
    write_files(folder / "hostile", cluster)
    check_files(folder / "hostile")
    targets = json.loads((folder / "hostile/railbed.targets.json").read_text())
    assert targets[0]["targets"] == ["10.0.0.1:9885"] and targets[0]["labels"]["node"] == "gpu1", targets


def check_kept(folder):
    (folder / "prometheus.yml").write_text("# mine\n")
    write_files(folder, CLUSTER)
    assert (folder / "prometheus.yml").read_text() == "# mine\n", "a prometheus.yml that is there is a person's"


def alerts_in(folder):
    """Each alert of the rules file: name, labels and annotations as they stand there."""
    text = (folder / "railbed.rules.yml").read_text()
    for group, part in ((name, part) for name, group in re.findall(r'- name: "(.*)"\n((?:(?!  - name).*\n)*)', text)
                        for part in group.split("- alert: ")[1:]):
        strings = {key: json.loads(value) for key, value in re.findall(r"^ +(\w+): (\".*\")$", part, re.M)}
        pending = re.search(r"^ +for: (\d+)m$", part, re.M)
        expression = re.search(r"^ +expr: \|-\n((?:          .*\n)+)", part, re.M)[1]
        hold = re.search(r"^ +keep_firing_for: (\w+)$", part, re.M)[1]
        yield strings | {"name": part.split("\n", 1)[0], "group": group, "hold": hold, "pending": int(pending[1]) if pending else 0,
                         "expr": "\n".join(line[10:] for line in expression.splitlines())}


def in_general(annotation):
    """With … for each part that depends on the single alert."""
    return re.sub(r"…(…)+", "…", re.sub(r"{{.*?}}", "…", annotation)).replace("{", "\\{")


def headline(alert):
    """What is wrong, without where: "Damaged packets arrive"."""
    what = in_general(alert["summary"]).split(": ", 1)[-1]
    return what[0].upper() + what[1:]


def section(alert):
    """An alert's part of the page: what it asks, why, and what to do."""
    expression = re.sub(r',? *cluster="pod",? *', "", alert["expr"]).replace("{}", "")
    expression, silent, by = expression.partition("unless on (instance)")
    expression = re.sub(r"\s*unless resets\([^()]*\) > 0", "", expression).strip()
    expression = re.sub(r'((?:rule|xid)[!=]~)"[^"]{60,}"', r'\1"…"', expression)
    severity = "critical or warning" if "{{" in alert["severity"] else alert["severity"]
    finding = "the rule's own" if "{{" in alert["finding"] else f"`{alert['finding']}`"
    after = f", after {alert['pending']}m" if alert["pending"] else ""
    text = (f"### {alert['name']}\n{severity}, finding {finding}{after}.\n\n```promql\n{expression}\n```\n"
            f"{headline(alert)}. {in_general(alert['description'])}\n\n**Do:** {in_general(alert['remedy'])}\n\n")
    causes = re.search(r'rule=~"([^"]*)"', by) if silent else None
    return text + (f"Silent on a node with a finding of {', '.join(f'`{one}`' for one in causes[1].split('|'))}.\n\n" if causes else "")


def page_of(alerts, text):
    """The page's text, with each alert as the rules file has it: those that are no rule's own by a section each, in their groups,
    and those of rules by a line each."""
    by_rule = [one for one in alerts if one["name"] == alert_of(one["finding"])]
    hold, = {one["hold"] for one in alerts}
    sections = f"Each alert keeps firing for {hold} when its fault is gone (`keep_firing_for`).\n\n"
    for group, title in TITLES.items():
        sections += f"## {title}\n\n" + "".join(section(one) for one in alerts if one["group"] == group and one not in by_rule)
    lines = "".join(f"- <a id=\"{one['name'].lower()}\"></a>**{one['name']}** (`{one['finding']}`): "
                    f"{one['summary'].split('expected: ')[1]}\n" for one in by_rule)
    assert all(one in by_rule or one["group"] in TITLES for one in alerts), "a group of alerts without a title"
    before, _, rest = text.partition(SECTIONS_BEGIN)
    _, end, rest = rest.partition(SECTIONS_END)
    return before + SECTIONS_BEGIN + sections + end + rest.partition(LIST_BEGINS)[0] + LIST_BEGINS + lines, by_rule


def check_page(alerts):
    """What the page says of an alert, limits among it, is what the alert does."""
    text = PAGE.read_text()
    page, by_rule = page_of(alerts, text)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        PAGE.write_text(page)
        text = page
    assert text == page, "docs/reference/alerts.md differs from the alerts; UPDATE_GOLDEN=1 brings it up to date"
    return [one["finding"] for one in by_rule]


def check_runbooks(alerts, folder):
    """Each alert leads to its own place on the page that Prometheus serves, and in docs/ with --handbook."""
    served = set(re.findall(r'<article id="(\w+)">', (folder / "consoles/railbed-alerts.html").read_text()))
    page = PAGE.read_text()
    written = set(re.findall(r'<a id="(\w+)">', page)) | {name.lower() for name in re.findall(r"^### (\w+)$", page, re.M)}
    for one in alerts:
        address, _, anchor = one["runbook_url"].partition("#")
        assert address == "{{ $externalURL }}/consoles/railbed-alerts.html", one
        assert anchor in served and anchor in written, one


def check_served(folder):
    """A real Prometheus serves the page as it is written: nothing in it is a template."""
    if not shutil.which("prometheus"):
        return
    prometheus = Prometheus(folder)
    try:
        prometheus.wait("vector(1)")
        with urllib.request.urlopen(f"http://{prometheus.address}/consoles/railbed-alerts.html", timeout=30) as answer:
            served = html.unescape(answer.read().decode())
        assert served == html.unescape((folder / "consoles/railbed-alerts.html").read_text()), served[:2000]
    finally:
        prometheus.stop()


def check_each_tested(alerts, test):
    tested = {row["labels"].split('alertname="')[1].split('"')[0]
              for group in test["tests"] for one in group["promql_expr_test"] for row in one["exp_samples"]}
    missing = {one["name"] for one in alerts} - tested
    assert not missing, f"without a test: {missing}"
    for one in alerts:
        assert one.get("severity") and one.get("finding") and one.get("remedy") and one.get("summary"), one


def main():
    if not shutil.which("promtool"):
        print("promtool is not here: scripts/install-packages test", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_files(folder, CLUSTER)
        check_files(folder)
        alerts = list(alerts_in(folder))
        rules = check_page(alerts)
        check_runbooks(alerts, folder)
        check_served(folder)
        test = rule_tests(rules, {one["name"]: 2 * one["pending"] for one in alerts})
        check_each_tested(alerts, test)
        (folder / "test.yml").write_text(json.dumps(test))  # JSON is YAML
        check("promtool", "test", "rules", folder / "test.yml")
        check_variants(folder)
        check_hostile(folder)
        check_kept(folder)
        print(f"{len(alerts)} alerts fire on {len(test['tests'][0]['input_series'])} series as they should, and on no other")
    return 0


if __name__ == "__main__":
    guardian.begin()
    sys.exit(main())
