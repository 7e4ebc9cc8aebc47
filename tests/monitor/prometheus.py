"""A real Prometheus on a port of its own, and the dashboards' queries as Grafana asks them."""
import contextlib
import json
import re
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request

PATIENCE = 90


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


class Prometheus:
    """By the prometheus.yml of the folder."""

    def __init__(self, folder):
        self.address = f"127.0.0.1:{free_port()}"
        self.log = folder / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                 f"--web.console.templates={folder}/consoles", f"--web.listen-address={self.address}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)

    def ask(self, path, **words):
        query = urllib.parse.urlencode(words, doseq=True)
        with urllib.request.urlopen(f"http://{self.address}/api/v1/{path}?{query}", timeout=30) as answer:
            return json.load(answer)["data"]

    def value(self, query):
        return self.ask("query", query=query)["result"]

    def wait(self, query):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()[-2000:]
            with contextlib.suppress(OSError):
                if self.value(query):
                    return
            time.sleep(0.3)
        raise AssertionError(f"never true: {query}\n{self.log.read_text()[-2000:]}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def queries_of(board):
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]


def filled(query, choices):
    """A query as Grafana asks it, once somebody has chosen: {"$cluster": "pair", "$node": "gpu02", …}."""
    for name, value in choices.items():
        query = query.replace(name, value)
    return query


def with_node(query, node, choices):
    return filled(query.replace('node="$node"', f'node="{node}"'), choices)


def without_data(board, prometheus, node, choices):
    """How many of a dashboard's queries find data, and those that find none, or not the labels that their legend names."""
    asked, empty = 0, []
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            query = with_node(target["expr"], node, choices)
            found = prometheus.value(query)
            labels = re.findall(r"{{(\w+)}}", target["legendFormat"])
            if not found or not all(any(name in one["metric"] for one in found) for name in labels):
                empty.append(f"{board['uid']}, {panel['title']}: {query}")
            asked += 1
    return asked - len(empty), empty
