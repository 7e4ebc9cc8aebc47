#!/usr/bin/env python3
"""Root carries out, writes and runs nothing that another user could have prepared, and an apply depends on no clock, on no free
space and on no single node. A real agent in a mount namespace; needs root."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from one_node import RAILBED, STRANGER, Agent, as_stranger, put, run_all, run_inside, text_of

NAMES = [f"202611{day:02}T120000Z-000{day}" for day in range(1, 10)]
RECORDS = pathlib.Path("/var/lib/railbed/apply")


def run(*words, stderr=subprocess.STDOUT, **how):
    return subprocess.run([RAILBED, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True,
                          timeout=120, **how)


def forge(records):
    """A record of an apply that was cut off, by which root would write a file with setuid and run a program."""
    old = {"content": "towned\n", "mode": 0o4755, "owner": 0, "group": 0, "label": ""}
    journal = {"request": {"id": NAMES[0], "who": "x@y", "cluster": "c", "seconds": 120, "family": "debian"}, "number": 1,
               "begun": "2026-11-26T00:00:00Z", "files": [{"path": "/mnt/owned", "before": old, "after": None}],
               "undo": [{"when": "after-files", "running": True, "booting": True, "words": ["touch", "/mnt/ran"]}]}
    folder = pathlib.Path(records) / NAMES[0]
    folder.mkdir(parents=True)
    put(folder / "journal", json.dumps(journal))
    put(folder / "state", "switching")


def a_record_of_another_user():
    """By owner, by a folder above it, by a link, and one that root itself would not have written."""
    def give(path):
        shutil.chown(path, STRANGER, STRANGER)

    def as_link():
        shutil.move(RECORDS.parent, "/mnt/elsewhere")
        RECORDS.parent.symlink_to("/mnt/elsewhere")
        os.lchown(RECORDS.parent, STRANGER, STRANGER)

    cases = {"its folder": lambda: give(RECORDS / NAMES[0]), "all records": lambda: give(RECORDS), "the state": lambda: give(RECORDS.parent),
             "the journal": lambda: give(RECORDS / NAMES[0] / "journal"), "a folder that all may write": lambda: RECORDS.chmod(0o777),
             "a link": as_link, "nobody but root": lambda: None}
    for name, prepare in cases.items():
        forge(RECORDS)
        prepare()
        done = run("agent", "--recover", "all", "--booting")
        assert done.returncode == 3 or done.returncode == 64, (name, done.returncode, done.stdout)
        assert NAMES[0] in done.stdout or "railbed" in done.stdout, (name, done.stdout)
        assert not os.path.exists("/mnt/owned") and not os.path.exists("/mnt/ran"), name
        with Agent() as agent:
            history = agent.ask("apply.history")
        assert name == "nobody but root" or name in ("its folder", "the journal") or "text" in history, (name, history)
        if RECORDS.parent.is_symlink():
            RECORDS.parent.unlink()
            shutil.rmtree("/mnt/elsewhere")
        else:
            shutil.rmtree(RECORDS.parent)


def no_output_through_a_link():
    """Debian's /var/lib/prometheus is the exporter's own: its user puts a folder with a link in place of root's."""
    put("/etc/shadow", "root:*:19000:0:99999:7:::\n")
    put("/etc/c.yaml", "railbed: 1\ncluster: c\nnodes: [{name: n, local: true}]\n")
    put("/etc/facts.json", run("facts", "--json", stderr=subprocess.DEVNULL, env=os.environ | {"HOME": "/mnt"}).stdout)
    commands = {"verify": ["verify", "--prom", "--output"], "report": ["report", "--root", "/", "--output"], "init": ["init", "localhost", "--output"],
                "capture": ["capture", "--force", "--output"], "render": ["render", "/etc/c.yaml", "--output"]}
    for name, words in commands.items():
        for kind in ("file", "folder"):
            folder = pathlib.Path(f"/var/lib/{name}-{kind}")
            folder.mkdir()
            shutil.chown(folder, STRANGER, STRANGER)
            link = "mkdir out && ln -s /etc/shadow out/file" if kind == "file" else "ln -s /etc out"
            made = as_stranger(f"cd {folder} && {link}")
            assert made.returncode == 0, made.stderr
            before = os.stat("/etc/shadow"), sorted(os.listdir("/etc"))
            done = run(*words, folder / "out" / ("file" if kind == "file" else "shadow"))
            assert (os.stat("/etc/shadow").st_ino, sorted(os.listdir("/etc"))) == (before[0].st_ino, before[1]), (name, kind, done.stdout)
            assert text_of("/etc/shadow").startswith("root:*"), (name, kind)
            assert done.returncode not in (0, 1, 2, 70), (name, kind, done.returncode, done.stdout[-300:])
    # What is no link is written in such a folder as in any other.
    done = run("verify", "--prom", "--output", "/var/lib/verify-file/railbed.prom")
    assert done.returncode in (0, 1, 2) and text_of("/var/lib/verify-file/railbed.prom"), done.stdout


