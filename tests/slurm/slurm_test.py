#!/usr/bin/env python3
"""railbed verify --slurm as HealthCheckProgram of a real Slurm: four slurmd, each with a machine of its own made of a
captured tree. A prolog and an epilog that record each job. A sick machine is seen drained with the reason, mended it is seen back, and another's drain stays. A job by
railbed launch srun --exec. And railbed bench collectives as srun starts it, with GPUs and an NCCL made for it (the first
argument; left out without).

Needs root (slurmd and munged insist) and the packages slurmctld, slurmd, slurm-client and munge. Everything lives in a
folder of its own and is stopped by process id.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RAILBED = pathlib.Path(os.environ["RAILBED"]).resolve()
NODES = ["gpu1", "gpu2", "gpu3", "gpu4"]
SOUND = (ROOT / "tests/machines/v100-cx3pro/gpuserver1.tree").read_text()
LINK_DOWNED = re.search(r"^(/\S+/ports/1/counters/link_downed) = (\d+)$", SOUND, re.M)
LOSES_LINKS = SOUND.replace(LINK_DOWNED[0], f"{LINK_DOWNED[1]} = {int(LINK_DOWNED[2]) + 3}")
PAGE = ROOT / "docs/how-to/jobs.md"
SICK = SOUND + "/sys/devices/system/edac/mc/mc0/ue_count = 3\n"
PATIENCE = 60  # seconds until a state must have been reached


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Slurm:
    def __init__(self, folder, records_jobs=False):
        """With records_jobs each job has the prolog and the epilog of docs/how-to/jobs.md."""
        self.folder = folder
        self.records_jobs = records_jobs
        self.processes = []
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf"), "LC_ALL": "C"}

    def write(self):
        for name in ("log", "state", "run", "trees", *(f"spool/{node}" for node in NODES)):
            (self.folder / name).mkdir(parents=True)
        host = socket.gethostname().split(".")[0]
        ports = free_ports(1 + len(NODES))
        health = self.folder / "health"
        # slurm.conf(5): HealthCheckProgram takes no arguments, so it is a script.
        health.write_text(f"#!/bin/sh\nexport SLURM_CONF={self.folder}/slurm.conf\n"
                          f"{RAILBED} verify --slurm --root {self.folder}/trees/$SLURMD_NODENAME.tree "
                          f"> {self.folder}/log/health-$SLURMD_NODENAME.new 2>&1\n"
                          f"mv {self.folder}/log/health-$SLURMD_NODENAME.new {self.folder}/log/health-$SLURMD_NODENAME\n")
        health.chmod(0o755)
        lines = [f"ClusterName=railbedtest\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nAuthType=auth/munge",
                 f"AuthInfo=socket={self.folder}/run/munge.sock\nCredType=cred/munge\nSlurmctldPort={ports[0]}",
                 f"SlurmctldPidFile={self.folder}/run/slurmctld.pid\nSlurmdPidFile={self.folder}/run/slurmd-%n.pid",
                 f"SlurmdSpoolDir={self.folder}/spool/%n\nStateSaveLocation={self.folder}/state",
                 "ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none",
                 "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nReturnToService=2",
                 f"SlurmdParameters=config_overrides\nHealthCheckProgram={health}\nHealthCheckInterval=2",
                 "HealthCheckNodeState=ANY\nSlurmdTimeout=60\nGresTypes=gpu"]
        if self.records_jobs:
            self.write_job_scripts()
            lines.append(f"Prolog={self.folder}/prolog\nEpilog={self.folder}/epilog\nPrologFlags=Alloc")
        lines += [f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=100 Gres=gpu:1 State=UNKNOWN"
                  for node, port in zip(NODES, ports[1:])]
        lines.append("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
        (self.folder / "slurm.conf").write_text("\n".join(lines) + "\n")
        (self.folder / "gres.conf").write_text("Name=gpu File=/dev/null\n")  # GPUs without a file are not counted
        for node in NODES:
            self.machine(node, SOUND)
        key = self.folder / "run/munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)

    def write_job_scripts(self):
        """The two files of docs/how-to/jobs.md as they stand there, but for railbed's path: each node has a machine and a folder of its own."""
        own = self.folder / "railbed-job"
        for name in ("prolog", "epilog"):
            text = re.search(rf"^#!/bin/sh\n# /etc/slurm/railbed-job-{name}\n.*?(?=^```)", PAGE.read_text(), re.M | re.S)[0]
            assert text.count("/usr/local/bin/railbed") == 2 and text.endswith("exit 0\n"), text
            (self.folder / name).write_text(text.replace("/usr/local/bin/railbed", str(own)))
            (self.folder / name).chmod(0o755)
        self.job_program(f"""began=$(date +%s%N)
{RAILBED} "$@" --dir {self.folder}/jobs/$SLURMD_NODENAME --root {self.folder}/trees/$SLURMD_NODENAME.tree
code=$?
echo "$2 $code $(( ($(date +%s%N) - began) / 1000000 ))" >> {self.folder}/log/job-costs
exit $code
""")

    def job_program(self, text):
        """What the prolog and the epilog start in the place of railbed."""
        new = self.folder / "railbed-job.new"
        new.write_text("#!/bin/sh\n" + text)
        new.chmod(0o755)
        new.rename(self.folder / "railbed-job")

    def machine(self, node, tree):
        """What the health check of this node looks at from now on."""
        new = self.folder / "trees/new"
        new.write_text(tree)
        new.rename(self.folder / f"trees/{node}.tree")

    def start(self, name, *words):
        with open(self.folder / f"log/{name}.log", "w") as log:
            self.processes.append(subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                                   stderr=log, start_new_session=True))

    def up(self):
        run = self.folder / "run"
        self.start("munged", "munged", "--foreground", "--force", f"--key-file={run}/munge.key",
                   f"--socket={run}/munge.sock", f"--pid-file={run}/munged.pid", f"--seed-file={run}/munge.seed",
                   f"--log-file={self.folder}/log/munged.own")
        wait_for("munged's socket", lambda: (run / "munge.sock").exists())
        self.start("slurmctld", "slurmctld", "-D")
        for node in NODES:
            self.start(f"slurmd-{node}", "slurmd", "-D", "-N", node)

    def down(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def scontrol(self, *words):
        return subprocess.run(["scontrol", *words], env=self.environment, capture_output=True, text=True,
                              timeout=20).stdout

    def node(self, name):
        """(state, reason with author)"""
        shown = self.scontrol("show", "node", name)
        state = re.search(r"^ *State=(\S+)", shown, re.M)
        reason = re.search(r"^ *Reason=(.*)", shown, re.M)
        return state[1] if state else "", reason[1] if reason else ""

    def running(self, accepts):
        """Ids of processes under this Slurm whose command line is accepted: another test may have its own."""
        here = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        return [int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*")
                if accepts(read(path / "cmdline")) and here in read(path / "environ").split(b"\0")]

    def health(self, name):
        file = self.folder / f"log/health-{name}"
        return file.read_text() if file.exists() else ""


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.2)
    raise AssertionError(f"never happened: {what}")


