#!/usr/bin/env python3
"""railbed nccl --running, --pid and --container: each trap of a composed process turns red and nothing else does, and real
processes that map a libnccl are found in namespaces of their own and seen as they are."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import guardian

ROOT = pathlib.Path(__file__).resolve().parent
RAILBED = os.environ["RAILBED"]

# Fixture → what is said of its process, and what the exit code is.
TREES = {
    "sound": ([], 0),
    "no-devices": (["no-rdma-nodes", "tcp-in-use"], 2),
    "no-libibverbs": (["tcp-in-use"], 1),
    "no-plugin": (["no-plugin"], 1),
    "memlock": (["memlock"], 2),
    "nodes-closed": (["rdma-nodes-closed"], 2),
    "devices-lacking": (["rdma-devices-lacking"], 1),
    "shm-small": (["shm-small"], 1),
    "own-network": (["own-network"], 1),
    "empty-gid-index": (["empty-variable", "conf-of-image"], 1),
    "empty-net": (["empty-variable"], 2),
    "gloo-loopback": (["gloo-loopback"], 2),
    "gloo-interface": (["interface-gone"], 2),
    "host-ip-elsewhere": (["host-ip"], 1),
    "host-ip-gone": (["host-ip"], 2),
    "no-gpus": (["no-gpu-nodes"], 2),
    "files-used-up": (["files-used-up"], 1),
    "nccl-conf": (["conf-of-image"], 0),
}

LIBRARY = """
__attribute__((used)) const char text[] = "NCCL version 2.27.5+cuda12.9";
"""

# A stand-in for a rank: has libnccl mapped, connects if it is told to, says that it is ready and waits.
RANK = """
import ctypes, socket, sys, time
library = ctypes.CDLL(sys.argv[1])
kept = [socket.create_connection((sys.argv[2], int(sys.argv[3]))) for _ in range(4)] if len(sys.argv) > 2 else []
print("ready", flush=True)
time.sleep(600)
"""


def ask(*words):
    done = subprocess.run([RAILBED, "nccl", *words], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def trees():
    for name, (ids, code) in TREES.items():
        tree = str(ROOT / "running" / f"{name}.tree")
        got, text, error = ask("--running", "--json", "--root", tree)
        if got not in (0, 1, 2):
            yield f"{name}: exit code {got}: {error}"
            continue
        [process] = json.loads(text)["processes"]
        said = [one["id"] for one in process["complaints"]]
        if sorted(said) != sorted(ids) or got != code:
            yield f"{name}: {said}, exit code {got}; expected {ids}, {code}"
        uses = {"sound": "RDMA", "no-devices": "TCP"}
        if name in uses and (process["variables"] or process["uses"]["network"] != uses[name]):
            yield f"{name}: {process['variables']} {process['uses']}"
    _, text, _ = ask("--running", "--json", "--root", str(ROOT / "running/nccl-conf.tree"))
    nccl = json.loads(text)["processes"][0]["process"]["nccl"]
    seen = [(one["name"], one["value"], one["from"]) for file in ("system_file", "user_file") for one in nccl[file]["value"]]
    conf = "/proc/4242/root/etc/nccl.conf"
    if seen != [("NCCL_IB_USE_INLINE", "1", f"{conf}:1"), ("NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS", "1", f"{conf}:2"),
                ("NCCL_DEBUG", "WARN", "/proc/4242/root/root/.nccl.conf:3")]:
        yield f"the lines of a process's files: {seen}"
    code, text, _ = ask("--running", "--root", str(ROOT / "running/no-devices.tree"))
    if code != 2 or "--device /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1" not in text:
        yield f"no-devices names no flags: {text}"


def hostile():
    for words in ([], ["--json"]):
        code, text, _ = ask("--running", "--root", str(ROOT / "running/hostile.tree"), *words)
        if "\x1b" in text or "\x07" in text or "aB3dE6gH9" in text:
            yield f"what a process is called or holds comes through: {text[:300]}"
    for name in ("-v", "a b", "x;y", "../z", "$(id)"):
        if ask("--container=" + name)[0] != 64:
            yield f"--container {name} is not refused"
    if ask("--pid", "0")[0] != 64 or ask("--pid", "1", "--running")[0] != 64:
        yield "--pid 0, or --pid with --running, is not refused"
    code, _, error = ask("--pid", "4194304")
    if code != 3 or "no such process" not in error:
        yield f"a pid that is not there: {code} {error}"


class Rank:
    """A process behind `unshare` that maps the library, with its pid as this side sees it."""

    def __init__(self, library, unshared, environment=None, arguments=(), before=""):
        command = f"{before} exec {sys.executable} -c \"$0\" \"$@\""
        wrapped = ["unshare", *unshared] if unshared else []
        self.started = subprocess.Popen([*wrapped, "sh", "-c", command, RANK, str(library), *arguments],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={"PATH": os.environ["PATH"], **(environment or {})}, start_new_session=True)
        if self.started.stdout.readline().strip() != "ready":
            raise RuntimeError(self.started.stderr.read())
        self.pid = self.started.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.started.pid, signal.SIGKILL)
        self.started.wait()


def look(pid):
    code, text, error = ask("--pid", str(pid), "--json")
    if code not in (0, 1, 2):
        raise RuntimeError(f"--pid {pid}: {code} {error}")
    return json.loads(text)["processes"][0]


def on_this_machine(library):
    secret = {"HOME": "/", "NCCL_IB_HCA": "=mlx5_0", "AWS_SECRET_ACCESS_KEY": "do-not-show", "NCCL_DEBUG_FILE": "a\x1bb"}
    with Rank(library, [], secret) as rank:
        seen = look(rank.pid)["process"]["seen"]
        [nccl] = [one for one in seen["libraries"]["value"] if one["name"] == "libnccl"]
        if (nccl["version"], nccl["built_for"]) != ("2.27.5", "cuda12.9"):
            yield f"the mapped library: {nccl}"
        if seen["environment"]["value"] != {"NCCL_IB_HCA": "=mlx5_0"}:
            yield f"of the environment was kept: {seen['environment']}"
        if not all(seen["shares"][kind]["value"] for kind in ("net", "mnt", "user")):
            yield f"its namespaces are not railbed's own: {seen['shares']}"
        _, text, _ = ask("--running", "--json")
        pids = [one["process"]["seen"]["pid"] for one in json.loads(text)["processes"]]
        if rank.pid not in pids:
            yield f"--running did not find {rank.pid}: {pids}"
        if "do-not-show" in text:
            yield "a secret of the environment is shown"
    code, _, error = ask("--pid", str(rank.pid))
    if code != 3:
        yield f"a process that ended: {code} {error}"


def not_allowed(library):
    """A process of root's is closed to other users: nothing is called sound or predicted that could not be read."""
    with Rank(library, []) as rank:
        for words in ([], ["--json"]):
            done = subprocess.run([RAILBED, "nccl", "--pid", str(rank.pid), *words], capture_output=True, text=True,
                                  timeout=120, user="nobody", group="nogroup", extra_groups=[])
            if done.returncode != 3:
                yield f"a process that may not be read: exit code {done.returncode} {done.stdout[:300]} {done.stderr}"
            if "Nothing is wrong" in done.stdout or "chooses" in done.stdout:
                yield f"of a process that may not be read railbed knows: {done.stdout[:600]}"
            if not words and "could not look into" not in done.stdout:
                yield f"a process that may not be read: {done.stdout[:600]}"


