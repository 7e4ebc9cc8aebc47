#!/usr/bin/env python3
"""container_test.py RUNTIME: expect.container and `railbed nccl --container` with a real podman or a real docker, and images made here of
a static busybox: what starts is looked at, what does not is named, a job in a container is found by the container's name, and nothing is
left behind. Skips itself where that runtime cannot run a container. docker's daemon is one of the test's own: another socket, no bridge and
no firewall rules."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import guardian

RAILBED = str(pathlib.Path(os.environ["RAILBED"]).resolve())
SKIPPED = 77
PATIENCE = 60
# A kernel that denies a container's limits (no CAP_SYS_RESOURCE) gets a crun or runc that sets none.
UNLIMITED = """#!/usr/bin/env python3
import json, os, sys
if "--bundle" in sys.argv:
    file = sys.argv[sys.argv.index("--bundle") + 1] + "/config.json"
    config = json.load(open(file))
    config["process"]["rlimits"] = []
    json.dump(config, open(file, "w"))
os.execv("{program}", ["{program}", *sys.argv[1:]])
"""
# A stand-in for a rank: it has a libnccl mapped, and waits.
RANK = "int puts(const char *); unsigned sleep(unsigned); extern const char nccl[]; int main(void) { puts(nccl); sleep(600); return 0; }"
LIBRARY = 'const char nccl[] = "NCCL version 2.27.5+cuda12.9";'


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def without_limits(folder, program):
    (folder / "limited").mkdir()
    made = folder / "limited" / program
    made.write_text(UNLIMITED.format(program=shutil.which(program)))
    made.chmod(0o755)
    return made


class Podman:
    name = "podman"
    needs = ("podman", "crun")

    def __init__(self, folder):
        self.folder = folder
        self.limit(False)

    def limit(self, limited):
        """podman's own files below the folder, by the environment."""
        storage = f'[storage]\ndriver = "vfs"\ngraphroot = "{self.folder}/root"\nrunroot = "{self.folder}/run"\n'
        (self.folder / "storage.conf").write_text(storage)
        config = '[containers]\ncgroups = "disabled"\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\nruntime = "crun"\n'
        if limited:
            config += f'[engine.runtimes]\ncrun = ["{without_limits(self.folder, "crun")}"]\n'
        (self.folder / "containers.conf").write_text(config)
        os.environ |= {"CONTAINERS_CONF": str(self.folder / "containers.conf"),
                       "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf")}

    def ready(self, image):
        for limited in (False, True):
            self.limit(limited)
            tried = try_image(self, image)
            if tried.returncode == 0:
                return
        skip(f"podman runs no container here: {tried.stderr.strip()[-300:]}")

    def end(self):
        pass


class Docker:
    name = "docker"
    needs = ("docker", "dockerd")

    def __init__(self, folder):
        self.folder = folder
        os.environ["DOCKER_HOST"] = f"unix://{folder}/docker.sock"
        self.begin()

    def begin(self, *options):
        log = self.folder / "dockerd.log"
        self.daemon = subprocess.Popen(
            ["dockerd", "--data-root", self.folder / "data", "--exec-root", self.folder / "run", "--pidfile", self.folder / "pid",
             "--host", os.environ["DOCKER_HOST"], "--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false",
             "--storage-driver", "vfs", *options], stdout=log.open("w"), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while run(self, "version").returncode != 0:
            if self.daemon.poll() is not None or time.monotonic() > end:
                self.end()
                skip(f"dockerd does not start here: {log.read_text().strip()[-300:]}")
            time.sleep(0.2)

    def ready(self, image):
        if try_image(self, image).returncode == 0:
            return
        self.end()
        self.begin("--add-runtime", f"limited={without_limits(self.folder, 'runc')}", "--default-runtime", "limited")
        tried = try_image(self, image)
        if tried.returncode != 0:
            skip(f"docker runs no container here: {tried.stderr.strip()[-300:]}")

    def end(self):
        self.daemon.terminate()
        try:
            self.daemon.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()


def run(runtime, *words):
    return subprocess.run([runtime.name, *words], capture_output=True, text=True, timeout=120)


def try_image(runtime, image):
    return run(runtime, "run", "--rm", "--pull=never", "--network", "none", "--ulimit", "memlock=-1:-1", image, "sh", "-c", "true")


def make_image(runtime, folder, name, shell, files=()):
    """An image of busybox and `files`. shell: "link" to busybox, a script's text, or None for none."""
    image = folder / "images" / name
    (image / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), image / "bin/busybox")
    if shell == "link":
        (image / "bin/sh").symlink_to("busybox")
    elif shell:
        (image / "bin/sh").write_text(shell)
        (image / "bin/sh").chmod(0o755)
    for file, place in files:
        (image / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, image / place)
    subprocess.run(["tar", "-C", image, "-cf", f"{image}.tar", "."], check=True)
    made = run(runtime, "import", f"{image}.tar", f"localhost/railbed-{name}:1")
    if made.returncode != 0:
        skip(f"{runtime.name} imports no image: {made.stderr.strip()[-300:]}")
    return f"localhost/railbed-{name}:1"


