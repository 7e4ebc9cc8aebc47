#!/usr/bin/env python3
"""Grafana's dashboards that `railbed monitor files` writes: their structure is what Grafana reads, and every query of every
panel and variable finds data in a real Prometheus. It runs by the files of the same command, with its alerts, and scrapes two
nodes: healthy.prom and faulty.prom beside this file, as exporters would show them, with counters that move and two rails on one
port.
"""
import contextlib
import http.server
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from prometheus import Prometheus, filled, queries_of, with_node, without_data

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
RAILBED = pathlib.Path(os.environ["RAILBED"]).resolve()
SCRAPES = 5
CHOSEN = {"$cluster": "pair", "$node": ".*", "$rail": "rail0", "$__rate_interval": "10s", "$__range": "10s"}
UNITS = {"short", "none", "Bps", "pps", "cps", "s", "percent", "percentunit", "celsius", "watt", "rotmhz", "rotrpm", "mbytes", "dBm", "sci"}


# Counters that are not zero grow by a hundredth of what they are in a second; the last look was just now.
def exposition(text, seconds):
    counters = set(re.findall(r"^# TYPE (\S+) counter$", text, re.M))
    lines = []
    for line in text.splitlines():
        name = re.match(r"\w+", line)
        if name and name[0] in counters:
            series, _, value = line.rpartition(" ")
            line = f"{series} {float(value) * (1 + seconds / 100)}"
        if name and name[0] == "railbed_look_timestamp_seconds":
            line = f"{name[0]} {time.time()}"
        lines.append(line)
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def exporter(file):
    """The address of a server of these metrics, on this machine alone."""
    text, began = file.read_text(), time.monotonic()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = exposition(text, time.monotonic() - began).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def write_files(folder, addresses):
    """As a person would, with targets that are these servers, and a shorter breath."""
    nodes = [f"{{name: gpu{number:02}, ssh: {address.split(':')[0]}}}" for number, address in enumerate(addresses, 1)]
    (folder / "cluster.yaml").write_text(f"railbed: 1\ncluster: pair\nnodes: [{', '.join(nodes)}]\n")
    subprocess.run([RAILBED, "monitor", "files", "cluster.yaml", "-o", "."], cwd=folder, check=True, timeout=60,
                   stdout=subprocess.DEVNULL)
    targets = json.loads((folder / "railbed.targets.json").read_text())
    for group, address in zip(targets, addresses, strict=True):
        group["targets"] = [address]
    (folder / "railbed.targets.json").write_text(json.dumps(targets))
    config = folder / "prometheus.yml"
    config.write_text(re.sub(r"(scrape_timeout|scrape_interval|evaluation_interval): \d+s", r"\1: 1s", config.read_text()))


# What Grafana needs of a dashboard.
def check_structure(board):
    assert re.fullmatch(r"railbed-[a-z]+", board["uid"]) and board["title"] and board["schemaVersion"] >= 37, board["uid"]
    assert board["id"] is None, "Grafana gives the number"
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids)), f"{board['uid']}: {ids}"
    taken = {}
    for panel in board["panels"]:
        check_panel(panel)
        place = panel["gridPos"]
        assert 0 <= place["x"] and place["x"] + place["w"] <= 24 and place["w"] > 0 and place["h"] > 0, panel["title"]
        for cell in itertools.product(range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])):
            assert taken.setdefault(cell, panel["id"]) == panel["id"], f"{panel['title']} lies over panel {taken[cell]}"
    names = [one["name"] for one in board["templating"]["list"]]
    assert names[0] == "datasource" and len(names) == len(set(names)), names
    used = set(re.findall(r"\$(\w+)", " ".join(queries_of(board))))
    assert used <= {*names, "__rate_interval", "1"}, used - set(names)


def check_panel(panel):
    assert panel["type"] in ("timeseries", "stat", "table", "row") and panel["title"], panel
    if panel["type"] == "row":
        assert panel["panels"] == [] and panel["collapsed"] is False
        return
    assert panel["description"].endswith("."), panel["title"]
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["fieldConfig"]["defaults"]["unit"]
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert steps[0]["value"] is None and all(set(step) == {"color", "value"} for step in steps), panel["title"]
    letters = [target["refId"] for target in panel["targets"]]
    assert letters and len(letters) == len(set(letters)), panel["title"]
    for target in panel["targets"]:
        assert target["expr"] and target["legendFormat"] and target["instant"] != target["range"], panel["title"]
        assert target["datasource"] == panel["datasource"]


def check_queries(board, prometheus):
    asked, empty = without_data(board, prometheus, "gpu02", CHOSEN)
    assert not empty, "no data, or a label is missing: " + "; ".join(empty)
    return asked


def check_variables(board, prometheus):
    for variable in board["templating"]["list"][1:]:
        query = variable["query"]["query"]
        selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()
        values = prometheus.ask(f"label/{label}/values", **{"match[]": filled(selector, CHOSEN)})
        expected = {"cluster": ["pair"], "node": ["gpu01", "gpu02"], "rail": ["rail0", "rail1", "rail2"]}[variable["name"]]
        assert values == expected, (query, values)


# A sound node has no query that fails, though some have nothing to show; and it raises no alert. On the other one a finding
# (net.mtu) silences what follows from it (RailbedMeasuredLow).
def check_sound_node(boards, prometheus):
    for board in boards:
        for query in queries_of(board):
            prometheus.value(with_node(query, "gpu01", CHOSEN))
    firing = prometheus.value('ALERTS{node="gpu01"}')
    assert not firing, firing
    red = {one["metric"]["alertname"] for one in prometheus.value('ALERTS{node="gpu02"}')}
    assert {"RailbedRdmaPortState", "RailbedNetMtu", "RailbedHostGovernor", "RailbedGpuHot"} <= red, red
    assert not {"RailbedMeasuredLow", "RailbedPortNotActive", "RailbedInterfaceMtuLow"} & red, red
    for group in prometheus.ask("rules")["groups"]:
        for rule in group["rules"]:
            assert rule["health"] == "ok", rule


def check(folder, addresses):
    write_files(folder, addresses)
    boards = [json.loads(file.read_text()) for file in sorted((folder / "dashboards").glob("*.json"))]
    assert [board["uid"] for board in boards] == ["railbed-fleet", "railbed-gpu", "railbed-node", "railbed-rail"]
    for board in boards:
        check_structure(board)
    prometheus = Prometheus(folder)
    try:
        prometheus.wait(f'sum(count_over_time(up{{job="railbed"}}[1m])) >= {2 * SCRAPES} and on () count(ALERTS{{alertstate="firing"}})')
        time.sleep(2)
        asked = sum(check_queries(board, prometheus) for board in boards)
        for board in boards:
            check_variables(board, prometheus)
        check_sound_node(boards, prometheus)
    finally:
        prometheus.stop()
    print(f"{asked} queries of {len(boards)} dashboards find data")


def main():
    for program in ("prometheus", "promtool"):
        if not shutil.which(program):
            print(f"{program} is not here: scripts/install-packages test", file=sys.stderr)
            return 77
    with tempfile.TemporaryDirectory() as name, exporter(HERE / "healthy.prom") as one, exporter(HERE / "faulty.prom") as other:
        check(pathlib.Path(name), [one, other])
    return 0


if __name__ == "__main__":
    guardian.begin()
    sys.exit(main())