def no_setting_through_a_folder_of_another():
    os.makedirs("/mnt/victim")
    os.makedirs("/etc/theirs/d")
    for folder in ("/etc/theirs", "/etc/theirs/d"):
        shutil.chown(folder, STRANGER, STRANGER)
    with Agent() as agent:
        said = agent.stage(NAMES[0], [("/etc/theirs/d/file", None, "x\n")])
        assert f"user {STRANGER} can change it" in said.get("text", ""), said
        # It becomes another's between stage and switch.
        os.makedirs("/etc/ours/d")
        assert agent.stage(NAMES[1], [("/etc/ours/d/file", None, "x\n")])["state"] == "staged"
        shutil.chown("/etc/ours", STRANGER, STRANGER)
        assert as_stranger("cd /etc/ours && mv d was && ln -s /mnt/victim d").returncode == 0
        agent.ask("apply.switch", id=NAMES[1])
        time.sleep(1)
        assert agent.state(NAMES[1]) in ("reverting", "reverted")
        assert not os.listdir("/mnt/victim")
        shutil.rmtree("/etc/ours")
        agent.wait_for(NAMES[1], "reverted", seconds=40)


def the_node_counts_its_applies():
    """The first controller's clock is ahead of the second's, so the names are in the wrong order."""
    put("/etc/f", "original\n")
    with Agent() as agent:
        agent.carry_out(agent.stage(NAMES[5], [("/etc/f", "original\n", "alice\n")]))
        agent.carry_out(agent.stage(NAMES[1], [("/etc/f", "alice\n", "bob\n"), ("/etc/g", None, "bob\n")]))
        applies = agent.ask("apply.history")["applies"]
        assert [one["id"] for one in applies] == [NAMES[1], NAMES[5]], applies
        agent.carry_out(agent.roll_back(NAMES[6], NAMES[1]))
        assert (text_of("/etc/f"), text_of("/etc/g")) == ("alice\n", None)
        agent.carry_out(agent.roll_back(NAMES[7], NAMES[5]))
        assert text_of("/etc/f") == "original\n"


def a_record_of_the_future_keeps_nobody_out():
    with Agent() as agent:
        agent.stage(NAMES[0], [("/etc/f", None, "alice\n")])
        assert "is changing this node" in agent.stage(NAMES[1], [("/etc/f", None, "bob\n")])["text"]
    record = RECORDS / NAMES[0] / "journal"
    kept = json.loads(record.read_text())
    kept["begun"], kept["boot"], kept["uptime"] = "2099-01-01T00:00:00Z", "00000000-0000-0000-0000-000000000000", 1e12
    record.write_text(json.dumps(kept))
    with Agent() as agent:
        assert agent.stage(NAMES[1], [("/etc/f", None, "bob\n")]).get("state") == "staged"


