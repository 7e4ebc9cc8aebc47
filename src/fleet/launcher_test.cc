#include "fleet/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/rendezvous.h"

namespace railbed::fleet {
namespace {

using ::testing::HasSubstr;

std::optional<LaunchedRank> rank_of(const Environment& environment) {
  const auto found = find_launcher(environment);
  EXPECT_TRUE(found) << found.error().text;
  return found ? *found : std::nullopt;
}

// srun --nodes 2 --ntasks-per-node 2, task 3, with the variables of Slurm 22.05 (shortened).
const Environment kSrun = {{"SLURM_JOB_ID", "417"},       {"SLURM_JOB_NODELIST", "gpu[03-04]"},
                           {"SLURM_LOCALID", "1"},        {"SLURM_NODEID", "1"},
                           {"SLURM_NTASKS", "4"},         {"SLURM_PROCID", "3"},
                           {"SLURM_STEP_ID", "0"},        {"SLURM_STEP_NODELIST", "gpu[03-04]"},
                           {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_STEP_NUM_TASKS", "4"},
                           {"SLURMD_NODENAME", "gpu04"},  {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"}};

// mpirun -n 2 of Open MPI 4.1, rank 1.
const Environment kOpenMpi4 = {
    {"OMPI_COMM_WORLD_RANK", "1"},       {"OMPI_COMM_WORLD_SIZE", "2"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
    {"OMPI_COMM_WORLD_NODE_RANK", "1"},  {"OMPI_MCA_orte_hnp_uri", "3157590016.0;tcp://10.0.0.1:45107"},
    {"PMIX_NAMESPACE", "3157590017"},    {"PMIX_RANK", "1"}};

// The same for Open MPI 5, on two hosts with one GPU each.
const Environment kOpenMpi5 = {{"OMPI_COMM_WORLD_RANK", "1"},
                               {"OMPI_COMM_WORLD_SIZE", "2"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                               {"PMIX_RANK", "1"},
                               {"PMIX_NAMESPACE", "prterun-gpu01-4711@1"}};

// mpiexec of MPICH 4 or Intel MPI, rank 2 of 4 on two hosts.
const Environment kHydra = {{"PMI_RANK", "2"},
                            {"PMI_SIZE", "4"},
                            {"PMI_FD", "9"},
                            {"MPI_LOCALRANKID", "0"},
                            {"MPI_LOCALNRANKS", "2"}};

Environment with(Environment environment, const Environment& more) {
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

Environment without(Environment environment, std::string_view name) {
  environment.erase(environment.find(name));
  return environment;
}

TEST(FindLauncher, EachLauncherHasItsOwnNames) {
  EXPECT_EQ(rank_of(kSrun), (LaunchedRank{"Slurm", 3, 4, 1, false, "417.0", "gpu03", 1}));
  EXPECT_EQ(rank_of(kOpenMpi4), (LaunchedRank{"Open MPI", 1, 2, 1, true, "3157590017", "", 1}));
  EXPECT_EQ(rank_of(kOpenMpi5), (LaunchedRank{"Open MPI", 1, 2, 0, false, "prterun-gpu01-4711@1", "", 0}));
  EXPECT_EQ(rank_of(kHydra), (LaunchedRank{"MPICH or Intel MPI", 2, 4, 0, false, "", "", 0}));
}

TEST(FindLauncher, NobodyElseWasStarted) {
  EXPECT_EQ(rank_of({}), std::nullopt);
  EXPECT_EQ(rank_of({{"PATH", "/bin"}, {"HOME", "/root"}}), std::nullopt);
  // A single task: `srun --pty bash`, and everything that is started from there.
  EXPECT_EQ(
      rank_of(with(kSrun, {{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}})),
      std::nullopt);
  EXPECT_EQ(rank_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"MPI_LOCALRANKID", "0"}}), std::nullopt);
}

// A batch script has the numbers of the tasks that it may start, but is none of them.
TEST(FindLauncher, ABatchScriptIsNoTask) {
  EXPECT_EQ(rank_of({{"SLURM_JOB_ID", "417"},
                     {"SLURM_JOB_NODELIST", "gpu[03-04]"},
                     {"SLURM_NTASKS", "4"},
                     {"SLURM_PROCID", "0"},
                     {"SLURM_LOCALID", "0"}}),
            std::nullopt);
}

// mpirun starts its daemons with srun, one for each node.
TEST(FindLauncher, TheInnermostCounts) {
  const auto daemon =
      with(kSrun, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_LOCALID", "0"}});
  const auto found = rank_of(with(daemon, kOpenMpi5));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->launcher, "Open MPI");
  EXPECT_EQ(found->rank, 1);
  EXPECT_EQ(found->first_host, "gpu03");
  EXPECT_EQ(rank_of(with(daemon, kHydra))->rank, 2);
  // srun's own PMI variables agree with those of srun.
  EXPECT_EQ(rank_of(with(kSrun, {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"PMIX_RANK", "3"}}))->launcher,
            "Slurm");
}

TEST(FindLauncher, AllOnOneHost) {
  EXPECT_TRUE(rank_of(with(kSrun, {{"SLURM_STEP_NUM_NODES", "1"}}))->one_host);
  EXPECT_TRUE(rank_of(with(kHydra, {{"MPI_LOCALNRANKS", "4"}}))->one_host);
}

TEST(FindLauncher, TheGpuIsTheLocalRankUnlessOnlyOneIsShown) {
  EXPECT_EQ(rank_of(with(kSrun, {{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}}))->gpu, 1);
  EXPECT_EQ(rank_of(with(kSrun, {{"CUDA_VISIBLE_DEVICES", "GPU-8e7c6a7a"}}))->gpu, 0);
}

TEST(FindLauncher, TheFirstHostOfALongList) {
  const auto first = [](const char* list) {
    return rank_of(with(kSrun, {{"SLURM_STEP_NODELIST", list}}))->first_host;
  };
  EXPECT_EQ(first("gpu[007-900,950],nas"), "gpu007");
  EXPECT_EQ(first("nas,gpu[1-4]"), "nas");
  EXPECT_EQ(first("rack[1-2]n[01-16]"), "rack1n01");
  EXPECT_EQ(first("gpu[1-999999999]"), "");
  EXPECT_EQ(first(""), "");
}

TEST(FindLauncher, WhatMakesNoSenseIsSaid) {
  const auto why = [](const Environment& environment) {
    const auto found = find_launcher(environment);
    EXPECT_FALSE(found);
    return found ? "" : found.error().text;
  };
  EXPECT_THAT(why(with(kSrun, {{"SLURM_PROCID", "4"}})), HasSubstr("SLURM_PROCID is \"4\""));
  EXPECT_THAT(why(with(kOpenMpi4, {{"OMPI_COMM_WORLD_SIZE", "many"}})), HasSubstr("OMPI_COMM_WORLD_SIZE"));
  EXPECT_THAT(why(without(kOpenMpi4, "OMPI_COMM_WORLD_LOCAL_RANK")), HasSubstr("OMPI_COMM_WORLD_LOCAL_RANK"));
  EXPECT_THAT(why(with(kHydra, {{"PMI_SIZE", "99999999"}})), HasSubstr("PMI_SIZE"));
  EXPECT_THAT(why({{"PMIX_RANK", "3"}, {"PMIX_NAMESPACE", "x"}}), HasSubstr("PMIX_RANK"));
}

Rendezvous place(const LaunchedRank& launched, const Environment& environment, const std::string& wanted) {
  const auto at = plan_rendezvous(launched, environment, wanted);
  EXPECT_TRUE(at) << at.error().text;
  return at ? *at : Rendezvous();
}

TEST(PlanRendezvous, TheMostExplicitWins) {
  const Environment master = {{"MASTER_ADDR", "gpu09"}, {"MASTER_PORT", "29500"}};
  LaunchedRank launched = *rank_of(kSrun);
  EXPECT_EQ(place(launched, {}, "").host, "gpu03");
  EXPECT_EQ(place(launched, master, "").host, "gpu09");
  EXPECT_EQ(place(launched, master, "").port, 29500);
  EXPECT_EQ(place(launched, master, "10.0.0.7:4000").host, "10.0.0.7");
  EXPECT_EQ(place(launched, master, "10.0.0.7:4000").port, 4000);
  EXPECT_EQ(place(launched, {}, "[fe80::1]:4000").host, "fe80::1");
  EXPECT_EQ(place(launched, {}, "fe80::1").host, "fe80::1");
  launched.one_host = true;
  EXPECT_EQ(place(launched, master, "").host, "127.0.0.1");
}

TEST(PlanRendezvous, ThePortFollowsFromTheJob) {
  LaunchedRank rank = *rank_of(kSrun);
  const int port = place(rank, {}, "").port;
  EXPECT_GE(port, 20'000);
  EXPECT_LT(port, 30'000);
  EXPECT_EQ(place(rank, {}, "gpu01").port, port);
  rank.job = "417.1";
  EXPECT_NE(place(rank, {}, "").port, port);
}

TEST(PlanRendezvous, WhatCannotBeIsSaid) {
  const LaunchedRank launched = *rank_of(kHydra);
  EXPECT_THAT(plan_rendezvous(launched, {}, "").error().text, HasSubstr("--rendezvous HOST"));
  for (const char* wrong : {"gpu01:", "gpu01:0", "gpu01:65536", "gpu01:x", ":4000", "[::1", "[::1]x:4"})
    EXPECT_FALSE(plan_rendezvous(launched, {}, wrong)) << wrong;
  EXPECT_FALSE(plan_rendezvous(launched, {{"MASTER_ADDR", "gpu01"}, {"MASTER_PORT", "-1"}}, ""));
}

}  // namespace
}  // namespace railbed::fleet