def in_namespaces(library):
    before = (f"mount -t tmpfs -o size=65536k none /dev/shm; mount -t tmpfs none /mnt; "
              f"ip link set lo up; ip link add eth7 type veth peer name eth8; ip link set eth8 up; ip address add 10.77.0.5/24 dev eth7; ip link set eth7 up;")
    with Rank(library, ["--mount", "--net"], {"VLLM_HOST_IP": "10.77.0.6"}, before=before) as rank:
        verdict = look(rank.pid)
        seen = verdict["process"]["seen"]
        if seen["shares"]["net"]["value"] or seen["shares"]["mnt"]["value"]:
            yield f"namespaces of its own are not seen: {seen['shares']}"
        names = {one["name"]: one["addresses"] for one in seen["interfaces"]["value"]}
        if names.get("eth7", [""])[0] != "10.77.0.5/24":
            yield f"its network: {names}"
        if seen["shared_memory"].get("value") != 65536 << 10:
            yield f"its /dev/shm: {seen['shared_memory']}"
        said = {one["id"] for one in verdict["complaints"]}
        if not {"host-ip", "shm-small"} <= said:
            yield f"in namespaces of its own: {said}"
        if "eth7" not in verdict["choices"]["interfaces"]:
            yield f"NCCL's interface is not its own network's: {verdict['choices']['interfaces']}"