def fill(path):
    """Takes all that is left of a file system, to the last byte."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for size in (1 << 20, 4096, 1):
        try:
            while os.write(file, b"x" * size):
                pass
        except OSError:
            pass
    os.close(file)


def a_full_disk_keeps_nobody_from_going_back():
    os.mkdir("/mnt/d")
    subprocess.run("mount -t tmpfs -o size=40M,mode=755 none /mnt/d && mkdir /mnt/d/etc /mnt/d/lib && mount --bind /mnt/d/etc /etc && "
                   "mount --bind /mnt/d/lib /var/lib", shell=True, check=True)
    old, new = "old " + "o" * 9000, "new " + "n" * 9000
    put("/etc/a", old)
    put("/etc/b", old)
    with Agent() as agent:
        assert agent.stage(NAMES[0], [("/etc/a", old, new), ("/etc/b", old, None), ("/etc/c", None, new)], seconds=5)["state"] == "staged"
        agent.ask("apply.switch", id=NAMES[0])
        agent.wait_for(NAMES[0], "switched")
        assert (text_of("/etc/a"), text_of("/etc/b"), text_of("/etc/c")) == (new, None, new)
        fill("/mnt/d/fill")
        agent.wait_for(NAMES[0], "reverted", seconds=20)
        assert (text_of("/etc/a"), text_of("/etc/b"), text_of("/etc/c")) == (old, old, None)
        assert "room" in agent.stage(NAMES[1], [("/etc/a", old, new)])["text"]


def no_edit_is_rolled_back():
    old, block = "127.0.0.1 localhost\n", "# railbed begin: written from cluster.yaml, sha256 0\n10.77.0.1 n1-r0\n# railbed end\n"
    put("/etc/hosts", old)
    put("/etc/f", "old\n")
    with Agent() as agent:
        agent.carry_out(agent.stage(NAMES[0], [("/etc/hosts", old, old + block)]))
        put("/etc/hosts", old + block + "10.1.2.3 nas\n")
        done = agent.carry_out(agent.roll_back(NAMES[1], NAMES[0]))
        assert (done["state"], text_of("/etc/hosts")) == ("committed", old + "10.1.2.3 nas\n"), done
        agent.carry_out(agent.stage(NAMES[2], [("/etc/f", "old\n", "new\n")]))
        put("/etc/f", "new\nby a person\n")
        refused = agent.roll_back(NAMES[3], NAMES[2])
        assert "+ by a person" in refused["text"] and "--discard" in refused["text"], refused
        assert text_of("/etc/f") == "new\nby a person\n"
        agent.carry_out(agent.roll_back(NAMES[4], NAMES[2], discard=True))
        assert text_of("/etc/f") == "old\n"


def no_program_of_anothers_path():
    """`su` without "-" leaves root the PATH of the user before: what is there is not run, the system's own is."""
    names = ("systemctl", "sysctl", "ip", "tc", "nft", "ethtool", "dmidecode", "timedatectl", "lspci", "nvidia-smi", "numactl", "ibstat", "modinfo",
             "iptables-save", "lldpcli", "dpkg-query", "rpm", "chronyc", "resolvectl", "docker", "podman", "smartctl", "sshd", "fio", "journalctl")
    for name, owner, mode in (("theirs", STRANGER, 0o755), ("open", 0, 0o777), ("root's", 0, 0o755)):
        folder = pathlib.Path("/mnt") / name
        folder.mkdir()
        for one in names:
            put(folder / one, f"#!/bin/sh\necho {one} >>/mnt/ran-{name[0]}\n")
            (folder / one).chmod(0o755)
        shutil.chown(folder, owner, owner)
        folder.chmod(mode)
        done = run("facts", "--json", env=os.environ | {"HOME": "/mnt", "PATH": f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin"})
        assert done.returncode in (0, 1, 2, 3), done.stdout
        assert os.path.exists(f"/mnt/ran-{name[0]}") == (name == "root's"), (name, text_of(f"/mnt/ran-{name[0]}"))


SINFO = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = -o ] && f=$2; shift; done
echo "${f%%|*}|n1|idle|part*|none"
"""
SALLOC = """#!/bin/sh
while [ "$1" != /bin/sh ]; do shift; done
SLURM_JOB_ID=7 exec "$@"
"""
SRUN = """#!/bin/sh
while [ "$1" != /bin/sh ]; do shift; done
exec unshare -m -- sh -c 'mount --make-rprivate / && mount --bind {node} {shared} && exec setpriv --reuid 60001 --regid 60001 \
  --clear-groups env -u XDG_CACHE_HOME HOME={home} "$@"' x "$@"
"""


def no_program_at_a_path_of_another():
    """Through Slurm railbed looks at its own path on the node: what another user, or all, can change there is not run."""
    agents = pathlib.Path("/mnt/home/.cache/railbed/agents")
    for name, prepare, runs in (("theirs", lambda file: shutil.chown(file, STRANGER), False),
                                ("their folder", lambda file: shutil.chown(file.parent, STRANGER), False),
                                ("open to all", lambda file: file.chmod(0o777), False), ("root's", lambda file: None, True)):
        folders = {one: pathlib.Path("/mnt") / one for one in ("bin", "shared", "node", "home")}
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for folder in ("shared", "node"):
            shutil.copy(RAILBED, folders[folder] / "railbed")
        prepare(folders["node"] / "railbed")
        shutil.chown(folders["home"], 60001, 60001)
        srun = SRUN.format(node=folders["node"], shared=folders["shared"], home=folders["home"])
        for program, text in (("sinfo", SINFO), ("salloc", SALLOC), ("srun", srun), ("squeue", "#!/bin/sh\n")):
            put(folders["bin"] / program, text)
            (folders["bin"] / program).chmod(0o755)
        put("/mnt/c.yaml", "railbed: 1\ncluster: c\nnodes: [n1]\n")
        # An agent under the sanitizers starts in 4 s on an idle machine, and may need more than it has by default on a busy one.
        done = subprocess.run([folders["shared"] / "railbed", "verify", "/mnt/c.yaml", "--launcher", "slurm",
                               "--connect-timeout", "60"], text=True, timeout=120,
                              stdin=subprocess.DEVNULL, capture_output=True, env=os.environ | {"PATH": f"/mnt/bin:{os.environ['PATH']}"})
        assert done.returncode <= 3, done.stderr
        assert agents.exists() != runs, (name, done.returncode, done.stdout[-500:], done.stderr[-500:])


LIAR = """#!/usr/bin/env python3
# Stands in for ssh: answers of applies as the environment has them, everything else by a real agent.
import json, os, struct, subprocess, sys, threading
if '-V' in sys.argv: print('OpenSSH_9.2p1', file=sys.stderr)
if '-G' in sys.argv: print('hostname evil\\nport 22\\ncontrolmaster false\\n')
if {'-V', '-G', '-O'} & set(sys.argv): sys.exit(0)
real = subprocess.Popen([os.environ['REAL'], 'agent'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
out, lock = sys.stdout.buffer, threading.Lock()
def exactly(file, count):
    data = b''
    while len(data) < count:
        more = file.read(count - len(data))
        if not more: os._exit(0)
        data += more
    return data
def send(data):
    with lock: out.write(data); out.flush()
def back():
    while True:
        head = exactly(real.stdout, 16); send(head + exactly(real.stdout, struct.unpack('>I', head[12:])[0]))
threading.Thread(target=back, daemon=True).start()
states = {'apply.rollback': 'staged', 'apply.switch': 'switching', 'apply.look': 'committed', 'apply.wait': 'switched', 'apply.decide': 'committed'}
while True:
    head = exactly(sys.stdin.buffer, 16); number, length = struct.unpack('>II', head[8:]); body = exactly(sys.stdin.buffer, length)
    method = json.loads(body.split(b'\\n')[0])['method'] if head[5] == 2 else ''
    if method == 'apply.history': answer = {'applies': [{'id': one, 'state': 'committed', 'titles': ['x']} for one in os.environ['HISTORY'].split()]}
    elif method in states: answer = {'id': json.loads(body.partition(b'\\n')[2])['id'], 'state': states[method], 'decision': 'commit'}
    else: real.stdin.write(head + body); real.stdin.flush(); continue
    answer = json.dumps(answer).encode()
    send(b'\\0RBF' + struct.pack('>BBHII', 1, 3, 0, number, len(answer)) + answer)
"""


def no_node_decides_for_another():
    """Of two nodes one has another history: it lies, or was left out once. The other goes back, or the rollback refuses."""
    subprocess.run("mkdir /mnt/etc && echo 127.0.0.1 localhost >/mnt/etc/hosts && echo root:x:0:0::/:/bin/sh >/mnt/etc/passwd && "
                   "mount --bind /mnt/etc /etc && mount -t tmpfs -o mode=755 none /opt", shell=True, check=True)
    put("/mnt/bin/ssh", LIAR)
    os.chmod("/mnt/bin/ssh", 0o755)
    rails = "rails: [{name: r, subnet: 127.0.0.0/8, interface: lo, first_address: 127.0.0.1}]\n"
    put("/mnt/good.yaml", "railbed: 1\ncluster: c\nfabric: ethernet\nnodes: [{name: good, local: true}]\n" + rails)
    put("/mnt/both.yaml", "railbed: 1\ncluster: c\nfabric: ethernet\nnodes: [{name: good, local: true}, evil]\n" + rails)
    environment = os.environ | {"HOME": "/mnt/home", "XDG_STATE_HOME": "/mnt/state", "XDG_CACHE_HOME": "/mnt/cache", "REAL": RAILBED,
                                "PATH": "/mnt/bin:" + os.environ["PATH"]}
    done = run("apply", "/mnt/good.yaml", "--only", "hosts", "--yes", "--timeout", "30", env=environment)
    assert "railbed begin" in text_of("/etc/hosts"), done.stdout
    name = json.loads(run("history", "/mnt/good.yaml", "--json", stderr=subprocess.DEVNULL, env=environment).stdout)["nodes"][0]["applies"][0]["id"]
    for history in ("99991231T235959Z-ffff", f"99991231T235959Z-ffff {name}", "", "00000101T000000Z-0000"):
        done = run("rollback", "/mnt/both.yaml", "--yes", env=environment | {"HISTORY": history})
        assert done.returncode == 64 and "last applies differ" in done.stdout, (history, done.returncode, done.stdout)
        assert "railbed begin" in text_of("/etc/hosts"), history
    # By name it goes back where it is known, and who is left out is named.
    done = run("rollback", "/mnt/both.yaml", name, "--yes", env=environment | {"HISTORY": "99991231T235959Z-ffff"})
    assert done.returncode == 0 and "Not touched" in done.stdout and "evil" in done.stdout, (done.returncode, done.stdout)
    assert "railbed begin" not in text_of("/etc/hosts")


TESTS = {test.__name__: test for test in (
    a_record_of_another_user, no_output_through_a_link, no_setting_through_a_folder_of_another, the_node_counts_its_applies,
    a_record_of_the_future_keeps_nobody_out, a_full_disk_keeps_nobody_from_going_back, no_edit_is_rolled_back,
    no_program_of_anothers_path, no_program_at_a_path_of_another, no_node_decides_for_another)}

if __name__ == "__main__":
    sys.exit(run_all(__file__, TESTS))
