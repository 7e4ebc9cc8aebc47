// Pairs with fake agents: these tests check how the controller handles their replies.
#include "bench/verbs/measure_rdma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/core/local_peer.h"
#include "bench/core/typed.h"
#include "bench/pairs/measure.h"
#include "bench/verbs/rdma.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;

// A fake agent on InfiniBand that moves bytes in no time, once it has prepared.
struct PlayedAgent {
  int opened = 0;
  int prepared = 0;
  int refuses = 0;  // number of preparations that fail first

  Handlers handlers() {
    Handlers all;
    const auto answer = [&](std::string_view method, auto make) {
      all.emplace(method, [make](std::string_view, std::stop_token) -> Result<std::string> {
        return json::dump(json::encode(make()));
      });
    };
    answer(kRdmaOpen, [this] {
      RdmaOpened rdma_opened;
      rdma_opened.session = "session" + std::to_string(++opened);
      rdma_opened.device = "mlx5_0";
      rdma_opened.link_layer = "InfiniBand";
      rdma_opened.active_mtu = 4096;
      rdma_opened.end.lid = 1;
      return rdma_opened;
    });
    answer(kRdmaPrepare, [this] {
      return ++prepared > refuses ? RdmaDone{} : RdmaDone{Failure{"connect", "no such session", ""}};
    });
    for (const std::string_view method : {kRdmaConnect, kRdmaWatch, kRdmaClose})
      answer(method, [] { return RdmaDone{}; });
    answer(kRdmaTransfer, [] {
      RdmaTransferred moved;
      moved.intervals = {1e9, 1e9, 1e9};
      moved.bytes = 1 << 20;
      moved.seconds = 0.3;
      return moved;
    });
    answer(kRdmaCounters, [] { return RdmaCounters{}; });
    answer(kRdmaCheck, [] { return RdmaChecked{4096, 0}; });
    return all;
  }
};

std::vector<Measurement> measure(PlayedAgent& of_a, PlayedAgent& of_b) {
  LocalPeer a("a", of_a.handlers());
  LocalPeer b("b", of_b.handlers());
  BenchPlan plan;
  plan.engines = {Engine::kRdma};
  plan.latency = false;
  plan.sizes = {4096, 65536};
  return measure_pair({&a, "ib0", std::nullopt, nullptr}, {&b, "ib0", std::nullopt, nullptr}, "rail0", plan,
                      {}, {});
}

TEST(MeasureRdma, APairThatCouldNotBePreparedIsOpenedAnewOnce) {
  PlayedAgent a;
  PlayedAgent b;
  b.refuses = 1;
  const auto measured = measure(a, b);
  ASSERT_EQ(measured.size(), 2u);
  for (const Measurement& measurement : measured) {
    EXPECT_FALSE(measurement.failure) << measurement.failure->cause;
    EXPECT_EQ(measurement.summary.median, 1e9);
  }
  EXPECT_EQ(a.opened, 2);
  EXPECT_EQ(b.opened, 2);
}

TEST(MeasureRdma, ASecondRefusalIsTheFailure) {
  PlayedAgent a;
  PlayedAgent b;
  b.refuses = 100;
  const auto measured = measure(a, b);
  ASSERT_EQ(measured.size(), 1u);
  ASSERT_TRUE(measured[0].failure);
  EXPECT_THAT(measured[0].failure->cause, HasSubstr("b: no such session"));
  EXPECT_EQ(b.opened, 2);
}

}  // namespace
}  // namespace railbed
