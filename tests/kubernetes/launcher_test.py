#!/usr/bin/env python3
"""railbed verify and bench with --launcher kubernetes: the real kubectl and real agents, and a stand-in for the API server that speaks
the exec protocol (api_server.py). No real cluster. Skips itself without kubectl."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from api_server import Cluster, Pod, node_json

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ["RAILBED"]


class Caller:
    def __init__(self, folder, cluster):
        self.folder = folder
        self.environment = os.environ | {"KUBECONFIG": str(cluster.kubeconfig), "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}

    def words(self, *more):
        return [RAILBED, *more, "--launcher", "kubernetes"]

    def run(self, *more, environment=None):
        return subprocess.run(self.words(*more), env=environment or self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60)

    def verify(self, *more):
        """({node: why it was not reached}, nodes that gave facts)"""
        done = self.run("verify", "--json", "--all", *more)
        assert done.returncode in (0, 1, 2, 3) and done.stdout, (done.returncode, done.stderr)
        findings = json.loads(done.stdout)["findings"]
        lost = {one["node"]: one["observed"] for one in findings if one["rule"] == "node.reachable" and one["status"] == "fail"}
        return lost, {one["node"] for one in findings if one["node"] and one["node"] not in lost}


def wait_for(what, condition):
    end = time.monotonic() + 15
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"never happened: {what}")


def check_reasons(caller, cluster):
    """Each sick node is named with its reason; the others answer."""
    lost, seen = caller.verify("--nodelist", "gpu1")
    assert not lost and seen == {"gpu1"}, (lost, seen)  # its agent lies there from now on
    lost, seen = caller.verify()
    assert seen == {"gpu1", "gpu8"}, (seen, lost)
    for node, part in {"gpu2": "ImagePullBackOff, Back-off pulling image", "gpu3": "Insufficient memory", "gpu4": "role railbed-agent",
                       "gpu5": "while at work", "gpu6": "it is cordoned", "gpu7": "Kubelet stopped posting"}.items():
        assert part in lost.pop(node), (node, part)
    assert not lost, lost
    print("of eight nodes two answer, and six are named with their reasons")

    lost, seen = caller.verify("--nodelist", "gpu[1,6]")
    assert not lost and seen == {"gpu1", "gpu6"}, (lost, seen)
    cluster.nodes = None  # who may not list nodes still reaches them
    file = caller.folder / "cluster.yaml"
    file.write_text("railbed: 1\ncluster: two\nnodes: [gpu1, gpu9]\nrails: []\n")
    lost, seen = caller.verify(str(file))
    assert seen == {"gpu1"} and "no pod with" in lost["gpu9"], (lost, seen)
    wait_for("no agent", lambda: not cluster.processes())


def check_errors(caller, cluster):
    """Each says what to do next."""
    no_config = caller.environment | {"KUBECONFIG": "/dev/null"}
    for more, environment, part in (
            ((), no_config, "--kubeconfig"), (("--context", "nope"), None, "get-contexts"),
            (("--context", "stranger"), None, "log in to the cluster again"), (("--namespace", "nope"), None, "deploy/kubernetes/agent"),
            (("--selector", "a=b"), None, "--selector"), (("--partition", "x"), None, "--launcher slurm")):
        done = caller.run("verify", *more, environment=environment)
        assert done.returncode not in (0, 1, 2) and part in done.stderr, (more, part, done.returncode, done.stderr)
    for more in (("--namespace", "a/b"), ("--selector", "a=$(b)"), ("--context", "")):
        assert caller.run("verify", *more).returncode == 64, more
    print("what stands in the way is said with what to do next")


def kubectls(cluster):
    """Those that carry an agent of ours."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            words = (path.parent / "cmdline").read_bytes()
            if b"exec" in words and b"--stdin" in words and str(cluster.kubeconfig).encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def check_end(caller, cluster):
    """Ctrl-C and SIGKILL leave neither a kubectl nor an agent."""
    gpu8 = cluster.find("railbed-agent-gpu8")
    gpu8.mute = True  # it is waited for
    for number in (signal.SIGINT, signal.SIGKILL):
        running = subprocess.Popen(caller.words("verify", "--nodelist", "gpu[1,8]"), env=caller.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("an agent", lambda: any(process.poll() is None for process in gpu8.processes))
        assert kubectls(cluster)
        running.send_signal(number)
        running.wait(timeout=15)
        wait_for(f"no kubectl after {number.name}", lambda: not kubectls(cluster))
        wait_for(f"no agent after {number.name}", lambda: not cluster.processes())
        print(number.name, "leaves no kubectl and no agent")
    gpu8.mute = False


def check_bench(caller, cluster):
    """TCP between two pods, each in a network namespace as if it were a node's, on a rail of cluster.yaml."""
    spaces = [f"railbed-{os.getpid()}-{number}" for number in (1, 2)]
    ends = [f"rk{os.getpid() % 10000}-{number}" for number in (1, 2)]

    def ip(*words, check=True):
        return subprocess.run(["ip", *words], check=check, capture_output=True).returncode == 0

    if os.geteuid() != 0 or not ip("netns", "add", spaces[0], check=False):
        print("no network namespaces here: nothing is measured")
        return
    try:
        ip("netns", "add", spaces[1])
        ip("link", "add", ends[0], "netns", spaces[0], "type", "veth", "peer", "name", ends[1], "netns", spaces[1])
        for number, (space, end, node) in enumerate(zip(spaces, ends, ("gpu1", "gpu8")), 1):
            ip("-n", space, "address", "add", f"10.99.7.{number}/24", "dev", end)
            for one in (end, "lo"):
                ip("-n", space, "link", "set", one, "up")
            cluster.find(f"railbed-agent-{node}").prefix = ["ip", "netns", "exec", space]
        file = caller.folder / "rail.yaml"
        file.write_text("railbed: 1\ncluster: two\nnodes: [gpu1, gpu8]\nrails:\n  - name: rail\n    subnet: 10.99.7.0/24\n    ports:\n"
                        f"      gpu1: {{address: 10.99.7.1, interface: {ends[0]}}}\n      gpu8: {{address: 10.99.7.2, interface: {ends[1]}}}\n")
        done = caller.run("bench", "tcp", "gpu1", "gpu8", "--cluster", str(file), "--seconds", "1", "--no-store", "--json")
        assert done.returncode in (0, 1), (done.returncode, done.stdout[-2000:], done.stderr)
        wait_for("no agent", lambda: not cluster.processes())
        print("bench tcp between two pods:", len(json.loads(done.stdout)["measurements"]), "measurements")
    finally:
        for pod in cluster.pods:
            pod.prefix = []
        for space in spaces:
            ip("netns", "delete", space, check=False)


def main():
    if not shutil.which("kubectl"):
        print("skipped: no kubectl")
        return 77
    with tempfile.TemporaryDirectory(prefix="railbed-kubernetes-") as name:
        folder = pathlib.Path(name)
        home = folder / "home"
        home.mkdir()
        waiting = {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"registry.example/railbed\"\n|x"}
        pods = [Pod("gpu1", home), Pod("gpu2", home, waiting=waiting), Pod("gpu3", home, placed=False), Pod("gpu4", home, forbidden=True),
                Pod("gpu5", home, dies=True), Pod("gpu6", home), Pod("gpu7", home), Pod("gpu8", home)]
        nodes = [node_json(pod.node, ready=pod.node != "gpu7", cordoned=pod.node == "gpu6") for pod in pods]
        with Cluster(folder, pods, nodes) as cluster:
            caller = Caller(folder, cluster)
            check_errors(caller, cluster)
            check_reasons(caller, cluster)
            check_end(caller, cluster)
            check_bench(caller, cluster)
    return 0


if __name__ == "__main__":
    guardian.begin()
    sys.exit(main())
