#!/usr/bin/env python3
"""railbed bench collectives as srun and mpirun start it: a process for each GPU, one of which prints. The GPUs and NCCL
are made for it (src/bench/testing/fake_gpu.cc, the first argument). With the launchers of Open MPI and of MPICH where they
are; Slurm's srun is tried in slurm/slurm_test.py."""
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

RAILBED = pathlib.Path(os.environ["RAILBED"]).resolve()
FAKE = pathlib.Path(sys.argv.pop(1)).resolve()
PATIENCE = 120  # seconds: a limit, not an expectation
LAUNCHERS = ("OMPI_", "PMIX_", "PMI_", "MPI_", "SLURM", "MASTER_", "RAILBED", "CUDA_", "NCCL_")
WORDS = ["bench", "collectives", "--library", str(FAKE), "--from", "64", "--to", "64K", "--factor", "32",
         "--iterations", "3", "--no-store"]


class Ranks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="railbed-ranks-")
        self.addCleanup(self.folder.cleanup)
        root = pathlib.Path(self.folder.name)
        (root / "libcuda.so.1").symlink_to(FAKE)
        (root / "halls").mkdir()
        usual = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
        self.environment = usual | {"LD_LIBRARY_PATH": str(root), "RAILBED_FAKE_FOLDER": str(root / "halls"),
                                    "XDG_STATE_HOME": str(root / "state"), "LC_ALL": "C.UTF-8"}

    def start(self, rank, ranks, words=(), **more):
        """As Open MPI's mpirun sets the variables of a rank."""
        own = {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": ranks, "OMPI_COMM_WORLD_LOCAL_RANK": rank,
               "OMPI_COMM_WORLD_LOCAL_SIZE": ranks, "PMIX_NAMESPACE": f"job-{os.getpid()}-{self.id()}"} | more
        return subprocess.Popen([RAILBED, *WORDS, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True,
                                env=self.environment | {name: str(value) for name, value in own.items()})

    def finish(self, processes):
        """(exit code, stdout, stderr) of each."""
        try:
            told = [process.communicate(timeout=PATIENCE) for process in processes]
        finally:
            for process in processes:
                process.kill()
        return [(process.returncode, *streams) for process, streams in zip(processes, told)]

    def check_three(self, text):
        run = json.loads(text)["runs"][0]
        self.assertIsNone(run["failure"])
        self.assertEqual([(one["rank"], one["gpu"]["ordinal"]) for one in run["ranks"]], [(0, 0), (1, 1), (2, 2)])
        self.assertEqual([row["bytes"] for row in run["rows"]], [64, 2048, 65536])
        self.assertEqual([(row["checked"], row["wrong"]) for row in run["rows"]], [(True, 0)] * 3)
        self.assertGreater(run["first_result"], 0)
        self.assertEqual(len({one["process"] for one in run["ranks"]}), 3)

    def test_rank_0_prints_for_all(self):
        done = self.finish([self.start(rank, 3, ["--json"]) for rank in (2, 1, 0)])
        self.check_three(done[2][1])
        self.assertEqual([code for code, *_ in done], [0, 0, 0])
        self.assertEqual([one[1:] for one in done[:2]], [("", "")] * 2)

    def test_wrong_data_is_found_in_another_process(self):
        done = self.finish([self.start(rank, 2, RAILBED_FAKE_FAULT="wrong") for rank in range(2)])
        self.assertEqual(done[0][0], 2, done[0])
        self.assertIn("wrong", done[0][1])

    def test_a_rank_that_never_comes_is_named(self):
        done = self.finish([self.start(rank, 3, ["--patience", "2"]) for rank in (0, 2)])
        self.assertEqual(done[0][0], 3)
        self.assertIn("rank 1 did not come to 127.0.0.1 port", done[0][2])
        self.assertEqual(done[1], (0, "", ""))

    def test_a_rank_that_is_killed_ends_all(self):
        processes = [self.start(rank, 3, RAILBED_FAKE_FAULT="hang") for rank in range(3)]
        halls = pathlib.Path(self.folder.name) / "halls"
        end = time.monotonic() + PATIENCE
        while not list(halls.iterdir()) and time.monotonic() < end:  # NCCL is being joined
            time.sleep(0.05)
        processes[1].send_signal(signal.SIGKILL)
        done = self.finish(processes)
        self.assertEqual(done[0][0], 3, done[0])
        self.assertRegex(done[0][1] + done[0][2], "rank 1 on .* has gone")
        self.assertEqual(done[2], (0, "", ""))

    def test_a_rank_of_another_user_is_refused(self):
        words = ["--patience", "2"]
        done = self.finish([self.start(0, 2, words), self.start(1, 2, words, RAILBED_SECRET="not the one in the file")])
        self.assertEqual([code for code, *_ in done], [3, 3])
        self.assertIn("knows another secret", done[0][2])
        self.assertIn("knows another secret", done[1][2])
        self.assertEqual(done[1][1], "")

    def test_mistakes_are_said_once(self):
        done = self.finish([self.start(rank, 2, ["gpu01"]) for rank in range(2)])
        self.assertEqual([code for code, *_ in done], [64, 64])
        self.assertIn("Open MPI started 2 ranks of this", done[0][2])
        self.assertEqual(done[1][1:], ("", ""))

    def test_several_gpus_of_each_process(self):
        both = [self.start(0, 2, ["--gpus", "0,1", "--json"]), self.start(1, 2, ["--gpus", "2", "--json"])]
        self.check_ranks_of_two(json.loads(self.finish(both)[0][1])["runs"][0])

    def check_ranks_of_two(self, run):
        self.assertIsNone(run["failure"])
        self.assertEqual([(one["rank"], one["gpu"]["ordinal"]) for one in run["ranks"]], [(0, 0), (1, 1), (2, 2)])
        self.assertEqual(run["ranks"][0]["process"], run["ranks"][1]["process"])
        self.assertEqual([row["wrong"] for row in run["rows"]], [0, 0, 0])

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun here (Debian: openmpi-bin)")
    def test_mpirun(self):
        done = subprocess.run(["mpirun", "--oversubscribe", "-n", "3", RAILBED, *WORDS, "--json"], text=True,
                              env=self.environment | {"OMPI_ALLOW_RUN_AS_ROOT": "1",
                                                      "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_three(done.stdout)

    @unittest.skipUnless(shutil.which("mpiexec.hydra"), "no mpiexec.hydra here (Debian: mpich)")
    def test_mpiexec_hydra(self):
        """MPICH's launcher, whose variables Intel MPI's has as well."""
        done = subprocess.run(["mpiexec.hydra", "-n", "3", RAILBED, *WORDS, "--json"], text=True, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_three(done.stdout)


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=2)
