#!/usr/bin/env python3
"""expect.container with a real podman, and images made here of a static busybox: what starts is looked at, what does not is
named, and nothing is left behind. Skips itself where podman cannot run a container."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

RAILBED = str(pathlib.Path(os.environ["RAILBED"]).resolve())
SKIPPED = 77
# A kernel that denies a container's limits (no CAP_SYS_RESOURCE) gets a crun that sets none.
CRUN = """#!/usr/bin/env python3
import json, os, sys
if "--bundle" in sys.argv:
    file = sys.argv[sys.argv.index("--bundle") + 1] + "/config.json"
    config = json.load(open(file))
    config["process"]["rlimits"] = []
    json.dump(config, open(file, "w"))
os.execv("{crun}", ["crun", *sys.argv[1:]])
"""


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def podman(*words, **options):
    return subprocess.run(["podman", *words], capture_output=True, text=True, timeout=120, **options)


def private_storage(folder, limited):
    """podman's own files below `folder`, by the environment."""
    (folder / "storage.conf").write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/root"\nrunroot = "{folder}/run"\n')
    config = '[containers]\ncgroups = "disabled"\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\nruntime = "crun"\n'
    if limited:
        (folder / "limited").mkdir()
        crun = folder / "limited/crun"
        crun.write_text(CRUN.format(crun=shutil.which("crun")))
        crun.chmod(0o755)
        config += f'[engine.runtimes]\ncrun = ["{crun}"]\n'
    (folder / "containers.conf").write_text(config)
    os.environ |= {"CONTAINERS_CONF": str(folder / "containers.conf"), "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf")}


def make_image(folder, name, shell):
    """An image of busybox alone. shell: "link" to busybox, a script's text, or None for none."""
    image = folder / name
    (image / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), image / "bin/busybox")
    if shell == "link":
        (image / "bin/sh").symlink_to("busybox")
    elif shell:
        (image / "bin/sh").write_text(shell)
        (image / "bin/sh").chmod(0o755)
    subprocess.run(["tar", "-C", image, "-cf", f"{image}.tar", "."], check=True)
    made = podman("import", f"{image}.tar", f"localhost/railbed-{name}:1")
    if made.returncode != 0:
        skip(f"podman imports no image: {made.stderr.strip()[-300:]}")


def finding_of(folder, image):
    """What container.starts says of this image."""
    (folder / "cluster.yaml").write_text("railbed: 1\ncluster: one\nnodes:\n  - {name: here, local: true}\n"
                                         f"expect: {{container: '{image}', container_runtime: podman}}\n")
    looked = subprocess.run([RAILBED, "verify", "cluster.yaml", "--json"], cwd=folder, capture_output=True, text=True, timeout=200)
    findings = [one for one in json.loads(looked.stdout)["findings"] if one["rule"] == "container.starts"]
    assert len(findings) == 1, looked.stderr
    left = podman("ps", "--all", "--quiet").stdout
    assert left == "", f"{image}: a container was left behind"
    return findings[0]


def can_run(folder):
    for limited in (False, True):
        private_storage(folder, limited)
        tried = podman("run", "--rm", "--pull=never", "--network", "none", "--ulimit", "memlock=-1:-1", "localhost/railbed-sound:1",
                       "sh", "-c", "true")
        if tried.returncode == 0:
            return
    skip(f"podman runs no container here: {tried.stderr.strip()[-300:]}")


def test_in(folder):
    private_storage(folder, False)
    make_image(folder, "sound", "link")
    can_run(folder)
    make_image(folder, "shellless", None)
    make_image(folder, "endless", "#!/bin/busybox yes\n")
    sound = finding_of(folder, "localhost/railbed-sound:1")
    assert sound["status"] == "pass", sound
    absent = finding_of(folder, "localhost/railbed-absent:1")
    assert absent["status"] == "warn" and absent["remedy"]["commands"] == ["podman pull localhost/railbed-absent:1"], absent
    shellless = finding_of(folder, "localhost/railbed-shellless:1")
    assert shellless["status"] == "unknown" and "has no sh" in shellless["message"], shellless
    endless = finding_of(folder, "localhost/railbed-endless:1")
    assert endless["status"] == "unknown", endless
    print("a real podman: one image starts, three others are named, and nothing is left behind")


def main():
    if os.geteuid() != 0:
        skip("needs root")
    for program in ("podman", "crun", "busybox", "unshare"):
        if shutil.which(program) is None:
            skip(f"no {program}")
    if subprocess.run(["ldd", shutil.which("busybox")], capture_output=True).returncode == 0:
        skip("busybox is not static")
    if "--inside" not in sys.argv:
        # crun refuses the two cgroup trees beside each other that some machines have.
        enter = "umount /sys/fs/cgroup/unified 2>/dev/null; exec \"$@\""
        os.execvp("unshare", ["unshare", "--mount", "sh", "-c", enter, "sh", sys.executable, __file__, "--inside"])
    with tempfile.TemporaryDirectory() as folder:
        test_in(pathlib.Path(folder))


if __name__ == "__main__":
    main()