def check(slurm):
    wait_for("four idle nodes", lambda: all(slurm.node(name)[0] == "IDLE" for name in NODES))
    wait_for("each node's own line", lambda: all(re.match(f"{name}: ", slurm.health(name)) for name in NODES))
    print("four nodes idle:", slurm.health("gpu1").strip())

    slurm.scontrol("update", "NodeName=gpu2", "State=DRAIN", "Reason=fan is loud")
    slurm.machine("gpu1", SICK)
    slurm.machine("gpu2", SICK)  # sick, too, but drained by somebody already
    wait_for("gpu1 drained", lambda: "DRAIN" in slurm.node("gpu1")[0])
    reason = slurm.node("gpu1")[1]
    print("gpu1:", *slurm.node("gpu1"))
    assert re.match(r"railbed: host\.memory-errors memory: .* 3 uncorrectable .* \[root@", reason), reason
    wait_for("gpu2 looked at and left alone", lambda: "left alone" in slurm.health("gpu2"))
    assert slurm.node("gpu2")[1].startswith("fan is loud ["), slurm.node("gpu2")

    wait_for("the second look at gpu1", lambda: "still drained" in slurm.health("gpu1"))
    assert slurm.node("gpu1")[1] == reason, "the same reason is given once, so that its time stays the first"

    slurm.machine("gpu1", SOUND)
    slurm.machine("gpu2", SOUND)
    wait_for("gpu1 back", lambda: slurm.node("gpu1")[0] == "IDLE")
    # Left behind, ours would make the next drain that somebody gives no reason for look like ours.
    assert slurm.node("gpu1")[1] == "", slurm.node("gpu1")
    wait_for("gpu2 sound", lambda: "uncorrectable" not in slurm.health("gpu2"))
    assert "DRAIN" in slurm.node("gpu2")[0] and slurm.node("gpu2")[1].startswith("fan is loud ["), slurm.node("gpu2")
    print("gpu1:", *slurm.node("gpu1"))
    print("gpu2:", *slurm.node("gpu2"))

    # Ours first, then somebody's: it is theirs to take back.
    slurm.machine("gpu3", SICK)
    wait_for("gpu3 drained", lambda: slurm.node("gpu3")[1].startswith("railbed: "))
    slurm.scontrol("update", "NodeName=gpu3", "State=DRAIN", "Reason=mine now")
    slurm.machine("gpu3", SOUND)
    wait_for("gpu3 sound", lambda: "left alone" in slurm.health("gpu3") and "uncorrectable" not in slurm.health("gpu3"))
    assert "DRAIN" in slurm.node("gpu3")[0], slurm.node("gpu3")


