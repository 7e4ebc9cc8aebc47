#include "model/job_spell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "facts/facts.h"
#include "facts/network/counts.h"

namespace railbed {
namespace {

using ::testing::AllOf;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kBegin = 1795000000;
constexpr double kMinute = 60;

// Eight H100 of one job that wait in a collective, and adapters that carry what an idle node's do.
WorkSample waiting(double when) {
  WorkSample sample{.when = when};
  for (int i = 0; i < 8; ++i)
    sample.gpus["0000:1" + std::to_string(i) + ":00.0"] =
        GpuWork{.utilisation = 100,
                .memory_utilisation = 0,
                .power = 118,
                .power_limit = 700,
                .energy = static_cast<std::uint64_t>((when - kBegin) * 118'000) + 1'000'000,
                .jobs = {GpuJob{.hpc_job = "4711", .user = "alice", .processes = 1, .ranks = 16}}};
  for (int i = 0; i < 8; ++i)
    sample.traffic["mlx5_" + std::to_string(i) + "/1"] =
        5'000'000'000'000ULL + static_cast<std::uint64_t>((when - kBegin) * 2000);
  return sample;
}

using SampleChange = std::function<void(WorkSample& sample, int minute)>;

JobSpells after_minutes(int minutes, const SampleChange& change) {
  JobSpells spells;
  for (int minute = 0; minute <= minutes; ++minute) {
    WorkSample sample = waiting(kBegin + minute * kMinute);
    change(sample, minute);
    spells = next_spells(spells, sample);
  }
  return spells;
}

void each_work(WorkSample& sample, const std::function<void(GpuWork&)>& change) {
  for (auto& [address, gpu] : sample.gpus) change(gpu);
}

GpuWork& first_gpu(WorkSample& sample) { return sample.gpus.begin()->second; }

bool stalls(int minutes, const SampleChange& change) {
  const JobSpells spells = after_minutes(minutes, change);
  return spells.jobs.size() == 1 && is_stalled(spells.jobs.front()) && spells.jobs.front().unread.empty();
}

const SampleChange kNothing = [](WorkSample&, int) {};

TEST(JobSpell, AJobThatWaitsInACollectiveIsStalledAfterFiveMinutes) {
  EXPECT_FALSE(stalls(4, kNothing));
  EXPECT_TRUE(stalls(5, kNothing));
  const JobSpells spells = after_minutes(12, kNothing);
  ASSERT_THAT(spells.jobs, SizeIs(1));
  const JobSpell& spell = spells.jobs.front();
  EXPECT_EQ(spell.since, kBegin);
  EXPECT_EQ(spell.seconds(), 12 * kMinute);
  EXPECT_EQ(spell.readings, 13);
  EXPECT_EQ(spell.job.processes, 8);
  EXPECT_THAT(spell.gpus, SizeIs(8));
  EXPECT_NEAR(spell.gpus.front().watts, 118, 0.1);
  EXPECT_EQ(spell.gpus.front().bar, 175);
  EXPECT_NEAR(spell.traffic, 16'000, 1);
  EXPECT_EQ(job_name(spell.job), "Slurm job 4711");
}

struct CounterCase {
  const char* what;
  SampleChange change;
};

// Each of these is sound, or cannot be told from what is sound.
TEST(JobSpell, IsQuietAboutWhatIsNoStall) {
  const CounterCase kCases[] = {
      {"it loads data: kernels run for a third of the time",
       [](WorkSample& sample, int) { each_work(sample, [](GpuWork& gpu) { gpu.utilisation = 35; }); }},
      {"it loads data for so long that no kernel runs",
       [](WorkSample& sample, int) { each_work(sample, [](GpuWork& gpu) { gpu.utilisation = 0; }); }},
      {"it computes on one node",
       [](WorkSample& sample, int) { each_work(sample, [](GpuWork& gpu) { gpu.power = 640; }); }},
      {"it computed between two readings that saw it wait",
       [](WorkSample& sample, int minute) {
         each_work(sample, [&](GpuWork& gpu) { gpu.energy = 1'000'000 + minute * 60ULL * 300'000; });
       }},
      {"one of its GPUs computes, and the others wait for it",
       [](WorkSample& sample, int) { first_gpu(sample).power = 500; }},
      {"an inference server without requests",
       [](WorkSample& sample, int) {
         each_work(sample, [](GpuWork& gpu) {
           gpu.utilisation = 0;
           gpu.power = 70;
         });
       }},
      {"it moves data through the memory of its GPUs",
       [](WorkSample& sample, int) { each_work(sample, [](GpuWork& gpu) { gpu.memory_utilisation = 9; }); }},
      {"its GPUs exchange data within the node",
       [](WorkSample& sample, int) { first_gpu(sample).moves = "NVLink"; }},
      {"it exchanges data with other nodes",
       [](WorkSample& sample, int minute) { *sample.traffic["mlx5_3/1"] += minute * 600'000'000ULL; }},
      {"it writes a checkpoint over one rail",
       [](WorkSample& sample, int minute) { *sample.traffic["mlx5_0/1"] += minute * 90'000'000ULL; }},
      {"it waits from step to step, and computes in between",
       [](WorkSample& sample, int minute) {
         if (minute % 4 == 3) each_work(sample, [](GpuWork& gpu) { gpu.power = 400; });
       }},
      {"its GPUs take turns, as stages of a pipeline",
       [](WorkSample& sample, int minute) { first_gpu(sample).utilisation = minute % 2 == 0 ? 100 : 0; }},
      {"nobody knows how busy the GPUs are",
       [](WorkSample& sample, int) { each_work(sample, [](GpuWork& gpu) { gpu.utilisation.reset(); }); }},
      {"nobody knows how busy their memory is",
       [](WorkSample& sample, int) {
         each_work(sample, [](GpuWork& gpu) { gpu.memory_utilisation.reset(); });
       }},
      {"nobody knows what they draw",
       [](WorkSample& sample, int) { each_work(sample, [](GpuWork& gpu) { gpu.power.reset(); }); }},
      {"nobody knows what they may draw",
       [](WorkSample& sample, int) { each_work(sample, [](GpuWork& gpu) { gpu.power_limit.reset(); }); }},
      {"a port's counters cannot be read",
       [](WorkSample& sample, int) { sample.traffic["mlx5_3/1"].reset(); }},
      {"a port's counters began anew in the last minute",
       [](WorkSample& sample, int minute) {
         if (minute == 9) sample.traffic["mlx5_3/1"] = 7;
       }},
      {"a port has just come",
       [](WorkSample& sample, int minute) {
         if (minute < 9) sample.traffic.erase("mlx5_3/1");
       }},
      {"its GPUs are cut into parts",
       [](WorkSample& sample, int) { each_work(sample, [](GpuWork& gpu) { gpu.mig = true; }); }},
      {"one of its GPUs is cut into parts", [](WorkSample& sample, int) { first_gpu(sample).mig = true; }},
      {"it shares a GPU with another job",
       [](WorkSample& sample, int) {
         first_gpu(sample).jobs.push_back(GpuJob{.hpc_job = "4712", .processes = 1});
       }},
      {"a job of one GPU waits for nobody",
       [](WorkSample& sample, int) {
         sample.gpus.erase(std::next(sample.gpus.begin()), sample.gpus.end());
         first_gpu(sample).jobs.front().ranks = 1;
       }},
      {"nobody knows whose the GPUs are",
       [](WorkSample& sample, int) { each_work(sample, [](GpuWork& gpu) { gpu.jobs.clear(); }); }},
      {"one job follows another",
       [](WorkSample& sample, int minute) {
         if (minute > 5) each_work(sample, [](GpuWork& gpu) { gpu.jobs.front().hpc_job = "4712"; });
       }},
  };
  for (const CounterCase& counter : kCases) EXPECT_FALSE(stalls(9, counter.change)) << counter.what;
}

TEST(JobSpell, NamesTheGpuThatTheOthersWaitFor) {
  const JobSpells spells =
      after_minutes(6, [](WorkSample& sample, int) { first_gpu(sample).utilisation = 0; });
  ASSERT_THAT(spells.jobs, SizeIs(1));
  EXPECT_TRUE(is_stalled(spells.jobs.front()));
  EXPECT_FALSE(spells.jobs.front().gpus.front().spins);
  EXPECT_TRUE(spells.jobs.front().gpus.back().spins);
}

TEST(JobSpell, ASingleGpuOfAJobOnManyNodesCounts) {
  const SampleChange one = [](WorkSample& sample, int) {
    sample.gpus.erase(std::next(sample.gpus.begin()), sample.gpus.end());
  };
  EXPECT_TRUE(stalls(6, one));
}

TEST(JobSpell, BeginsAnewAfterWork) {
  const JobSpells spells = after_minutes(12, [](WorkSample& sample, int minute) {
    if (minute == 5) first_gpu(sample).power = 650;
  });
  ASSERT_THAT(spells.jobs, SizeIs(1));
  EXPECT_EQ(spells.jobs.front().since, kBegin + 6 * kMinute);
  EXPECT_EQ(spells.jobs.front().readings, 7);
}

TEST(JobSpell, GoesOnOverARestartButNotOverALongPause) {
  JobSpells spells = after_minutes(6, kNothing);
  spells = next_spells(spells, waiting(kBegin + 8.5 * kMinute));
  EXPECT_EQ(spells.jobs.front().since, kBegin);
  spells = next_spells(spells, waiting(kBegin + 12 * kMinute));
  EXPECT_EQ(spells.jobs.front().since, kBegin + 12 * kMinute) << "what it did meanwhile is not known";
  spells = next_spells(spells, waiting(kBegin + 10 * kMinute));
  EXPECT_EQ(spells.jobs.front().readings, 1) << "the clock was set back";
}

TEST(JobSpell, WhatIsUnreadIsNamedAndForgottenOnceItIsRead) {
  JobSpells spells = after_minutes(6, [](WorkSample& sample, int) { sample.traffic["mlx5_3/1"].reset(); });
  ASSERT_THAT(spells.jobs, SizeIs(1));
  EXPECT_EQ(spells.jobs.front().unread, "mlx5_3/1");
  EXPECT_TRUE(is_stalled(spells.jobs.front())) << "its GPUs spin, and no more is known";
  for (int minute = 7; minute < 20; ++minute)
    spells = next_spells(spells, waiting(kBegin + minute * kMinute));
  EXPECT_EQ(spells.jobs.front().unread, "");
  EXPECT_EQ(spells.jobs.front().since, kBegin + 8 * kMinute);
}

TEST(JobSpell, SaysWhyAJobWorks) {
  const JobSpells spells = after_minutes(2, [](WorkSample& sample, int) { first_gpu(sample).power = 412; });
  EXPECT_THAT(spells.jobs.front(), AllOf(Field(&JobSpell::readings, 0), Field(&JobSpell::gpus, IsEmpty()),
                                         Field(&JobSpell::works, HasSubstr("0000:10:00.0 draws 412 W"))));
}

PortCounts counted_port(const std::string& device, const std::string& state,
                        std::map<std::string, Reading<std::uint64_t>> counters) {
  PortCounts counts{device, {}};
  counts.port.number = 1;
  counts.port.state = {state, "state"};
  counts.port.counters = std::move(counters);
  return counts;
}

TEST(WorkSample, CountsThePortsAndInterfacesThatAreUp) {
  Facts facts;
  std::vector<RdmaDevice> devices(5);
  const char* const kNames[] = {"mlx5_0", "mlx5_1", "mlx5_2", "bnxt_re0", "rxe0"};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].name = kNames[i];
    if (devices[i].name != "rxe0") devices[i].pci_address = {std::string("0000:01:00.0"), "device"};
  }
  devices[2].management = {true, "vpd"};
  facts.rdma.devices = {devices, "/sys/class/infiniband"};
  std::vector<NetInterface> interfaces(2);
  interfaces[0].name = "ens1";
  interfaces[0].pci_address = {std::string("0000:01:00.0"), "device"};
  interfaces[1].name = "docker0";
  facts.net.interfaces = {interfaces, "/sys/class/net"};
  Counts counts;
  const auto value = [](std::uint64_t number) { return Reading<std::uint64_t>(number, "counters"); };
  counts.ports = {
      counted_port("mlx5_0", "ACTIVE", {{"port_rcv_data", value(10)}, {"port_xmit_data", value(5)}}),
      counted_port("mlx5_1", "ACTIVE",
                   {{"port_rcv_data", value(std::numeric_limits<std::uint32_t>::max())},
                    {"port_xmit_data", value(5)}}),
      counted_port("mlx5_2", "ACTIVE", {}), counted_port("bnxt_re0", "DOWN", {}),
      counted_port("rxe0", "ACTIVE", {})};
  counts.interfaces.resize(2);
  counts.interfaces[0].link.name = "ens1";
  counts.interfaces[0].link.carrier = {true, "carrier"};
  counts.interfaces[0].statistics = {{"rx_bytes", 100}, {"tx_bytes", 20}};
  counts.interfaces[1].link.name = "docker0";
  counts.interfaces[1].link.carrier = {true, "carrier"};
  const WorkSample sample = work_sample(kBegin, {}, {}, facts, counts);
  EXPECT_THAT(sample.traffic, SizeIs(3));
  EXPECT_EQ(sample.traffic.at("mlx5_0/1"), 60U);
  EXPECT_EQ(sample.traffic.at("mlx5_1/1"), std::nullopt) << "a counter that has reached its end stands still";
  EXPECT_EQ(sample.traffic.at("ens1"), 120U);
  EXPECT_EQ(work_sample(kBegin, {}, {}, Facts{}, {}).traffic.size(), 2U) << "unread is not quiet";
}

TEST(WorkSample, KeepsTheGpusThatSomebodyHolds) {
  NvmlGpu gpu;
  gpu.utilisation = {100, "nvml"};
  gpu.power = {118.5, "nvml"};
  gpu.power_limit_default = {700.0, "nvml"};
  const std::map<std::string, Reading<NvmlGpu>> readings = {
      {"0000:1b:00.0", Reading<NvmlGpu>(gpu, "nvml")},
      {"0000:43:00.0", Reading<NvmlGpu>(gpu, "nvml")},
      {"0000:52:00.0", Reading<NvmlGpu>(Miss{Missing::kUnsupported, "GPU is lost"}, "nvml")}};
  const GpuJobs jobs = {{"0000:1b:00.0", {GpuJob{.user = "alice"}}},
                        {"0000:52:00.0", {GpuJob{.user = "alice"}}}};
  const WorkSample sample = work_sample(kBegin, readings, jobs, Facts{}, {});
  ASSERT_THAT(sample.gpus, SizeIs(1));
  EXPECT_EQ(sample.gpus.begin()->second.utilisation, 100);
  EXPECT_EQ(sample.gpus.begin()->second.memory_utilisation, std::nullopt);
}

TEST(WorkSample, SeesWhatMovesInAGpu) {
  const std::map<std::string, Reading<NvmlGpu>> readings = {
      {"0000:1b:00.0", Reading<NvmlGpu>(NvmlGpu(), "nvml")}};
  const GpuJobs jobs = {{"0000:1b:00.0", {GpuJob{.user = "alice"}}}};
  const auto moves = [&](const GpuActivity& activity) {
    return work_sample(kBegin, readings, jobs, Facts{}, {}, {{"0000:1b:00.0", activity}})
        .gpus.begin()
        ->second.moves;
  };
  EXPECT_EQ(moves({}), "");
  GpuActivity activity;
  activity.tensor = {0.004, "nvml"};
  activity.nvlink_sent = {2e5, "nvml"};
  EXPECT_EQ(moves(activity), "");
  activity.nvlink_received = {9e8, "nvml"};
  EXPECT_EQ(moves(activity), "NVLink");
  activity.memory = {0.2, "nvml"};
  EXPECT_EQ(moves(activity), "memory");
  activity.tensor = {0.3, "nvml"};
  EXPECT_EQ(moves(activity), "tensor cores");
}

TEST(JobSpell, NamesAJobByWhatIsKnownOfIt) {
  EXPECT_EQ(job_name({.user = "alice", .pod = "trainer-0", .name_space = "research"}),
            "pod research/trainer-0");
  EXPECT_EQ(job_name({.user = "alice", .container = "0123456789ab"}), "container 0123456789ab");
  EXPECT_EQ(job_name({.user = "alice"}), "processes of alice");
  EXPECT_EQ(job_name({}), "processes of an unknown user");
}

}  // namespace
}  // namespace railbed
