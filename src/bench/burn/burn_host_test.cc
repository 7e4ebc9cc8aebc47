// The work on processors and memory, run in this process, and the verdict on it.
#include "bench/burn/burn_host.h"

#include <gmock/gmock.h>

#include <mutex>
#include <random>

#include "base/json.h"
#include "bench/burn/burn_verdict.h"
#include "bench/core/clock.h"
#include "host/host.h"
#include "host/open.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

BurnPlan plan_of(double seconds) {
  BurnPlan plan;
  plan.load = BurnLoad::kHost;
  plan.seconds = seconds;
  plan.phases = default_burn_phases();
  plan.host_memory = std::uint64_t{64} << 20;
  return plan;
}

BurnHost burned(const BurnPlan& plan) {
  BurnHost last;
  std::mutex mutex;
  const Tell tell{[](std::string_view) {},
                  [&](std::string_view line) {
                    const std::lock_guard lock(mutex);
                    auto read = json::read<BurnHost>(line);
                    ASSERT_TRUE(read) << line;
                    last = std::move(*read);
                  }};
  const auto host = open_this_machine();
  run_burn_host(plan, *host, now_ns(), tell);
  return last;
}

TEST(BurnOfAHost, ComparesEverythingAndFindsNothing) {
  const BurnHost host = burned(plan_of(4));
  EXPECT_TRUE(host.began);
  EXPECT_TRUE(host.ended);
  EXPECT_EQ(host.trouble, "");
  EXPECT_GE(host.cpus, 1);
  EXPECT_NE(host.units, "");
  EXPECT_GT(host.memory, 0u);
  EXPECT_LE(host.memory, std::uint64_t{64} << 20);
  EXPECT_GT(host.products, 0);
  EXPECT_GT(host.memory_rate, 0);
  EXPECT_GT(host.compared, host.memory / 8);
  EXPECT_EQ(host.fault_count, 0u);
}

// A drill changes one bit; only that CPU is named, and only once.
TEST(BurnOfAHost, SeesOneBit) {
  BurnPlan plan = plan_of(4);
  plan.drills = {{BurnInjection::kWrongCpu, 0, 0.1}, {BurnInjection::kWrongHostMemory, 0, 0.5}};
  const BurnHost host = burned(plan);
  EXPECT_EQ(host.fault_count, 2u);
  ASSERT_THAT(host.faults, SizeIs(2));
  EXPECT_EQ(host.faults[0].of, "product");
  EXPECT_EQ(host.faults[1].of, "memory");
  for (const BurnHostFault& fault : host.faults) {
    EXPECT_EQ(fault.cpu, 0);
    EXPECT_EQ(fault.elements, 1u);
    EXPECT_EQ(fault.bits, "0000000000000400");
    EXPECT_TRUE(fault.injected);
  }
}

TEST(BurnOfAHost, ATurnMayHaveNoMemory) {
  BurnPlan plan = plan_of(1);
  plan.host_memory = 4096;
  const BurnHost host = burned(plan);
  EXPECT_EQ(host.memory, 0u);
  EXPECT_EQ(host.memory_rate, 0);
  EXPECT_GT(host.products, 0);
}

BurnHost sound_host(double products = 1e12, double memory = 1e11) {
  BurnHost host;
  host.began = host.ended = true;
  host.processor = "AMD EPYC 9654";
  host.memory = 1 << 30;
  host.compared = 1000;
  host.products = products;
  host.memory_rate = memory;
  return host;
}

BurnReport report_of(std::vector<BurnHost> hosts) {
  BurnReport report;
  report.planned = report.seconds = 3600;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    report.nodes.push_back({.node = "gpu" + std::to_string(i), .host = std::move(hosts[i])});
  judge_burn(report);
  return report;
}

TEST(VerdictOnHosts, SoundOnesBringNothing) {
  const BurnReport report = report_of({sound_host(), sound_host(1.02e12, 0.97e11), sound_host()});
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.host_families, SizeIs(2));
  EXPECT_EQ(burn_exit_code(report), 0);
}