def links_stay_inside(library, folder):
    """A root whose files are links to this machine's secrets: what is read lies in the root, or nothing is."""
    (folder / "secret").write_text("NCCL_SECRET=outside\n")
    jail = folder / "jail"
    (jail / "etc").mkdir(parents=True)
    (jail / "etc/nccl.conf").symlink_to("../../secret")
    os.mkfifo(jail / ".nccl.conf")
    code = f"import os, ctypes, time; ctypes.CDLL({str(library)!r}); os.chroot({str(jail)!r}); os.chdir('/'); " \
           "print('ready', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                          env={"HOME": "/", "PATH": os.environ["PATH"]}) as process:
        process.stdout.readline()
        began = time.monotonic()
        seen = look(process.pid)["process"]["seen"]
        process.kill()
    if "value" in seen["system_conf"] or "value" in seen["user_conf"]:
        yield f"a link or a FIFO of its root was read: {seen['system_conf']} {seen['user_conf']}"
    if time.monotonic() - began > 60:
        yield "a FIFO held the look up"


def connections(library):
    """Connections are those of the process, with their interface: two namespaces and a cable."""
    import socket
    subprocess.run(["ip", "link", "add", "rbA", "type", "veth", "peer", "name", "rbB"], check=True)
    try:
        subprocess.run("ip address add 10.78.0.1/24 dev rbA && ip link set rbA up", shell=True, check=True)
        server = socket.create_server(("10.78.0.1", 0))
        port = str(server.getsockname()[1])
        wait = "read ready; ip link set lo up; ip address add 10.78.0.2/24 dev rbB; ip link set rbB up;"
        command = f"{wait} exec {sys.executable} -c \"$0\" \"$@\""
        process = subprocess.Popen(["unshare", "--net", "sh", "-c", command, RANK, str(library), "10.78.0.1", port],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        time.sleep(0.3)
        subprocess.run(["ip", "link", "set", "rbB", "netns", str(process.pid)], check=True)
        process.stdin.write("go\n")
        process.stdin.flush()
        process.stdout.readline()
        verdict = look(process.pid)
        process.kill()
        process.wait()
    finally:
        subprocess.run(["ip", "link", "delete", "rbA"], stderr=subprocess.DEVNULL)
    flows = verdict["process"]["seen"]["flows"]["value"]
    expected = {"local": "10.78.0.2", "remote": "10.78.0.1", "interface": "rbB", "connections": 4}
    if len(flows) != 1 or any(flows[0][key] != value for key, value in expected.items()):
        yield f"its connections: {flows}"
    if verdict["uses"]["network"] != "TCP":
        yield f"what it uses: {verdict['uses']}"


def on_real_processes():
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("gcc"):
        print("not as root, or without unshare and gcc: no real processes")
        return
    if subprocess.run(["unshare", "--mount", "--net", "true"], capture_output=True).returncode != 0:
        print("namespaces are not allowed here: no real processes")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        library = folder / "libnccl.so.2"
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)], input=LIBRARY, text=True, check=True)
        yield from on_this_machine(library)
        yield from not_allowed(library)
        yield from in_namespaces(library)
        yield from links_stay_inside(library, folder)
        yield from connections(library)


def main():
    found = [*trees(), *hostile(), *on_real_processes()]
    print("\n".join(found) if found else "running jobs are seen as they are")
    return 1 if found else 0


if __name__ == "__main__":
    guardian.begin()
    sys.exit(main())
