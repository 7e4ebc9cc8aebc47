#include "facts/network/counts_answer.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "facts/facts.h"
#include "host/open.h"

namespace railbed {
namespace {

TEST(CountsAnswer, IsWhatTheNodeCountsThroughItsText) {
  const auto host = open_root(RAILBED_SOURCE_DIR "/tests/machines/h100-cx7/gpu01.tree");
  ASSERT_TRUE(host);
  const Facts facts = collect_facts(**host);
  const Counts direct = collect_counts(**host, facts.rdma);
  const auto request =
      json::read<CountsRequest>(json::dump(json::encode(counts_request(facts.rdma, {"rx_bytes_phy"}))));
  ASSERT_TRUE(request) << request.error().text;
  KnownUsers users;
  const auto answer =
      json::read<CountsAnswer>(json::dump(json::encode(answer_counts(**host, *request, users))));
  ASSERT_TRUE(answer) << answer.error().text;
  const Counts counts = counts_of(*answer);
  EXPECT_EQ(counts.devices, direct.devices);
  ASSERT_EQ(counts.ports.size(), direct.ports.size());
  ASSERT_FALSE(counts.ports.empty());
  for (std::size_t i = 0; i < counts.ports.size(); ++i) {
    EXPECT_EQ(counts.ports[i].device, direct.ports[i].device);
    EXPECT_EQ(*counts.ports[i].port.state, *direct.ports[i].port.state);
    EXPECT_EQ(*counts.ports[i].port.rate, *direct.ports[i].port.rate);
    EXPECT_EQ(*counts.ports[i].port.counters.at("port_rcv_data"),
              *direct.ports[i].port.counters.at("port_rcv_data"));
  }
  ASSERT_EQ(counts.interfaces.size(), direct.interfaces.size());
  EXPECT_EQ(*counts.interfaces[0].link.mtu, *direct.interfaces[0].link.mtu);
  EXPECT_EQ(counts.interfaces[0].statistics, direct.interfaces[0].statistics);
}

}  // namespace
}  // namespace railbed
