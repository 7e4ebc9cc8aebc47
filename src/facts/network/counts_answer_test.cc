#include "facts/network/counts_answer.h"

#include <gtest/gtest.h>

#include <algorithm>

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

// Returns the node's answer about these interfaces through its text.
LinkReadings links_through_text(Host& host, std::vector<std::string> interfaces) {
  CountsRequest asked;
  asked.links = std::move(interfaces);
  const auto request = json::read<CountsRequest>(json::dump(json::encode(asked)));
  if (!request) return {};
  KnownUsers users;
  auto answer = json::read<CountsAnswer>(json::dump(json::encode(answer_counts(host, *request, users))));
  return answer ? std::move(answer->links) : LinkReadings{};
}

TEST(CountsAnswer, HasModulesOnRequest) {
  const auto host = open_root(RAILBED_SOURCE_DIR "/tests/machines/h100-cx7/gpu01.tree");
  ASSERT_TRUE(host);
  const Facts facts = collect_facts(**host);
  std::vector<std::string> names = rdma_interfaces(facts.rdma, facts.net);
  ASSERT_EQ(names.size(), 11U);
  names.insert(names.end(), {"../../etc/passwd", "-m", "none0"});
  const LinkReadings links = links_through_text(**host, names);
  ASSERT_TRUE(links.contains("ens11np0"));
  ASSERT_TRUE(links.at("ens11np0").optics);
  EXPECT_EQ(links.at("ens11np0").optics->celsius, 48.22);
  EXPECT_FALSE(links.at("ens11np0").fec) << "not captured is not known";
  EXPECT_FALSE(links.contains("../../etc/passwd"));
  EXPECT_FALSE(links.contains("none0") && links.at("none0").optics);
  EXPECT_TRUE(links_through_text(**host, {}).empty());
  EXPECT_LE(links_through_text(**host, std::vector<std::string>(5000, "ens11np0")).size(), 1U);
}

TEST(CountsAnswer, HasErrorCorrectionAndChangesOfTheCarrier) {
  const auto host = open_root(RAILBED_SOURCE_DIR "/tests/machines/v100-fec-40g/gpuserver1.tree");
  ASSERT_TRUE(host);
  const Facts facts = collect_facts(**host);
  const LinkReadings links = links_through_text(**host, rdma_interfaces(facts.rdma, facts.net));
  ASSERT_TRUE(links.contains("ens6") && links.at("ens6").fec);
  EXPECT_EQ(links.at("ens6").fec->configured, std::vector<FecMode>{FecMode::kRs});
  EXPECT_FALSE(links.at("ens6").optics);
  KnownUsers users;
  const CountsAnswer answer = answer_counts(**host, counts_request(facts.rdma, {}), users);
  const Counts counts = counts_of(answer);
  const auto found =
      std::ranges::find(counts.interfaces, "ens6", [](const auto& one) { return one.link.name; });
  ASSERT_NE(found, counts.interfaces.end());
  EXPECT_TRUE(found->link.carrier_changes.ok());
  EXPECT_TRUE(answer.links.empty()) << "nobody asked";
}

TEST(Fec, IsAFactOfItsInterface) {
  const auto host = open_root(RAILBED_SOURCE_DIR "/tests/machines/h100-fec-auto/gpu02.tree");
  ASSERT_TRUE(host);
  const auto fec = read_fec(**host, "ens12np0");
  ASSERT_TRUE(fec.ok()) << fec.miss().why;
  EXPECT_EQ(fec->active, FecMode::kOff);
  EXPECT_FALSE(fec->uncorrectable_blocks);
  EXPECT_FALSE(read_fec(**host, "eno1").ok());
  const Net net = collect_net(**host);
  ASSERT_NE(find_interface(net, "ens11np0"), nullptr);
  EXPECT_EQ(find_interface(net, "ens11np0")->fec->configured, std::vector<FecMode>{FecMode::kAuto});
}

}  // namespace
}  // namespace railbed
