#include "bench/pairs/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "bench/core/local_peer.h"
#include "bench/engines/handlers.h"
#include "facts/facts.h"
#include "facts/network/rdma.h"
#include "host/open.h"

namespace railbed {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

const IpAddress kLoopback = *IpAddress::parse("127.0.0.1");

BenchPlan short_plan() {
  BenchPlan plan;
  plan.engines = {Engine::kTcp};
  plan.seconds = 0.3;
  plan.warmup = 0.05;
  plan.sizes = {4096, 65536};
  plan.streams = 2;
  return plan;
}

PairEnd end_of(Peer& peer) { return {&peer, "lo", kLoopback, nullptr}; }

TEST(MeasurePair, MeasuresEverySizeAndTheLatency) {
  LocalPeer a("a", bench_handlers(open_this_machine()));
  LocalPeer b("b", bench_handlers(open_this_machine()));
  std::vector<std::string> said;
  const auto measurements = measure_pair(end_of(a), end_of(b), "rail0", short_plan(),
                                         [&](std::string_view text) { said.emplace_back(text); }, {});
  ASSERT_EQ(measurements.size(), 3u);
  EXPECT_EQ(said, (std::vector<std::string>{"tcp bandwidth a → b, 4 KiB", "tcp bandwidth a → b, 64 KiB",
                                            "tcp latency a → b, 8 B"}));
  for (const Measurement& measurement : measurements) {
    EXPECT_FALSE(measurement.failure) << measurement.failure->cause;
    EXPECT_EQ(measurement.rail, "rail0");
    EXPECT_EQ(measurement.from.node, "a");
    EXPECT_EQ(measurement.to.address, "127.0.0.1");
    EXPECT_GT(measurement.summary.median, 0);
    EXPECT_LE(measurement.summary.low, measurement.summary.median);
    EXPECT_GE(measurement.summary.high, measurement.summary.median);
    EXPECT_GT(measurement.checked_bytes, 0u);
    EXPECT_EQ(measurement.wrong_bytes, 0u);
    EXPECT_GT(measurement.seconds, 0);
    EXPECT_GT(measurement.mtu, 0);
  }
  EXPECT_FALSE(measurements[0].intervals.empty());
  EXPECT_GT(measurements[0].cpu_seconds_per_gigabyte, 0);
  EXPECT_EQ(measurements[2].metric, Metric::kLatency);
  EXPECT_GT(measurements[2].summary.p99, 0);
  EXPECT_EQ(measurements[2].floor.note, "without the facts of both ends");
  EXPECT_EQ(measurements[0].floor.note, "");
}

TEST(MeasurePair, BothWaysTurnsTheEndsAround) {
  LocalPeer a("a", bench_handlers(open_this_machine()));
  LocalPeer b("b", bench_handlers(open_this_machine()));
  BenchPlan plan = short_plan();
  plan.latency = false;
  plan.sizes = {65536};
  plan.both_ways = true;
  const auto measurements = measure_pair(end_of(a), end_of(b), "rail0", plan, {}, {});
  ASSERT_EQ(measurements.size(), 2u);
  EXPECT_EQ(measurements[1].from.node, "b");
  EXPECT_FALSE(measurements[1].failure);
}

TEST(MeasurePair, MarksThatNeitherEndHasAnRdmaDevice) {
  LocalPeer a("a", bench_handlers(open_this_machine()));
  LocalPeer b("b", bench_handlers(open_this_machine()));
  Facts none;
  none.rdma.devices = {std::vector<RdmaDevice>{}, "/sys/class/infiniband"};
  Facts unknown;
  unknown.rdma.devices = {Miss{Missing::kDenied, "no permission"}, "/sys/class/infiniband"};
  PairEnd without_address = end_of(b);
  without_address.address.reset();
  BenchPlan plan = short_plan();
  plan.engines = {Engine::kRdmaCm};
  plan.latency_sizes = {64};
  for (const bool known : {true, false}) {
    PairEnd first = end_of(a);
    first.facts = &none;
    without_address.facts = known ? &none : &unknown;
    const auto measurements = measure_pair(first, without_address, "rail0", plan, {}, {});
    ASSERT_EQ(measurements.size(), 1u);
    ASSERT_TRUE(measurements[0].failure);
    EXPECT_EQ(measurements[0].failure->kind, known ? FailureKind::kNoRdmaDevice : FailureKind::kOther);
  }
}

TEST(MeasurePair, PortWithoutAddressIsAFailureWithARemedy) {
  LocalPeer a("a", bench_handlers(open_this_machine()));
  LocalPeer b("b", bench_handlers(open_this_machine()));
  PairEnd bare = end_of(b);
  bare.address.reset();
  bare.interface = "ens6";
  const auto measurements = measure_pair(end_of(a), bare, "rail0", short_plan(), {}, {});
  ASSERT_EQ(measurements.size(), 2u);  // the sizes after the first are left out
  ASSERT_TRUE(measurements[0].failure);
  EXPECT_THAT(measurements[0].failure->cause, HasSubstr("ens6 of b has no IP address"));
  EXPECT_FALSE(measurements[0].failure->remedy.empty());
}

// An agent that ends when it gets the request to run.
class DyingPeer : public LocalPeer {
 public:
  DyingPeer(std::string node, std::string last_method)
      : LocalPeer(std::move(node), bench_handlers(open_this_machine())), last_(std::move(last_method)) {}
  Result<std::string> call(std::string_view method, std::string params, milliseconds deadline,
                           std::stop_token stop) override {
    if (method == last_) return fail(ErrorKind::kUnavailable, "the agent ended: killed by signal 9");
    return LocalPeer::call(method, std::move(params), deadline, std::move(stop));
  }

 private:
  std::string last_;
};

TEST(MeasurePair, AgentThatDiesIsTheCauseWhicheverSideItIsOn) {
  for (const auto& [method, node] : {std::pair{"bench.tcp.receive", "b"}, std::pair{"bench.tcp.send", "a"},
                                     std::pair{"bench.tcp.listen", "b"}}) {
    DyingPeer a("a", method);
    DyingPeer b("b", method);
    BenchPlan plan = short_plan();
    plan.latency = false;
    const auto measurements = measure_pair(end_of(a), end_of(b), "rail0", plan, {}, {});
    ASSERT_EQ(measurements.size(), 1u);
    ASSERT_TRUE(measurements[0].failure) << method;
    EXPECT_THAT(measurements[0].failure->cause, HasSubstr(node)) << method;
    EXPECT_THAT(measurements[0].failure->cause, HasSubstr("killed by signal 9")) << method;
  }
}

TEST(MeasurePair, StopEndsTheRun) {
  LocalPeer a("a", bench_handlers(open_this_machine()));
  LocalPeer b("b", bench_handlers(open_this_machine()));
  BenchPlan plan = short_plan();
  plan.seconds = 600;
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(milliseconds(300));
    stop.request_stop();
  });
  const auto measurements = measure_pair(end_of(a), end_of(b), "rail0", plan, {}, stop.get_token());
  ASSERT_EQ(measurements.size(), 1u);
  ASSERT_TRUE(measurements[0].failure);
  EXPECT_THAT(measurements[0].failure->cause, HasSubstr("stopped on request"));
}

}  // namespace
}  // namespace railbed
