#!/usr/bin/env python3
"""What `railbed launch` prints is what shells, Open MPI and YAML libraries read: every rank gets its own node's variables,
and no argument is changed on the way. With --exec, srun and nodes that are this machine are started here."""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    yaml = None

RAILBED = os.environ["RAILBED"]
CLUSTER = """
railbed: 1
cluster: mixed
fabric: ethernet
expect: {gpus: 2}
nodes: [a, b]
rails:
  - name: r
    subnet: 10.0.0.0/24
    ports: {a: {interface: eth0, address: 10.0.0.1}, b: {interface: ens1, address: 10.0.0.2}}
"""
ODD = "it's $HOME `x` $(PWD) \"*\" ~ a\\b"
SKIPPED = 77


def launch(folder, *words):
    done = subprocess.run([RAILBED, "launch", *words[:1], str(folder / "cluster.yaml"), "--no-look", *words[1:]],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(text):
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def shells_read_words(folder):
    for line in commands(launch(folder, "torchrun", "--", "train.py", ODD)):
        words = shlex.split(line)
        assert words[-2:] == ["train.py", ODD], words
        echoed = subprocess.run(["sh", "-c", line.replace(" torchrun ", " printf '%s\\n' ")], capture_output=True,
                                text=True, check=True)
        assert echoed.stdout.splitlines()[-1] == ODD, echoed.stdout


def asks_no_node_in_vain(folder):
    """What is wrong with a launch by itself is said before ssh starts."""
    ssh = folder / "ssh"
    ssh.write_text(f"#!/bin/sh\ntouch '{folder}/asked'\nexit 255\n")
    ssh.chmod(0o755)
    env = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    for words, said in ((["torchrun"], "what shall be started?"),
                        (["torchrun", "--container", "docker", "--", "train.py"], "--container wants --image"),
                        (["srun", "--container", "docker", "--", "train.py"], "--container is for programs"),
                        (["mpirun", "--", "a", ":", "b"], "mpirun takes a lone :")):
        done = subprocess.run([RAILBED, "launch", words[0], str(folder / "cluster.yaml"), *words[1:]], env=env, capture_output=True, text=True)
        assert done.returncode == 64 and said in done.stderr, (words, done.returncode, done.stderr)
        assert not (folder / "asked").exists(), words
    ssh.unlink()


def open_mpi_gives_ranks_their_variables(folder):
    script = 'printf "%s %s %s\\n" "$OMPI_COMM_WORLD_RANK" "$NCCL_SOCKET_IFNAME" "$1"'
    line, = commands(launch(folder, "mpirun", "--", "sh", "-c", script, "sh", ODD))
    words = ["localhost:4" if word.startswith("10.0.0.") and ":" in word else word for word in shlex.split(line)]
    if os.geteuid() == 0:
        words.insert(1, "--allow-run-as-root")
    ran = subprocess.run([words[0], "--oversubscribe", *words[1:]], capture_output=True, text=True, timeout=120)
    wanted = [f"{rank} ={'eth0' if rank < 2 else 'ens1'} {ODD}" for rank in range(4)]
    assert sorted(ran.stdout.splitlines()) == wanted, (ran.stdout, ran.stderr)


def files_hold_the_arguments(folder):
    compose = list(yaml.safe_load_all(launch(folder, "torchrun", "--container", "compose", "--image", "i", "--", ODD)))
    assert len(compose) == 2, compose
    for file, name in zip(compose, ["eth0", "ens1"]):
        job = file["services"]["job"]
        assert job["entrypoint"] == ["torchrun"] and job["command"][-1] == ODD.replace("$", "$$"), job
        assert job["environment"]["GLOO_SOCKET_IFNAME"] == name, job
    pods = list(yaml.safe_load_all(launch(folder, "vllm", "--container", "kubernetes", "--image", "i", "--", ODD)))
    for pod, address in zip(pods, ["10.0.0.1", "10.0.0.2"]):
        box, = pod["spec"]["containers"]
        assert box["command"] == ["vllm"] and box["args"][:2] == ["serve", ODD.replace("$", "$$")], box
        assert {"name": "VLLM_HOST_IP", "value": address} in box["env"], box
        assert box["resources"]["limits"] == {"nvidia.com/gpu": "2"}, box


def run_here(folder, program, *words, **variables):
    """What launch --exec does with a `program` of ours in PATH."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / program).write_text(f"#!/bin/sh\necho in $(pwd) $MASTER_ADDR\nprintf '%s\\n' \"$@\"\nexit {variables.get('CODE', 0)}\n")
    (folder / "bin" / program).chmod(0o755)
    return subprocess.run([RAILBED, "launch", variables.get("LAUNCHER", program), str(folder / "cluster.yaml"), "--no-look", "--exec", *words],
                          capture_output=True, text=True, cwd=folder,
                          env=os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}"})


def srun_is_started_here(folder):
    done = run_here(folder, "srun", "--", "train", ODD)
    printed = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert printed[0] == f"[srun] in {folder} 10.0.0.1" and printed[-1] == f"[srun] {ODD}", printed
    done = run_here(folder, "srun", "--", "train", CODE=4)
    assert done.returncode == 2 and done.stderr.splitlines()[-1] == "railbed: srun: exit status 4", done.stderr


def docker_is_started_on_the_nodes(folder):
    (folder / "cluster.yaml").write_text(CLUSTER.replace("[a, b]", "[{name: a, local: true}, {name: b, local: true}]"))
    done = run_here(folder, "docker", "--container", "docker", "--image", "i", "--", ODD, LAUNCHER="torchrun")
    assert done.returncode == 0, done.stderr
    for node in "ab":
        printed = [line.removeprefix(f"[{node}] ") for line in done.stdout.splitlines() if line.startswith(f"[{node}] ")]
        assert printed[1:3] == ["run", "--rm"] and printed[-1] == ODD, printed


def files_are_not_started(folder):
    for form, what in (("compose", "docker compose --file FILE up"), ("kubernetes", "kubectl apply --filename FILE")):
        done = run_here(folder, "torchrun", "--container", form, "--image", "i", "--", "x")
        assert done.returncode == 64 and what in done.stderr, done.stderr


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "cluster.yaml").write_text(CLUSTER)
        shells_read_words(folder)
        srun_is_started_here(folder)
        files_are_not_started(folder)
        asks_no_node_in_vain(folder)
        docker_is_started_on_the_nodes(folder)
        (folder / "cluster.yaml").write_text(CLUSTER)
        if yaml:
            files_hold_the_arguments(folder)
        if shutil.which("mpirun"):
            open_mpi_gives_ranks_their_variables(folder)
    if not yaml or not shutil.which("mpirun"):
        print("without Open MPI or a YAML library: only the rest was tried")
        return SKIPPED
    print("shells, Open MPI and YAML read what launch prints")
    return 0


if __name__ == "__main__":
    sys.exit(main())
