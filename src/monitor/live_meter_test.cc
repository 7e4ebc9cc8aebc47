#include "monitor/live_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Numbers = std::map<std::string, std::uint64_t>;

class LiveMeterTest : public ::testing::Test {
 protected:
  LiveMeterTest() {
    LiveEnd end;
    end.node = "gpu01";
    end.interface = "ens6";
    end.device = "mlx5_0/1";
    LiveRail rail;
    rail.name = "rail0";
    rail.ends = {end};
    view_.rails.push_back(rail);
    LiveNode node;
    node.name = "gpu01";
    node.gpus.emplace_back().pci_address = "0000:1b:00.0";
    view_.nodes.push_back(node);
  }
  LiveCount counted(Numbers port, Numbers interface = {}, Numbers driver = {}) {
    Counts counts;
    PortCounts& port_counts = counts.ports.emplace_back();
    port_counts.device = "mlx5_0";
    port_counts.port.state = {"ACTIVE", "state"};
    port_counts.port.rate = {BitRate::gigabits(100), "rate"};
    port_counts.port.link_layer = {layer_, "link_layer"};
    for (const auto& [name, value] : port) port_counts.port.counters[name] = {value, "counters"};
    InterfaceCounts& net = counts.interfaces.emplace_back();
    net.link.name = "ens6";
    net.link.mtu = {1500, "mtu"};
    net.statistics = interface;
    net.driver = driver;
    return {std::make_shared<const Counts>(std::move(counts)), {}, now_};
  }
  const LiveEnd& measure(const LiveCount& count) {
    meter_.measure(view_, "gpu01", count);
    return view_.rails[0].ends[0];
  }
  void pass(double seconds) {
    now_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(seconds));
  }

  std::string layer_ = "Ethernet";
  std::chrono::steady_clock::time_point now_{std::chrono::hours(5)};
  LiveView view_;
  LiveMeter meter_;
};

TEST_F(LiveMeterTest, TwoCountsMakeARate) {
  EXPECT_FALSE(measure(counted({{"port_rcv_data", 100}})).receive);
  pass(2);
  const LiveEnd& end = measure(counted({{"port_rcv_data", 600}}));
  EXPECT_EQ(end.receive, 1000) << "words of four bytes, over two seconds";
  EXPECT_EQ(end.state, "ACTIVE");
  EXPECT_EQ(end.rate, BitRate::gigabits(100));
  EXPECT_EQ(end.mtu, 1500);
  EXPECT_THAT(end.receive_samples, ElementsAre(std::nullopt, 1000));
}

TEST_F(LiveMeterTest, TheSameCountAgainAddsNothing) {
  measure(counted({{"port_rcv_data", 0}}));
  pass(1);
  const LiveCount count = counted({{"port_rcv_data", 100}});
  measure(count);
  EXPECT_THAT(measure(count).receive_samples, SizeIs(2));
  EXPECT_EQ(measure(count).receive, 400);
}

TEST_F(LiveMeterTest, ACounterThatWasResetIsNotKnownThisTime) {
  measure(counted({{"port_rcv_data", 1000}, {"symbol_error", 50}}));
  pass(1);
  EXPECT_FALSE(measure(counted({{"port_rcv_data", 10}, {"symbol_error", 0}})).receive);
  EXPECT_THAT(measure(counted({{"symbol_error", 0}})).errors, IsEmpty());
  pass(1);
  EXPECT_EQ(measure(counted({{"port_rcv_data", 20}})).receive, 40);
}

TEST_F(LiveMeterTest, AMeanOverMinutesIsNoRate) {
  measure(counted({{"port_rcv_data", 0}}));
  pass(61);
  EXPECT_FALSE(measure(counted({{"port_rcv_data", 100}})).receive);
  pass(1);
  EXPECT_EQ(measure(counted({{"port_rcv_data", 200}})).receive, 400);
}

TEST_F(LiveMeterTest, ErrorsThatMoveAreNamedTheMostFirst) {
  measure(counted({{"symbol_error", 1}, {"link_downed", 7}}, {{"rx_errors", 0}}));
  pass(2);
  const LiveEnd& end = measure(counted({{"symbol_error", 5}, {"link_downed", 7}}, {{"rx_errors", 10}}));
  ASSERT_THAT(end.errors, SizeIs(2));
  EXPECT_EQ(end.errors[0].counter, "rx_errors");
  EXPECT_EQ(end.errors[0].a_second, 5);
  EXPECT_EQ(end.errors[1].counter, "symbol_error");
  EXPECT_THAT(end.error_samples, ElementsAre(std::nullopt, 7));
}

TEST_F(LiveMeterTest, BytesAreThoseThatThePortCarries) {
  const auto rate = [&](Numbers port, Numbers interface, Numbers driver) {
    meter_ = {};
    measure(counted({{"port_rcv_data", 0}}, {{"rx_bytes", 0}}, {{"rx_bytes_phy", 0}}));
    pass(1);
    return measure(counted(std::move(port), std::move(interface), std::move(driver))).receive;
  };
  EXPECT_EQ(rate({{"port_rcv_data", 25}}, {{"rx_bytes", 50}}, {{"rx_bytes_phy", 999}}), 999);
  EXPECT_EQ(rate({{"port_rcv_data", 25}}, {{"rx_bytes", 50}}, {}), 100) << "the larger";
  EXPECT_EQ(rate({}, {{"rx_bytes", 50}}, {}), 50);
  layer_ = "InfiniBand";
  EXPECT_EQ(rate({{"port_rcv_data", 5}}, {{"rx_bytes", 50}}, {}), 20) << "of which IPoIB is a part";
}

TEST_F(LiveMeterTest, SamplesAreBounded) {
  for (std::size_t i = 0; i < 3 * kLiveSamples; ++i) {
    measure(counted({{"port_rcv_data", i}}));
    pass(1);
  }
  EXPECT_THAT(view_.rails[0].ends[0].receive_samples, SizeIs(kLiveSamples));
  EXPECT_THAT(view_.rails[0].ends[0].receive_samples, Each(std::optional<double>(4)));
}

TEST_F(LiveMeterTest, WhatIsGoneIsForgotten) {
  measure(counted({{"port_rcv_data", 0}}));
  meter_.forget_unused();
  pass(1);
  measure(counted({{"port_rcv_data", 1}}));
  meter_.forget_unused();
  EXPECT_EQ(view_.rails[0].ends[0].receive, 4) << "in use";
  meter_.forget_unused();
  pass(1);
  EXPECT_FALSE(measure(counted({{"port_rcv_data", 2}})).receive) << "and seen for the first time again";
}

TEST_F(LiveMeterTest, GpusShowWhatNvmlSays) {
  NvmlGpu gpu;
  gpu.utilisation = {87, "nvmlDeviceGetUtilizationRates"};
  gpu.temperature = {61, "nvmlDeviceGetTemperature"};
  LiveCount count;
  count.gpus = std::make_shared<const GpuReadings>(
      GpuReadings{{"0000:1b:00.0", Reading<NvmlGpu>(gpu, "nvml 0000:1b:00.0")}});
  meter_.measure(view_, "gpu01", count);
  meter_.measure(view_, "gpu01", count);
  const LiveGpu& shown = view_.nodes[0].gpus[0];
  EXPECT_EQ(shown.utilisation, 87);
  EXPECT_EQ(shown.temperature, 61);
  EXPECT_FALSE(shown.power);
  EXPECT_THAT(shown.utilisation_samples, ElementsAre(87)) << "asked once";
}

}  // namespace
}  // namespace railbed