def finding_of(runtime, folder, image):
    """What container.starts says of this image."""
    (folder / "cluster.yaml").write_text("railbed: 1\ncluster: one\nnodes:\n  - {name: here, local: true}\n"
                                         f"expect: {{container: '{image}', container_runtime: {runtime.name}}}\n")
    looked = subprocess.run([RAILBED, "verify", "cluster.yaml", "--json"], cwd=folder, capture_output=True, text=True, timeout=200)
    findings = [one for one in json.loads(looked.stdout)["findings"] if one["rule"] == "container.starts"]
    assert len(findings) == 1, looked.stderr
    left = run(runtime, "ps", "--all", "--quiet").stdout
    assert left == "", f"{image}: a container was left behind"
    return findings[0]


def starts(runtime, folder):
    sound = make_image(runtime, folder, "sound", "link")
    runtime.ready(sound)
    shellless = make_image(runtime, folder, "shellless", None)
    endless = make_image(runtime, folder, "endless", "#!/bin/busybox yes\n")
    said = finding_of(runtime, folder, sound)
    assert said["status"] == "pass", said
    said = finding_of(runtime, folder, "localhost/railbed-absent:1")
    assert said["status"] == "warn" and said["remedy"]["commands"] == [f"{runtime.name} pull localhost/railbed-absent:1"], said
    said = finding_of(runtime, folder, shellless)
    assert said["status"] == "unknown" and "has no sh" in said["message"], said
    said = finding_of(runtime, folder, endless)
    assert said["status"] == "unknown", said


def rank_image(runtime, folder):
    """A program of the C library's own, beside a libnccl."""
    library, rank = folder / "libnccl.so.2", folder / "rank"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libnccl.so.2", "-x", "c", "-", "-o", library], input=LIBRARY, text=True, check=True)
    subprocess.run(["gcc", "-x", "c", "-", "-x", "none", library, "-o", rank], input=RANK, text=True, check=True)
    needed = subprocess.run(["ldd", rank], check=True, capture_output=True, text=True, env=os.environ | {"LD_LIBRARY_PATH": str(folder)}).stdout
    places = [place for place in re.findall(r"(/\S+) \(0x", needed) if "libnccl" not in place]
    files = [(library, "lib/libnccl.so.2"), (rank, "bin/rank"), *((place, place.lstrip("/")) for place in places)]
    return make_image(runtime, folder, "rank", "link", files)


def job_in_a_container(runtime, folder):
    image = rank_image(runtime, folder)
    began = run(runtime, "run", "--detach", "--name", "railbed-job", "--network", "none", "--env", "NCCL_IB_HCA=mlx5_0",
                "--env", "HIDDEN=no", image, "rank")
    assert began.returncode == 0, began.stderr
    try:
        for word in ("railbed-job", began.stdout.strip()[:12]):
            end = time.monotonic() + PATIENCE
            while True:
                asked = subprocess.run([RAILBED, "nccl", "--container", word, "--json"], capture_output=True, text=True, timeout=120)
                if asked.returncode != 3 or time.monotonic() > end:
                    break
                time.sleep(0.2)
            assert asked.returncode in (1, 2), (asked.stdout, asked.stderr)
            [process] = json.loads(asked.stdout)["processes"]
            assert "HIDDEN" not in asked.stdout and "2.27.5" in asked.stdout, asked.stdout
            assert "shm-small" in [one["id"] for one in process["complaints"]], process["complaints"]
        text = subprocess.run([RAILBED, "nccl", "--container", "railbed-job"], capture_output=True, text=True, timeout=120).stdout
        assert "docker container " + began.stdout[:12] in text and "--shm-size=16g" in text, text
    finally:
        run(runtime, "rm", "--force", "railbed-job")
    gone = subprocess.run([RAILBED, "nccl", "--container", "railbed-job"], capture_output=True, text=True, timeout=120)
    assert gone.returncode == 3 and "railbed-job" in gone.stderr, (gone.stdout, gone.stderr)


def main():
    kind = {"podman": Podman, "docker": Docker}[sys.argv[1]]
    if os.geteuid() != 0:
        skip("needs root")
    for program in (*kind.needs, "busybox", "unshare"):
        if shutil.which(program) is None:
            skip(f"no {program}")
    if subprocess.run(["ldd", shutil.which("busybox")], capture_output=True).returncode == 0:
        skip("busybox is not static")
    if kind is Podman and "--inside" not in sys.argv:
        # crun refuses the two cgroup trees beside each other that some machines have.
        enter = "umount /sys/fs/cgroup/unified 2>/dev/null; exec \"$@\""
        os.execvp("unshare", ["unshare", "--mount", "sh", "-c", enter, "sh", sys.executable, *sys.argv, "--inside"])
    guardian.begin()
    with tempfile.TemporaryDirectory() as name:
        runtime = kind(pathlib.Path(name))
        try:
            starts(runtime, pathlib.Path(name))
            if kind is Docker:  # podman has no cgroup of its own here, which is what a process is known by
                job_in_a_container(runtime, pathlib.Path(name))
        finally:
            runtime.end()
    print(f"a real {kind.name}: one image starts, three others are named, and nothing is left behind")


if __name__ == "__main__":
    main()
