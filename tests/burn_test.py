#!/usr/bin/env python3
"""railbed burn whole: the command, its agents and their children, on GPUs made for it (src/bench/testing/fake_gpu.cc, the
first argument). The stand-in for ssh starts an agent on this machine."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import guardian
from ending_test import below

RAILBED = pathlib.Path(os.environ["RAILBED"]).resolve()
FAKE = pathlib.Path(sys.argv.pop(1)).resolve()
PATIENCE = 120  # seconds: a limit, not an expectation
SMALL = ["--side", "64", "--memory", "1M", "--no-store"]
CLUSTER = "railbed: 1\ncluster: rack\nnodes: [gpu01, gpu02, gpu03]\n"


class Burn(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="railbed-burn-")
        self.addCleanup(self.folder.cleanup)
        root = pathlib.Path(self.folder.name)
        for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libcublasLt.so.12"):
            (root / name).symlink_to(FAKE)
        (root / "bin").mkdir()
        # The last words before the script are the node's name; what it would run there is of no matter here.
        (root / "bin/ssh").write_text(f"""#!/bin/sh
case "$*" in
  *gpu03*) echo 'ssh: connect to host gpu03 port 22: No route to host' >&2; exit 255 ;;
  *gpu02*) echo $$ > '{root}/gpu02.pid' ;;