BurnFinding only_finding(const BurnHost& host) {
  const BurnReport report = report_of({host});
  EXPECT_THAT(report.findings, SizeIs(1));
  return report.findings.empty() ? BurnFinding{} : report.findings.front();
}

TEST(VerdictOnHosts, NamesEachFault) {
  BurnHost host = sound_host();
  host.faults = {{.cpu = 12, .at = 90, .of = "integers", .elements = 1, .bits = "01"},
                 {.cpu = 76, .at = 95, .of = "product", .elements = 3, .bits = "02"}};
  host.fault_count = 900;
  BurnFinding finding = only_finding(host);
  EXPECT_EQ(finding.what, "wrong-cpu");
  EXPECT_EQ(finding.status, BurnStatus::kFailure);
  EXPECT_FALSE(finding.injected);
  EXPECT_THAT(finding.message, HasSubstr("CPU 12, 76 of gpu0 computed wrong"));
  EXPECT_THAT(finding.message, HasSubstr("900 comparisons of this node failed"));

  host = sound_host();
  host.faults = {{.cpu = 3, .at = 10, .of = "memory kept", .elements = 2, .first = 4, .bits = "80"}};
  host.fault_count = 1;
  finding = only_finding(host);
  EXPECT_EQ(finding.what, "wrong-host-memory");
  EXPECT_THAT(finding.message,
              HasSubstr("2 words that CPU 3 had kept since the turn before (offset 32, bits 80)"));

  host = sound_host();
  host.ecc_uncorrectable = 1;
  EXPECT_EQ(only_finding(host).what, "host-ecc-uncorrectable");
  host = sound_host();
  host.ecc_corrected = 4;
  EXPECT_EQ(only_finding(host).status, BurnStatus::kWarning);
  host = sound_host();
  host.throttled = 7;
  EXPECT_EQ(only_finding(host).what, "host-throttled");
  host = sound_host();
  host.ended = false;
  host.trouble = "killed";
  EXPECT_EQ(only_finding(host).what, "host-ended");
  host.began = false;
  EXPECT_EQ(only_finding(host).status, BurnStatus::kUnknown);
  host = sound_host();
  host.gave_back = true;
  EXPECT_EQ(only_finding(host).status, BurnStatus::kNote);
}

// Memory that was not tested is not sound.
TEST(VerdictOnHosts, MemoryWithoutATestIsUnknown) {
  BurnHost host = sound_host();
  host.memory = 0;
  host.memory_rate = 0;
  const BurnReport report = report_of({host});
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings.front().status, BurnStatus::kUnknown);
  EXPECT_EQ(burn_exit_code(report), 3);
}

TEST(VerdictOnHosts, ASlowNodeIsNamedAmongItsKindAlone) {
  std::vector<BurnHost> hosts(8, sound_host());
  for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i].memory_rate *= 1 + 0.001 * static_cast<double>(i);
  hosts[5].memory_rate *= 0.7;
  hosts.push_back(sound_host(1e11, 1e10));  // another processor
  hosts.back().processor = "Intel Xeon E5-2680";
  const BurnReport report = report_of(hosts);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings.front().node, "gpu5");
  EXPECT_EQ(report.findings.front().what, "host-slow");
  EXPECT_EQ(report.findings.front().status, BurnStatus::kFailure);
}

// With a spread of 2 % among sound nodes, at most one burn of a hundred names one.
TEST(VerdictOnHosts, SoundNodesAreRarelyNamed) {
  constexpr int kBurns = 600;
  std::mt19937_64 random(7);
  std::normal_distribution<double> spread(1, 0.02);
  int alarms = 0;
  for (int burn = 0; burn < kBurns; ++burn) {
    std::vector<BurnHost> hosts;
    for (int i = 0; i < 32; ++i) hosts.push_back(sound_host(1e12 * spread(random), 1e11 * spread(random)));
    alarms += report_of(std::move(hosts)).findings.empty() ? 0 : 1;
  }
  EXPECT_LE(alarms, kBurns / 100 + 5);  // three standard deviations above the mean of 6
}

}  // namespace
}  // namespace railbed