def job_record(slurm, node, number):
    done = subprocess.run([RAILBED, "job", "show", number, "--json", "--dir", slurm.folder / "jobs" / node], capture_output=True, text=True,
                          timeout=60)
    return json.loads(done.stdout) if done.stdout else None


def ended_records(slurm, number):
    records = [job_record(slurm, node, number) for node in NODES]
    return records if all(record and record["end"] for record in records) else None


def run_job(slurm, meanwhile):
    """Runs a job on all four nodes, during which something happens; returns its number when the nodes are idle again."""
    job = subprocess.Popen(["srun", "-Q", "--nodes=4", "--ntasks=4", "sh", "-c", "echo $SLURM_JOB_ID; exec cat"], env=slurm.environment,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    number = job.stdout.readline().strip()
    meanwhile(number)
    job.communicate("", timeout=60)
    assert job.returncode == 0, job.returncode
    wait_for("four nodes idle after a job", lambda: all(slurm.node(name)[0] == "IDLE" for name in NODES))
    return number


def check_jobs(slurm):
    """A prolog and an epilog record a job on each node; one node loses its link meanwhile. Neither fails, whatever railbed does."""
    def lose_link(number):
        begun = [job_record(slurm, node, number) for node in NODES]
        assert all(record and record["begin"] and not record["end"] for record in begun), begun
        slurm.machine("gpu2", LOSES_LINKS)
    number = run_job(slurm, lose_link)
    wait_for("four records", lambda: ended_records(slurm, number))
    for node, record in zip(NODES, ended_records(slurm, number)):
        lost = [change["message"] for change in record["changes"] if change["what"] == "link-lost"]
        assert record["node"] == node and len(lost) == (node == "gpu2"), (node, record["changes"])
        assert all("went down 3 times during the job: the cable, the port at either end, or somebody who restarted or switched off what is there; not the job" in one for one in lost), lost
    slurm.machine("gpu2", SOUND)
    costs = [line.split() for line in (slurm.folder / "log/job-costs").read_text().splitlines()]
    assert {code for _, code, _ in costs} == {"0"} and len(costs) == 8, costs
    for what in ("begin", "end"):
        print(f"railbed job {what}:", *sorted(int(ms) for one, _, ms in costs if one == what), "ms")

    # railbed that crashes, hangs, and is not there: jobs run on, and no node is drained.
    for text in ("exit 70\n", "exec sleep 600\n"):
        slurm.job_program(text)
        run_job(slurm, lambda number: None)
        assert all(slurm.node(name)[1] == "" for name in NODES), [slurm.node(name) for name in NODES]
    (slurm.folder / "railbed-job").unlink()
    run_job(slurm, lambda number: None)
    slurm.write_job_scripts()
    print("prolog and epilog recorded a job on four nodes, and held none where railbed fails, hangs or is not there")


def check_ranks(slurm, fake):
    """One rank a task: on one node, where rank 0's address follows by itself, and on four, where it is named."""
    libraries = slurm.folder / "libraries"
    libraries.mkdir()
    (libraries / "libcuda.so.1").symlink_to(fake)
    environment = slurm.environment | {"LD_LIBRARY_PATH": str(libraries), "RAILBED_FAKE_FOLDER": str(libraries),
                                       "XDG_STATE_HOME": str(slurm.folder / "state-home")}
    # Every process sees the same three GPUs, and on four nodes each is its node's first.
    for where, more, gpus in ((["--nodes=1", "--ntasks=3", "--overcommit"], [], [0, 1, 2]),
                              (["--nodes=4", "--ntasks=4"], ["--rendezvous", "127.0.0.1"], [0, 0, 0, 0])):
        done = subprocess.run(["srun", *where, RAILBED, "bench", "collectives", "--library", fake, "--from", "64", "--to",
                               "64K", "--factor", "32", "--iterations", "3", "--no-store", "--json", *more],
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        run = json.loads(done.stdout)["runs"][0]
        assert run["failure"] is None, run["failure"]
        assert [one["gpu"]["ordinal"] for one in run["ranks"]] == gpus, run["ranks"]
        assert [row["wrong"] for row in run["rows"]] == [0, 0, 0], run["rows"]
        print("srun", *where, "→", len(run["ranks"]), "ranks,", len(run["rows"]), "sizes, nothing wrong")


def check_launch(slurm):
    """A task a node; one that fails ends the step; Ctrl-C and SIGKILL of railbed leave no task."""
    cluster = slurm.folder / "cluster.yaml"
    cluster.write_text("railbed: 1\ncluster: launch\nexpect: {gpus: 1}\nnodes: [gpu1, gpu2]\nrails:\n"
                       "  - {name: r, subnet: 10.0.0.0/24, interface: eth0, first_address: 10.0.0.1}\n")

    def start(script):
        return subprocess.Popen([RAILBED, "launch", "srun", cluster, "--no-look", "--exec", "--", "sh", "-c", script],
                                env=slurm.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def tasks():
        return slurm.running(lambda line: b"sleep\x004712" in line)

    def step_is_over():
        return not tasks() and not subprocess.run(["squeue", "-h"], env=slurm.environment, capture_output=True).stdout

    running = start("echo $SLURM_PROCID on $SLURMD_NODENAME at $MASTER_ADDR")
    printed, errors = running.communicate(timeout=60)
    assert running.returncode == 0, errors
    assert sorted(printed.splitlines()) == ["[srun] 0 on gpu1 at 10.0.0.1", "[srun] 1 on gpu2 at 10.0.0.1"], printed
    running = start("[ $SLURM_PROCID = 0 ] || exit 6; exec sleep 4712")
    wait_for("a task that waits", tasks)
    for task in tasks():
        os.kill(task, signal.SIGTERM)
    errors = running.communicate(timeout=60)[1]
    assert running.returncode == 2 and "railbed: srun: exit status" in errors, errors
    wait_for("no step", step_is_over)
    for number in (signal.SIGINT, signal.SIGKILL):
        running = start("exec sleep 4712")
        wait_for("two tasks", lambda: len(tasks()) == 2)
        running.send_signal(number)
        running.communicate(timeout=60)
        wait_for(f"no step after {number.name}", step_is_over)
        print("launch srun --exec after", number.name, "left no task")


def verify_by_slurm(slurm, *words, inside=()):
    """({node: why it was not reached}, nodes that gave facts, exit code) of a verify through Slurm."""
    environment = slurm.environment | {"XDG_CACHE_HOME": str(slurm.folder / "cache"), "XDG_STATE_HOME": str(slurm.folder / "state-home")}
    done = subprocess.run([*inside, RAILBED, "verify", "--launcher", "slurm", "--json", "--all", *words], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 1, 2, 3) and done.stdout, (done.returncode, done.stderr)
    findings = json.loads(done.stdout)["findings"]
    lost = {one["node"]: one["message"] + " " + one.get("observed", "") for one in findings
            if one["rule"] == "node.reachable" and one["status"] == "fail"}
    return lost, {one["node"] for one in findings if one["node"] and one["node"] not in lost}, done.returncode


def jobs(slurm, state="RUNNING"):
    return subprocess.run(["squeue", "-h", "-t", state, "-o", "%A"], env=slurm.environment, capture_output=True,
                          text=True).stdout.split()


def check_fleet_in_jobs(slurm):
    """All four are idle. Others' jobs are not disturbed, and a job that is not railbed's own is not ended."""
    lost, seen, _ = verify_by_slurm(slurm, "--partition", "main")
    assert not lost and seen == set(NODES), (lost, seen)
    wait_for("no job left", lambda: not jobs(slurm) and all(slurm.node(name)[0] == "IDLE" for name in NODES))

    other = subprocess.Popen(["salloc", "-Q", "-w", "gpu1,gpu2", "--exclusive", "cat"], env=slurm.environment, stdin=subprocess.PIPE)
    wait_for("another's job", lambda: len(jobs(slurm)) == 1)
    number = jobs(slurm)[0]
    lost, seen, _ = verify_by_slurm(slurm, "--nodelist", "gpu[1-3]")
    assert set(lost) == {"gpu1", "gpu2"} and "another job runs there" in lost["gpu1"] and seen == {"gpu3"}, (lost, seen)
    lost, seen, _ = verify_by_slurm(slurm, "--slurm-job", number)
    assert not lost and seen == {"gpu1", "gpu2"}, (lost, seen)
    lost, seen, _ = verify_by_slurm(slurm, "--slurm-job", number, "--nodelist", "gpu[2-3]")
    assert set(lost) == {"gpu3"} and f"job {number} does not have it" in lost["gpu3"] and seen == {"gpu2"}, (lost, seen)
    assert jobs(slurm) == [number], "the job that was there before goes on"
    other.communicate(b"", timeout=30)
    wait_for("that job's end", lambda: not jobs(slurm) and slurm.node("gpu1")[0] == "IDLE")

    # Within a job that has the nodes, no allocation is made: it could not be had.
    lost, seen, _ = verify_by_slurm(slurm, inside=["salloc", "-Q", "-w", "gpu2,gpu3", "--exclusive"])
    assert not lost and seen == {"gpu2", "gpu3"}, (lost, seen)
    wait_for("no job left", lambda: not jobs(slurm))
    print("a fleet in an allocation of its own, in a job that was named, and in the job around it")


def check_fleet_of_sick(slurm):
    """One node is drained, by a reason that pretends to be another, and one is dead: first before Slurm knows it."""
    agents = lambda: slurm.running(lambda line: line == f"{RAILBED}\0agent\0".encode())
    slurm.scontrol("update", "NodeName=gpu3", "State=DRAIN", "Reason=fan | loud\nx|gpu9|idle|main*|none")
    slurm.scontrol("update", "NodeName=gpu2", "State=UNDRAIN")
    wait_for("gpu2 idle", lambda: slurm.node("gpu2")[0] == "IDLE")
    slurmd = slurm.processes[-1]
    slurmd.send_signal(signal.SIGSTOP)
    for number in (signal.SIGINT, signal.SIGKILL):
        running = subprocess.Popen([RAILBED, "verify", "--launcher", "slurm", "--nodelist", "gpu[1-4]"], env=slurm.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_for("two agents in an allocation", lambda: jobs(slurm) and len(agents()) == 2)
        running.send_signal(number)
        running.communicate(timeout=60)
        wait_for(f"nothing left after {number.name}", lambda: not jobs(slurm) and not agents())
        slurmd.send_signal(signal.SIGCONT)
        wait_for("gpu4 to answer again", lambda: slurm.node("gpu4")[0] == "IDLE" and slurm.node("gpu1")[0] == "IDLE")
        slurmd.send_signal(signal.SIGSTOP)
    slurmd.send_signal(signal.SIGKILL)
    slurmd.wait()
    lost, seen, code = verify_by_slurm(slurm, "--nodelist", "gpu[1-4]")
    assert set(lost) == {"gpu3", "gpu4"} and seen == {"gpu1", "gpu2"} and code == 2, (lost, seen, code)
    assert "it is drained" in lost["gpu3"] and "fan | loud" in lost["gpu3"], lost
    print("gpu4 before Slurm misses it:", lost["gpu4"])
    slurm.scontrol("update", "NodeName=gpu4", "State=DOWN", "Reason=no answer")
    wait_for("gpu1 idle", lambda: slurm.node("gpu1")[0] == "IDLE" and slurm.node("gpu2")[0] == "IDLE")
    lost, seen, code = verify_by_slurm(slurm, "--partition", "main")
    assert set(lost) == {"gpu3", "gpu4"} and seen == {"gpu1", "gpu2"} and code == 2, (lost, seen, code)
    assert "no answer" in lost["gpu4"], lost
    print("gpu4 when it knows:", lost["gpu4"])
    wait_for("no job left", lambda: not jobs(slurm))


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""  # it has ended


def in_slurm(checks, **options):
    """Runs checks in a Slurm of their own."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="railbed-slurm-"))
    slurm = Slurm(folder, **options)
    try:
        slurm.write()
        slurm.up()
        wait_for("four idle nodes", lambda: all(slurm.node(name)[0] == "IDLE" for name in NODES))
        for one in checks:
            one(slurm)
    except BaseException:
        for log in sorted((folder / "log").iterdir()):
            print(f"--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:]), file=sys.stderr)
        raise
    finally:
        slurm.down()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    for program in ("munged", "slurmctld", "slurmd", "scontrol", "srun"):
        if not shutil.which(program):
            print(f"{program} is not here: scripts/install-packages test", file=sys.stderr)
            return 1
    if os.geteuid() != 0:
        print("slurmd and munged want root", file=sys.stderr)
        return 77
    in_slurm([check_jobs], records_jobs=True)
    ranks = [lambda slurm: check_ranks(slurm, sys.argv[1])] if len(sys.argv) > 1 else []
    in_slurm([check_launch, *ranks, check_fleet_in_jobs, check, check_fleet_of_sick])
    print("Slurm drained and took back what it should")
    return 0


if __name__ == "__main__":
    guardian.begin()
    sys.exit(main())
