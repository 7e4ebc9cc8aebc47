#include "facts/software/gpu_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/tree.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const std::string kPod = "0c6a2c1e-8f0e-4f3d-9d35-2f1f7f0a5b11";
const std::string kId(64, 'a');

std::unique_ptr<Host> machine_with(const std::string& lines) {
  auto tree = parse_tree("railbed-tree 1\n" + lines, "t.tree", nullptr);
  EXPECT_TRUE(tree) << tree.error().text;
  return open_tree(tree ? *tree : Tree{});
}

std::string process_line(int pid, int user, const std::string& rest) {
  return "{\"pid\":" + std::to_string(pid) + ",\"user\":" + std::to_string(user) + rest + "}";
}

TEST(GpuJob, GathersTheProcessesOfSlurmsJob) {
  const auto host = machine_with(
      "@ jobs 40,41,42,43 <<END\n[" +
      process_line(40, 1000, R"(,"slurm_job":"417","pod_uid":"","container":"","ranks":16)") + "," +
      process_line(41, 1000, R"(,"slurm_job":"417","pod_uid":"","container":"","ranks":16)") + "," +
      process_line(42, 1001, R"(,"slurm_job":"","pod_uid":"","container":")" + kId + R"(","ranks":0)") +
      "]\nEND\n@ user-names 1000,1001 <<END\n{\"1000\":\"alice\"}\nEND\n");
  KnownUsers users;
  const auto jobs = collect_gpu_jobs(
      *host, {{"0000:1b:00.0", {{40, {}}, {41, {}}}}, {"0000:2b:00.0", {{41, {}}, {42, {}}, {43, {}}}}},
      users);
  const GpuJob slurm{.hpc_job = "417", .user = "alice", .processes = 2, .ranks = 16};
  GpuJob part = slurm;
  part.processes = 1;
  const GpuJob container{.user = "1001", .container = "aaaaaaaaaaaa", .processes = 1};
  EXPECT_THAT(jobs, UnorderedElementsAre(Pair("0000:1b:00.0", ElementsAre(slurm)),
                                         Pair("0000:2b:00.0", UnorderedElementsAre(part, container))));
  EXPECT_THAT(users.names, UnorderedElementsAre(Pair(1000, "alice"), Pair(1001, "1001")));
}

TEST(GpuJob, NamesThePodByTheKubeletsLogs) {
  const std::string jobs =
      "@ jobs 40 <<END\n[" +
      process_line(40, 0,
                   R"(,"slurm_job":"","pod_uid":")" + kPod + R"(","container":")" + kId + R"(","ranks":0)") +
      "]\nEND\n@ user-names 0 <<END\n{\"0\":\"root\"}\nEND\n";
  const auto pod_of = [&](const std::string& more) {
    KnownUsers users;
    const auto found = collect_gpu_jobs(*machine_with(jobs + more), {{"0000:1b:00.0", {{40, {}}}}}, users);
    EXPECT_THAT(found, SizeIs(1));
    return found.empty() ? GpuJob{} : found.begin()->second.front();
  };
  const GpuJob whole = pod_of("/var/log/containers/train-0_ml_torch-" + kId + ".log = x\n");
  EXPECT_EQ(whole.pod, "train-0");
  EXPECT_EQ(whole.name_space, "ml");
  EXPECT_EQ(whole.container, "torch");
  const GpuJob without_container = pod_of("/var/log/pods/ml_train-0_" + kPod + "/torch/0.log = x\n");
  EXPECT_EQ(without_container.pod, "train-0");
  EXPECT_EQ(without_container.name_space, "ml");
  EXPECT_EQ(without_container.container, "");
  const GpuJob unnamed = pod_of("/var/log/pods/ml_tr\"ain_" + kPod + "/torch/0.log = x\n");
  EXPECT_EQ(unnamed.pod, kPod) << "only its identifier is known";
  EXPECT_EQ(unnamed.name_space, "");
}

TEST(GpuJob, ReadsNamesOfContainersLogs) {
  const auto log = parse_container_log("my.pod-7_kube-system_side-car-" + kId + ".log");
  ASSERT_TRUE(log);
  EXPECT_EQ(log->pod, "my.pod-7");
  EXPECT_EQ(log->name_space, "kube-system");
  EXPECT_EQ(log->container, "side-car");
  EXPECT_EQ(log->id, kId);
  for (const std::string& name :
       {std::string(), std::string(".log"), "a_b_c-" + kId, "a_b-" + kId + ".log", "a_b_c_d-" + kId + ".log",
        "A_b_c-" + kId + ".log", "a_b_c-" + kId.substr(1) + ".log", "a__c-" + kId + ".log"})
    EXPECT_FALSE(parse_container_log(name)) << name;
}

TEST(GpuJob, AsksASilentDirectoryOnce) {
  const auto host =
      machine_with("@ jobs 40 <<END\n[" +
                   process_line(40, 1000, R"(,"slurm_job":"417","pod_uid":"","container":"","ranks":0)") +
                   "]\nEND\n@ user-names 1000 ! timeout: it hangs\n");
  KnownUsers users;
  const auto jobs = collect_gpu_jobs(*host, {{"0000:1b:00.0", {{40, {}}}}}, users);
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs.begin()->second.front().user, "1000");
  EXPECT_THAT(users.names, IsEmpty());
  EXPECT_GT(users.silent_until, std::chrono::steady_clock::now());
}

TEST(GpuJob, HoldsItsLimits) {
  std::string list, pids;
  std::vector<NvmlProcess> processes;
  for (int pid = 1; pid <= 40; ++pid) {
    list += (pid == 1 ? "" : ",") + process_line(pid, 0,
                                                 ",\"slurm_job\":\"" + std::to_string(pid) +
                                                     R"(","pod_uid":"","container":"","ranks":0)");
    pids += (pid == 1 ? "" : ",") + std::to_string(pid);
    processes.push_back({static_cast<std::uint32_t>(pid), {}});
  }
  KnownUsers users;
  const auto jobs = collect_gpu_jobs(*machine_with("@ jobs " + pids + " <<END\n[" + list + "]\nEND\n"),
                                     {{"0000:1b:00.0", processes}}, users);
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_THAT(jobs.begin()->second, SizeIs(kMostJobsOfGpu));
}

}  // namespace
}  // namespace railbed