esac
exec '{RAILBED}' agent
""")
        (root / "bin/ssh").chmod(0o755)
        (root / "cluster.yaml").write_text(CLUSTER)
        usual = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA_", "RAILBED_FAKE"))}
        self.environment = usual | {"LD_LIBRARY_PATH": str(root), "HOME": str(root), "XDG_STATE_HOME": str(root / "state"),
                                    "LC_ALL": "C.UTF-8", "PATH": f"{root}/bin:{os.environ['PATH']}"}
        self.root = root

    def start(self, *words, fault="", more=SMALL):
        """Its load ends with it, unless the words are about that: what ends this test by force then ends all of it."""
        if not {"--unseen", "--resume"} & {*words, *more}:
            more = [*more, "--unseen", "0"]
        return subprocess.Popen([RAILBED, "burn", *words, *more], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, cwd=self.root,
                                env=self.environment | ({"RAILBED_FAKE_FAULT": fault} if fault else {}))

    def finish(self, process):
        try:
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        return process.returncode, out, err

    def burn(self, *words, **how):
        return self.finish(self.start(*words, **how))

    def assert_sound(self, code, found):
        """The rates are those of this machine's processors: beside other work one of the GPUs that they play may be slow."""
        self.assertEqual([one for one in found if one["what"] not in ("slow", "away")], [])
        statuses = {one["status"] for one in found}
        self.assertEqual(code, 2 if "fail" in statuses else 1 if "warn" in statuses else 0, found)

    def test_sound_gpus(self):
        code, out, err = self.burn("--minutes", "0.1", "--json")
        self.assertTrue(out, err)
        self.assertIn("full load on 3 GPUs of 1 node for 0.1 minutes: up to 2100 W by their power limits", err)
        document = json.loads(out)
        self.assertEqual((document["format"], document["version"]), ("railbed-burn", 1))
        gpus = document["burn"]["nodes"][0]["gpus"]
        self.assertEqual([gpu["ordinal"] for gpu in gpus], [0, 1, 2])
        for gpu in gpus:
            self.assertTrue(gpu["ended"], gpu["trouble"])
            self.assertEqual(len(gpu["tallies"]), 7)
            for tally in gpu["tallies"]:
                self.assertGreater(tally["compared"], 0, tally)
                self.assertEqual((tally["wrong"], tally["skipped"]), (0, ""))
        self.assert_sound(code, document["burn"]["findings"])
        self.assertEqual(len(document["burn"]["families"]), 7)

    def test_a_wrong_gpu_is_named_and_a_drill_is_marked(self):
        code, out, _ = self.burn("--minutes", "0.06", "--phases", "bf16,memory", fault="burn-result")
        self.assertEqual(code, 2, out)
        self.assertRegex(out, r"(?m)^FAIL +GPU 1 of localhost gave wrong results: \d+ in \d+ of its comparisons; first in bf16")
        self.assertIn("bits 0000000000000004", out)
        self.assertNotIn("INJECTED", out)
        code, out, err = self.burn("--minutes", "0.06", "--gpus", "0,2", "--inject", "wrong-result:2@1", more=SMALL[:-1])
        self.assertEqual(code, 2, out)
        self.assertRegex(out, r"(?m)^FAIL +INJECTED: GPU 2 of localhost gave wrong results: 1 in 1")
        self.assertIn("INJECTED, a drill: one bit of a result of GPU 2 of localhost flipped after 1 s", out)
        self.assertNotIn("kept as run", err)

    def test_the_processors_give_way(self):
        """The child that loads them has the lowest priority, and is the first that the kernel ends if memory is used up."""
        process = self.start("--only-host", "--minutes", "1", more=["--host-memory", "16M", "--no-store", "--unseen", "0"])
        self.addCleanup(process.kill)
        seen = set()
        deadline = time.monotonic() + PATIENCE
        while (19, 1000) not in seen and time.monotonic() < deadline:
            time.sleep(0.2)
            seen = {self.place_of(one) for one in below(process.pid)}
        process.send_signal(signal.SIGINT)
        self.finish(process)
        self.assertIn((19, 1000), seen)

    @staticmethod
    def place_of(pid):
        """(nice, oom_score_adj) of a process; None if it has ended."""
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
            return int(stat.rpartition(")")[2].split()[16]), int(pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text())
        except OSError:
            return None

    def test_the_processors_alone(self):
        code, out, err = self.burn("--only-host", "--minutes", "0.08", more=["--host-memory", "64M", "--no-store", "--json"])
        self.assertEqual(code, 0, out + err)
        self.assertIn("full load on the processors of 1 node", err)
        node = json.loads(out)["burn"]["nodes"][0]
        self.assertEqual(node["gpus"], [])
        self.assertTrue(node["host"]["ended"], node)
        self.assertGreater(node["host"]["products"], 0)
        self.assertGreater(node["host"]["memory_rate"], 0)
        code, out, err = self.burn("--only-host", "--gpus", "0", "--minutes", "1", more=[])
        self.assertEqual((code, out), (64, ""))
        self.assertIn("--only-host loads no GPU", err)

    def test_gpus_and_processors_and_a_wrong_cpu(self):
        cpu = min(os.sched_getaffinity(0))
        code, out, err = self.burn("--host", "--minutes", "0.1", "--phases", "bf16", "--gpus", "0", "--inject", f"wrong-cpu:{cpu}@1",
                                   more=[*SMALL, "--host-memory", "64M"])
        self.assertEqual(code, 2, out + err)
        self.assertIn("full load on 1 GPU and all processors of 1 node", err)
        self.assertRegex(out, r"burn-in of 1 GPU and the processors on 1 node")
        self.assertRegex(out, rf"(?m)^FAIL +INJECTED: CPU {cpu} of localhost computed wrong: first after \d+ s, 1 element of a product")

    # ---- drives: on a file system of their own where this test may make one, else on the machine's

    def folder_on_a_drive(self, megabytes=3000):
        """(folder, whether it is a file system of its own)"""
        image, folder = self.root / "image", self.root / "drive"
        folder.mkdir(exist_ok=True)
        if os.geteuid() == 0 and all(map(shutil.which, ("mkfs.ext4", "losetup", "mount", "umount"))):
            with open(image, "wb") as file:
                file.truncate(megabytes << 20)
            subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=1", image], check=True)
            if subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True, check=False).returncode == 0:
                self.addCleanup(subprocess.run, ["umount", "-l", folder], capture_output=True, check=False)
                return folder, True
        return folder, False

    def burn_drive(self, folder, *words, minutes="0.08", writes="128M"):
        code, out, err = self.burn("--only-drives", "--minutes", minutes, "--drive-paths", str(folder), "--drive-writes", writes, *words,
                                   more=["--no-store", "--json"])
        if "O_DIRECT" in out or "no local drive is known" in out + err:
            self.skipTest(f"no direct reads in {folder}: {out}{err}")
        return code, json.loads(out)["burn"], err

    def left_in(self, folder):
        return [name for name in os.listdir(folder) if name != "lost+found"]

    @staticmethod
    def open_files(root, folder):
        """Paths below /proc of files in `folder` that processes below `root` have open."""
        found = []
        for pid in below(root):
            try:
                found += [link for link in pathlib.Path(f"/proc/{pid}/fd").iterdir() if os.readlink(link).startswith(f"{folder}/")]
            except OSError:
                pass
        return found

    def wait_for_file(self, process, folder):
        """The open file, once its first 8 MiB are written."""
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            for file in self.open_files(process.pid, folder):
                if file.stat().st_size >= 8 << 20:
                    return file
            time.sleep(0.2)
        return self.fail("no file: " + "".join(process.communicate()) if process.poll() is not None else "no file")

    def test_a_sound_drive(self):
        folder, _ = self.folder_on_a_drive()
        code, burn, err = self.burn_drive(folder)
        self.assertRegex(err, r"files on 1 drive, read again and again, with at most 128 MiB written to each of 1 node for")
        drive, = burn["nodes"][0]["drives"]
        self.assertTrue(drive["ended"], drive)
        self.assertGreater(drive["compared"], 0)
        self.assertLessEqual(drive["written"], 128 << 20)
        self.assertEqual((drive["fault_count"], drive["failed_reads"], drive["bytes"]), (0, 0, 64 << 20))
        self.assertEqual([one for one in burn["findings"] if one["status"] != "note"], [])
        self.assertEqual((code, self.left_in(folder)), (0, []))

    def test_a_drill_and_a_word_that_changed(self):
        folder, _ = self.folder_on_a_drive()
        code, burn, _ = self.burn_drive(folder, "--inject", "wrong-drive:0@3", writes="129M")
        self.assertEqual(code, 2)
        finding, = [one for one in burn["findings"] if one["status"] == "fail"]
        self.assertEqual((finding["what"], finding["injected"]), ("wrong-drive-data", True))
        self.assertIn("the same when read again", finding["message"])
        process = self.start("--only-drives", "--minutes", "0.3", "--drive-paths", str(folder), "--drive-writes", "128M",
                             more=["--no-store", "--unseen", "0"])
        self.addCleanup(process.kill)
        file = self.wait_for_file(process, folder)
        time.sleep(1)
        with open(file, "r+b") as file:
            file.seek(1 << 20)
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())
        code, out, err = self.finish(process)
        self.assertEqual(code, 2, out + err)
        self.assertRegex(out, r"(?m)^FAIL +\S+ of localhost \(.*\) gave wrong data in \d+ read block.*512 words")
        self.assertIn("offset 1048576", out)

    def test_drives_that_cannot_be_tested(self):
        _, burn, _ = self.burn_drive("/dev/shm", "--drive-paths", str(self.folder_on_a_drive()[0]))
        told = [(one["what"], one["status"]) for one in burn["findings"] if "memory" in one["message"]]
        self.assertEqual(told, [("drive-skipped", "unknown")])
        code, out, err = self.burn("--only-drives", "--minutes", "1", "--drive-paths", "/dev/shm", more=[])
        self.assertEqual((code, out), (3, ""))
        self.assertIn("no drive to burn in", err)
        self.assertIn("it is in memory, on no drive", err)
        for words, told in ((["--drive-writes", "1G"], "need --drives"), (["--only-drives", "--gpus", "0"], "--only-drives loads no GPU"),
                            (["--drives", "--drive-paths", "scratch"], "write folders from / on"),
                            (["--drives", "--drive-writes", "1M"], "at least 128M")):
            code, out, err = self.burn("--minutes", "1", *words, more=[])
            self.assertEqual((code, out), (64, ""), err)
            self.assertIn(told, err)

    def test_a_file_system_that_is_small_or_fills(self):
        folder, own = self.folder_on_a_drive(megabytes=300)
        if not own:
            self.skipTest("no file system of its own")
        code, out, err = self.burn("--only-drives", "--minutes", "1", "--drive-paths", str(folder), more=[])
        self.assertEqual((code, out), (3, ""), err)
        self.assertIn("less than 64 MiB", err)
        subprocess.run(["umount", "-l", folder], check=True)
        folder, own = self.folder_on_a_drive()
        self.assertTrue(own)
        process = self.start("--only-drives", "--minutes", "0.3", "--drive-paths", str(folder), "--drive-writes", "128M",
                             more=["--no-store", "--unseen", "0"])
        self.addCleanup(process.kill)
        self.wait_for_file(process, folder)
        with open(folder / "of-others", "wb") as file:
            free = os.statvfs(folder)
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - (40 << 20))
        code, out, err = self.finish(process)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"(?m)^NOTE +the file system of .* became full: its file was given up")
        self.assertEqual(self.left_in(folder), ["of-others"])

    def test_a_lost_controller_with_unseen_0_leaves_nothing_on_a_drive(self):
        folder, own = self.folder_on_a_drive()
        free = os.statvfs(folder).f_bavail
        process = self.start("--only-drives", "--minutes", "5", "--drive-paths", str(folder), "--drive-writes", "512M",
                             more=["--no-store", "--unseen", "0"])
        self.wait_for_file(process, folder)
        self.assertEqual(self.left_in(folder), [])
        deadline = time.monotonic() + PATIENCE
        started = below(process.pid)
        process.kill()
        process.communicate()
        while any(pathlib.Path(f"/proc/{pid}").exists() for pid in started) and time.monotonic() < deadline:
            time.sleep(0.2)
        self.assertEqual([pid for pid in started if pathlib.Path(f"/proc/{pid}").exists()], [])
        self.assertEqual(self.left_in(folder), [])
        if own:
            self.assertEqual(os.statvfs(folder).f_bavail, free)

    def test_the_history_keeps_and_shows_it(self):
        code, out, err = self.burn("--minutes", "0.05", "--gpus", "0", "--phases", "bf16,pcie", more=SMALL[:-1])
        self.assertEqual(code, 0, out + err)
        self.assertIn("kept as run 1", err)
        shown = subprocess.run([RAILBED, "runs", "show", "1"], env=self.environment, capture_output=True, text=True, check=True).stdout
        self.assertIn("burn-in of 1 GPU on 1 node", shown)
        exported = subprocess.run([RAILBED, "runs", "export", "1"], env=self.environment, capture_output=True, text=True, check=True).stdout
        self.assertEqual(len(json.loads(exported)["burns"]), 1)

    def test_a_lost_node_and_one_that_cannot_be_reached(self):
        process = self.start("cluster.yaml", "--minutes", "0.12", "--phases", "bf16", "--no-share", "--json", "--unseen", "0")
        pid = self.root / "gpu02.pid"
        for _ in range(PATIENCE * 10):
            if pid.exists() and pid.read_text().strip():
                break
            time.sleep(0.1)
        time.sleep(4)
        os.kill(int(pid.read_text()), signal.SIGKILL)
        code, out, err = self.finish(process)
        self.assertEqual(code, 2, out + err)
        burn = json.loads(out)["burn"]
        nodes = {node["node"]: node for node in burn["nodes"]}
        self.assertTrue(nodes["gpu02"]["lost"])
        self.assertGreater(nodes["gpu02"]["lost_after"], 0)
        self.assertIn("gpu03", nodes["gpu03"]["trouble"])
        self.assertTrue(all(gpu["ended"] for gpu in nodes["gpu01"]["gpus"]))
        told = {(finding["what"], finding["node"], finding["status"]) for finding in burn["findings"]}
        self.assertIn(("lost", "gpu02", "fail"), told)
        self.assertIn(("not-begun", "gpu03", "unknown"), told)

    def test_ctrl_c_ends_the_load_and_tells_what_was_measured(self):
        process = self.start("--hours", "1", "--phases", "bf16,memory", "--gpus", "0")
        time.sleep(6)
        process.send_signal(signal.SIGINT)
        code, out, err = self.finish(process)
        self.assertEqual(code, 3, out + err)
        self.assertRegex(out, r"burn-in of 1 GPU on 1 node, stopped after \d+ s of 60 min: nothing wrong was found")
        self.assertRegex(out, r"(?m)^NOTE +stopped on request")
        self.assertRegex(out, r"(?m)^  bf16 +1 ")

    # ---- collectives

    def burn_collectives(self, *words, first=False, nccl=True, **how):
        times = [] if first else ["--minutes", "0.4", "--phases", "bf16,collectives:10"]
        ranks = self.root / "ranks"
        ranks.mkdir(exist_ok=True)
        self.environment["RAILBED_FAKE_FOLDER"] = str(ranks)
        code, out, err = self.burn(*words, *times, *(["--nccl", str(FAKE)] if nccl else []), "--json", **how)
        self.assertTrue(out, err)
        burn = json.loads(out)["burn"]
        return code, burn["collectives"], [one for one in burn["findings"] if "collective" in one["what"] or one["what"] == "not-run"]

    def test_all_gpus_of_two_nodes_sum_together(self):
        code, all_, found = self.burn_collectives("cluster.yaml", "gpu01", "gpu02", "--no-share")
        self.assertEqual((all_["gpus"], all_["nodes"], all_["faults"], found), (6, 2, [], []))
        self.assertGreater(all_["turns"], 0)
        self.assertGreaterEqual(all_["bytes"], 1 << 20)
        self.assertGreater(all_["compared"], all_["bytes"])
        self.assertGreater(all_["rate"], 0)
        self.assertLessEqual(all_["low"], all_["high"])

    def test_a_wrong_sum_names_the_gpu_that_got_it(self):
        code, all_, found = self.burn_collectives("--inject", "wrong-collective:1@0")
        self.assertEqual(code, 2)
        self.assertEqual([(one["what"], one["status"], one["injected"]) for one in found], [("wrong-collective", "fail", True)])
        self.assertIn("in 1 element, at GPU 1 of localhost alone", found[0]["message"])
        self.assertEqual(all_["fault_count"], 1)

    def test_what_nccl_refuses_is_a_failure_with_its_cause(self):
        code, all_, found = self.burn_collectives(fault="refuse")
        self.assertEqual(code, 2)
        self.assertEqual([(one["what"], one["status"]) for one in found], [("collective-failed", "fail")])
        self.assertIn("ncclCommInitRank", found[0]["message"])
        self.assertTrue(found[0]["remedy"])
        self.assertEqual(all_["turns"], 0)

    def test_the_first_turn_waits_until_the_gpus_have_begun(self):
        code, all_, found = self.burn_collectives("--phases", "collectives", "--minutes", "0.4", first=True)
        self.assertEqual((code, found), (0, []), all_)
        self.assertEqual((all_["turns"], all_["left_out"], all_["smaller"], all_["gpus"]), (2, 0, 0, 3))

    def test_without_nccl_nothing_is_known(self):
        code, all_, found = self.burn_collectives("--nccl", "/nonexistent/libnccl.so", nccl=False)
        self.assertIn(code, (2, 3))  # 2 if a GPU was slow beside other work, as in assert_sound
        self.assertEqual([(one["what"], one["status"]) for one in found], [("not-run", "unknown")])
        self.assertIn("name NCCL's file with --nccl", found[0]["message"])

    def test_a_drill_of_a_gpu_that_is_not_there_is_refused(self):
        code, out, err = self.burn("--minutes", "0.4", "--phases", "bf16,collectives:10", "--inject", "wrong-collective:9@0")
        self.assertEqual((code, out), (64, ""))
        self.assertIn("localhost burns in no GPU 9", err)
        code, out, err = self.burn("--minutes", "0.4", "--phases", "bf16,collectives:10", "--inject", "wrong-collective:1@99")
        self.assertEqual((code, out), (64, ""))
        self.assertIn("a moment after the end of the burn-in", err)

    def test_one_gpu_sums_nothing(self):
        code, all_, found = self.burn_collectives("--gpus", "0")
        self.assertEqual([(one["what"], one["status"]) for one in found], [("not-run", "unknown")])
        self.assertIn("fewer than two GPUs work", found[0]["message"])

    def test_a_turn_too_short_for_nccl_is_refused(self):
        code, out, err = self.burn("--minutes", "1", "--collectives")
        self.assertEqual((code, out), (64, ""))
        self.assertIn("a turn of the collectives would last 3.9 s", err)

    # ---- burn-ins that go on without their command

    HOST = ["--host-memory", "16M", "--no-store"]

    def keepers(self):
        """Process ids of those that hold a burn-in of this test: they have its home. What does the work is below them."""
        found = {}
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "cmdline").read_bytes().split(b"\0")
                if words[1:3] == [b"agent", b"--burn"] and f"HOME={self.root}".encode() in (path / "environ").read_bytes().split(b"\0"):
                    found[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                pass
        return [pid for pid, parent in found.items() if parent not in found]

    def wait_for(self, what, told):
        deadline = time.monotonic() + PATIENCE
        while not what():
            self.assertLess(time.monotonic(), deadline, told)
            time.sleep(0.2)

    def end_keepers(self):
        for pid in self.keepers():
            os.kill(pid, signal.SIGKILL)

    def start_held(self, *words, more=()):
        """A burn-in of the processors whose process is held, and has begun."""
        self.addCleanup(self.end_keepers)
        process = self.start("--only-host", *words, more=[*self.HOST, *(more or ["--unseen", "60"])])
        self.addCleanup(process.kill)
        self.wait_for(lambda: self.kept() and json.loads(self.kept()[0].read_text())["nodes"][0]["began"] and self.keepers(), "not begun")
        time.sleep(3)
        return process

    def kept(self):
        return list((self.root / "state/railbed/burns").glob("*.json"))

    def resume(self, *words):
        return self.finish(self.start("--resume", *words, more=["--no-store"]))

    def assert_nothing_left(self):
        self.wait_for(lambda: not self.keepers(), "a process holds the burn-in still")
        self.assertEqual(self.kept(), [])
        held = pathlib.Path(f"/var/tmp/railbed-burn-{os.geteuid()}")
        self.assertEqual([one for one in (held.iterdir() if held.exists() else []) if one.name.startswith(self.id)], [])

    def test_a_lost_command_is_taken_up(self):
        process = self.start_held("--minutes", "0.6")
        self.id = self.kept()[0].stem
        code, out, err = self.resume()
        self.assertEqual((code, out), (3, ""))
        self.assertIn(f"another railbed follows burn-in {self.id}", err)
        process.kill()
        told = process.communicate()[1]
        self.assertIn(f"take it up: railbed burn --resume {self.id}", told)
        time.sleep(2)
        self.assertEqual(len(self.keepers()), 1)
        code, out, err = self.resume("--json")
        self.assertEqual(code, 0, out + err)
        burn = json.loads(out)["burn"]
        self.assertEqual((burn["planned"], burn["stopped"]), (36, False))
        self.assertTrue(burn["nodes"][0]["host"]["ended"])
        self.assertEqual(burn["findings"], [])
        self.assert_nothing_left()
        code, _, err = self.resume()
        self.assertEqual(code, 64)
        self.assertIn("there is no burn-in to take up", err)

    def test_a_terminal_that_is_gone_ends_nothing(self):
        process = self.start_held("--minutes", "10")
        self.id = self.kept()[0].stem
        process.send_signal(signal.SIGHUP)
        code, out, err = self.finish(process)
        self.assertEqual((code, out), (3, ""), err)
        self.assertEqual(len(self.keepers()), 1)
        code, out, err = self.resume(self.id, "--stop")
        self.assertEqual(code, 3, err)
        self.assertRegex(out, r"(?m)^NOTE +stopped on request after")
        self.assert_nothing_left()

    def test_ctrl_c_ends_a_held_load(self):
        process = self.start_held("--minutes", "10")
        self.id = self.kept()[0].stem
        process.send_signal(signal.SIGINT)
        code, out, err = self.finish(process)
        self.assertEqual(code, 3, out + err)
        self.assert_nothing_left()

    def test_a_load_that_nobody_looks_at_ends(self):
        process = self.start_held("--minutes", "10", more=["--unseen", "0.25"])
        self.id = self.kept()[0].stem
        process.kill()
        self.wait_for(lambda: not self.keepers(), "it goes on unseen")
        code, out, err = self.resume()
        self.assertEqual(code, 3, err)
        self.assertRegex(out, r"(?m)^UNKNOWN +localhost ended its load after \d+ s, because no controller looked for too long")
        self.assert_nothing_left()

    def test_a_process_that_is_killed_is_named(self):
        process = self.start_held("--minutes", "10")
        self.id = self.kept()[0].stem
        self.end_keepers()
        # What a process leaves that is killed while it writes its state.
        for folder in pathlib.Path(f"/var/tmp/railbed-burn-{os.geteuid()}").glob(f"{self.id}-*"):
            (folder / "state.5f00ba").write_text("{")
        code, out, err = self.finish(process)
        self.assertEqual(code, 2, out + err)
        self.assertRegex(out, r"(?m)^FAIL +localhost was lost after \d+ s: the process that held the load was killed")
        self.assert_nothing_left()

    def test_a_node_that_comes_back_worked_on(self):
        self.addCleanup(self.end_keepers)
        process = self.start("cluster.yaml", "gpu01", "gpu02", "--minutes", "0.5", "--phases", "bf16", "--no-share", "--json",
                             "--unseen", "60")
        pid = self.root / "gpu02.pid"
        self.wait_for(lambda: len(self.keepers()) == 2 and pid.exists() and pid.read_text().strip(), "not begun")
        time.sleep(4)
        os.kill(int(pid.read_text()), signal.SIGKILL)
        self.assertEqual(len(self.keepers()), 2)
        code, out, err = self.finish(process)
        burn = json.loads(out)["burn"]
        nodes = {node["node"]: node for node in burn["nodes"]}
        for node in ("gpu01", "gpu02"):
            self.assertFalse(nodes[node]["lost"], err)
            self.assertTrue(all(gpu["ended"] for gpu in nodes[node]["gpus"]), out)
        self.assertGreater(nodes["gpu02"]["away"], 0)
        self.assertIn(("away", "gpu02", "note"), {(one["what"], one["node"], one["status"]) for one in burn["findings"]})
        self.assert_sound(code, burn["findings"])

    def test_words_that_do_not_fit_a_held_burn(self):
        for words, told in ((["--resume", "--hours", "1"], "--hours with --resume"), (["--resume", "x"], "not the ID of a burn-in"),
                            (["--stop"], "--resume"), (["--minutes", "1", "--rails"], "name a cluster.yaml"),
                            (["--minutes", "1", "--only-rails", "--gpus", "0"], "--only-rails loads no GPU")):
            code, out, err = self.burn(*words, more=[])
            self.assertEqual((code, out), (64, ""), err)
            self.assertIn(told, err)

    def test_without_a_gpu_and_with_wrong_words(self):
        for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
            (self.root / name).unlink()
        code, out, err = self.burn("--minutes", "1")
        self.assertEqual((code, out), (3, ""))
        self.assertIn("no GPU to burn in", err)
        self.assertIn("libcuda.so.1", err)
        for words, told in ((["cluster.yaml"], "say how long"), (["--minutes", "1", "--phases", "bf17"], "write bf16, fp16"),
                            (["--minutes", "1", "--phases", "bf16,bf16"], "named twice"),
                            (["--minutes", "1", "--inject", "wrong-result:x"], "wrong-result:GPU@SECONDS"),
                            (["cluster.yaml", "gpu09", "--minutes", "1"], "has no node \"gpu09\""),
                            (["a", "a", "--minutes", "1"], "a is named twice")):
            code, out, err = self.burn(*words)
            self.assertEqual((code, out), (64, ""), err)
            self.assertIn(told, err)


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=1)
