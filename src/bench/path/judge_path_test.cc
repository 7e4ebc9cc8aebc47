#include "bench/path/judge_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace railbed {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Knocked kYes{Reach::kAnswered, ""};
const Knocked kNo{Reach::kSilent, ""};

constexpr const char* kMacA = "0a:00:00:00:00:01";
constexpr const char* kMacB = "0a:00:00:00:00:02";

PathEndSeen sound_end(std::string node, const char* address, const char* mac, const char* other_mac,
                      bool rdma) {
  PathEndSeen end{std::move(node),        "rail", IpAddress::parse(address), PathOpened{}, PathLooked{},
                  PathHeard{{128, 9000}}, {}};
  end.opened->session = "s";
  end.opened->tcp_port = 40000;
  PathInterface& own = end.opened->interface;
  own = {true, true, true, true, "", 24, 9000, {{"rail", mac}, {"eth0", std::string("0e") + (mac + 2)}}};
  if (rdma) end.opened->rdma = PathRdma{"rxe0", "rxe", "Ethernet", "ACTIVE", "uverbs0", "", "", true};
  PathLooked& looked = *end.looked;
  looked.route = {"", "rail", ""};
  looked.neighbour = {"", "reachable", other_mac};
  looked.tcp = looked.ssh = kYes;
  looked.roce = rdma ? kNo : Knocked{};
  looked.small = {128, kYes, kYes};
  looked.large = {{1500, kYes, kYes}, {9000, kYes, kYes}};
  return end;
}

PathSeen sound_path(bool rdma = false) {
  return {sound_end("a", "10.0.0.1", kMacA, kMacB, rdma), sound_end("b", "10.0.0.2", kMacB, kMacA, rdma),
          rdma};
}

// No packet from `from` reaches `to`, and so there is no reply.
void cut(PathEndSeen& from, PathEndSeen& to) {
  for (Knocked* knocked :
       {&from.looked->tcp, &from.looked->ssh, &from.looked->small.ping, &from.looked->small.udp})
    *knocked = kNo;
  for (SizedKnock& knock : from.looked->large) knock.ping = knock.udp = kNo;
  to.heard->sizes.clear();
}
void cut_both(PathSeen& path) {
  cut(path.a, path.b);
  cut(path.b, path.a);
}

struct Scene {
  const char* name;
  bool rdma;
  std::function<void(PathSeen&)> breaking;
  PathLayer layer;
  const char* node;
  const char* cause;
};

const std::vector<Scene>& scenes() {
  static const std::vector<Scene> kScenes{
      {"an interface that is not there", false, [](PathSeen& p) { p.b.opened->interface.there = false; },
       PathLayer::kInterface, "b", "there is no interface rail"},
      {"a link that is down, whose other end only misses its carrier", false,
       [](PathSeen& p) {
         p.b.opened->interface.up = false;
         p.a.opened->interface.carrier = false;
         cut_both(p);
       },
       PathLayer::kLink, "b", "rail is down"},
      {"a cable pulled at a's end", false, [](PathSeen& p) { p.a.opened->interface.carrier = false; },
       PathLayer::kLink, "a", "no carrier"},
      {"a cable pulled between two", false,
       [](PathSeen& p) { p.a.opened->interface.carrier = p.b.opened->interface.carrier = false; },
       PathLayer::kLink, "", "neither rail of a nor rail of b has a carrier"},
      {"an address that is gone", false,
       [](PathSeen& p) {
         p.b.opened->interface.has_address = false;
         p.b.opened->session = "";
         p.a.looked.reset(), p.b.looked.reset();
         p.a.heard.reset(), p.b.heard.reset();
       },
       PathLayer::kAddress, "b", "rail does not have 10.0.0.2"},
      {"a firewall that lets nothing out", false,
       [](PathSeen& p) {
         cut(p.a, p.b);
         p.a.looked->small.udp = {Reach::kForbidden, "Operation not permitted"};
       },
       PathLayer::kFirewall, "a", "its own firewall lets nothing out"},
      {"no route", false,
       [](PathSeen& p) {
         cut(p.a, p.b);
         p.a.looked->route = {"Network is unreachable", "", ""};
       },
       PathLayer::kRoute, "a", "no route from 10.0.0.1 to 10.0.0.2: Network is unreachable"},
      {"a route by another interface", false,
       [](PathSeen& p) {
         cut_both(p);
         p.b.looked->route.interface = "eth0";
       },
       PathLayer::kRoute, "b", "leaves by eth0, not by rail"},
      {"a wrong static neighbour", false,
       [](PathSeen& p) {
         cut_both(p);
         p.a.heard->sizes = {128};  // b's packets arrive; a's replies go elsewhere
         p.a.looked->neighbour = {"", "permanent", "02:00:00:00:00:99"};
       },
       PathLayer::kNeighbour, "a", "its static neighbour entry for 10.0.0.2 is wrong: 02:00:00:00:00:99"},
      {"another machine with b's address", false,
       [](PathSeen& p) {
         cut(p.a, p.b);
         p.a.looked->tcp = {Reach::kRefused, ""};
         p.a.looked->small.ping = kYes;  // the other machine replies
         p.a.looked->neighbour.mac = "02:00:00:00:00:99";
       },
       PathLayer::kNeighbour, "", "another machine has that address"},
      {"another interface of b's answers ARP", false,
       [](PathSeen& p) {
         cut(p.a, p.b);
         p.a.looked->neighbour.mac = "0e:00:00:00:00:02";
       },
       PathLayer::kNeighbour, "b", "eth0 answers a for 10.0.0.2 in the place of rail"},
      {"nobody answers ARP", false,
       [](PathSeen& p) {
         cut_both(p);
         p.a.looked->neighbour = p.b.looked->neighbour = {"", "failed", ""};
       },
       PathLayer::kNeighbour, "", "nobody answers a for 10.0.0.2 on rail, though both links are up"},
      {"a firewall on b that lets ssh in and nothing else", false,
       [](PathSeen& p) {
         cut(p.a, p.b);
         cut(p.b, p.a);
         p.a.heard->sizes = {128};  // b may send, but does not receive the replies
         p.a.looked->ssh = kYes;
       },
       PathLayer::kFirewall, "b",
       "lets ssh in and nothing else: ping, TCP and UDP of a do not get in by rail; ssh does"},
      {"one on a, that knows its connections", false, [](PathSeen& p) { cut(p.b, p.a); },
       PathLayer::kFirewall, "a", "ssh comes another way"},
      {"firewalls on both", false, cut_both, PathLayer::kFirewall, "", "neither way: firewalls of a and b"},
      {"a firewall that refuses everything but ssh from elsewhere", false,
       [](PathSeen& p) {
         cut(p.a, p.b);
         p.a.looked->tcp = p.a.looked->ssh = {Reach::kRefused, ""};
       },
       PathLayer::kFirewall, "b", "ssh comes another way"},
      {"a hole in the MTU between", false,
       [](PathSeen& p) {
         p.a.looked->large.back() = {9000, kNo, kNo};
       },
       PathLayer::kMtu, "", "packets of 9000 bytes from a do not arrive, those of 1500 do"},
      {"a lower MTU on b", false,
       [](PathSeen& p) {
         p.b.opened->interface.mtu = 1500;
         p.a.looked->large.back() = {9000, kNo, kNo};
       },
       PathLayer::kMtu, "b", "rail has MTU 1500, rail of a has 9000"},
      {"a firewall that drops TCP alone", false, [](PathSeen& p) { p.a.looked->tcp = kNo; }, PathLayer::kTcp,
       "b", "drops TCP of a"},
      {"TCP that nobody gets", false, [](PathSeen& p) { p.a.looked->tcp = p.b.looked->tcp = kNo; },
       PathLayer::kTcp, "", "TCP between a and b is dropped both ways"},
      {"a firewall of a's that refuses TCP, and drops the answers to its own", false,
       [](PathSeen& p) {
         p.a.looked->tcp = kNo;
         p.b.looked->tcp = {Reach::kRefused, ""};
       },
       PathLayer::kTcp, "a", "refuses TCP of b"},
      {"a firewall that refuses it", false,
       [](PathSeen& p) {
         p.b.looked->tcp = {Reach::kRefused, ""};
       },
       PathLayer::kTcp, "a", "refuses TCP of b"},
      {"software RDMA behind a firewall that drops UDP", true,
       [](PathSeen& p) {
         p.a.looked->small.udp = kNo;
         p.b.heard->sizes.clear();
       },
       PathLayer::kUdp, "b", "drops UDP of a on rail"},
      {"UDP 4791 refused", true,
       [](PathSeen& p) {
         p.b.looked->roce = {Reach::kRefused, ""};
       },
       PathLayer::kUdp, "a", "UDP port 4791"},
      {"UDP 4791 dropped without a word before b", true,
       [](PathSeen& p) {
         p.a.packets = {"a", 9, 0};
         p.b.packets = {"b", 3, 3};
       },
       PathLayer::kUdp, "b", "no RoCE packet of a (UDP port 4791) reaches rxe0, and its other packets do"},
      {"a switch that drops RoCE", true,
       [](PathSeen& p) {
         p.a.opened->rdma->driver = p.b.opened->rdma->driver = "mlx5_core";
         p.b.packets = {"b", 9, 0};
       },
       PathLayer::kUdp, "", "no RoCE packet of b (UDP port 4791) reaches rxe0, and its other packets do"},
      {"no RDMA device", true, [](PathSeen& p) { p.b.opened->rdma = PathRdma{}; }, PathLayer::kRdmaDevice,
       "b", "no RDMA device belongs to rail"},
      {"no device node", true, [](PathSeen& p) { p.a.opened->rdma->node = ""; }, PathLayer::kRdmaDevice, "a",
       "rxe0 has no device node"},
      {"a node for root alone", true, [](PathSeen& p) { p.b.opened->rdma->node_error = "Permission denied"; },
       PathLayer::kRdmaDevice, "b",
       "/dev/infiniband/uverbs0, by which programs reach rxe0, cannot be opened: Permission"},
      {"no provider", true,
       [](PathSeen& p) { p.b.opened->rdma->verbs_error = "libibverbs does not list rxe0"; },
       PathLayer::kRdmaDevice, "b", "libibverbs cannot use rxe0"},
      {"a port that is down", true, [](PathSeen& p) { p.a.opened->rdma->state = "DOWN"; },
       PathLayer::kRdmaDevice, "a", "the port of rxe0 is DOWN"},
      {"no GID", true, [](PathSeen& p) { p.b.opened->rdma->has_gid = false; }, PathLayer::kGid, "b",
       "rxe0 has no GID of 10.0.0.2"},
      {"no connection manager", true,
       [](PathSeen& p) {
         p.cm = true;
         p.a.opened->cm = PathCm{"", true, "RoCE v2"};
         p.b.opened->cm = PathCm{"No such file or directory", false, "RoCE v2"};
       },
       PathLayer::kRdmaCm, "b", "rdma_ucm is not loaded"},
      {"a connection manager for root alone", true,
       [](PathSeen& p) { p.a.opened->cm = PathCm{"Permission denied", true, "RoCE v2"}; },
       PathLayer::kRdmaCm, "a", "/dev/infiniband/rdma_cm, by which programs use RDMA-CM, cannot be opened"},
      {"RoCE v1 behind a router", true,
       [](PathSeen& p) {
         p.a.opened->cm = PathCm{"", true, "IB/RoCE v1"};
         p.a.looked->route.gateway = "10.0.0.254";
       },
       PathLayer::kRdmaCm, "a", "connects by RoCE v1"},
      {"an address of IPoIB that nobody answers for", true,
       [](PathSeen& p) {
         p.cm = true;
         p.a.opened->rdma->link_layer = p.b.opened->rdma->link_layer = "InfiniBand";
         cut_both(p);
         p.a.looked->neighbour = {"", "failed", ""};
         p.b.looked->neighbour = {"", "reachable", kMacA};
       },
       PathLayer::kNeighbour, "", ""},
  };
  return kScenes;
}

TEST(Diagnose, FindsTheRootOfEveryLayer) {
  for (const Scene& scene : scenes()) {
    SCOPED_TRACE(scene.name);
    PathSeen path = sound_path(scene.rdma);
    scene.breaking(path);
    const auto found = judge_path(path);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->root.layer, scene.layer);
    EXPECT_EQ(found->root.node, scene.node);
    EXPECT_THAT(found->root.cause, HasSubstr(scene.cause));
    EXPECT_NE(found->remedy, "");
    EXPECT_FALSE(found->root.seen.empty());
  }
}

std::string other_name(const std::string& node) { return node == "a" ? "b" : node == "b" ? "a" : node; }

// Within a subnet RoCE v1 works; on InfiniBand plain verbs need no IP.
TEST(Diagnose, TakesNothingForACauseThatMayBeFine) {
  PathSeen path = sound_path(true);
  path.cm = true;
  path.a.opened->cm = PathCm{"", true, "IB/RoCE v1"};
  EXPECT_EQ(judge_path(path)->root.layer, PathLayer::kNone);
  path.a.opened->rdma->link_layer = path.b.opened->rdma->link_layer = "InfiniBand";
  cut_both(path);
  path.a.looked->neighbour = {"", "failed", ""};
  EXPECT_EQ(judge_path(path)->root.layer, PathLayer::kNeighbour);
  path.cm = false;
  EXPECT_EQ(judge_path(path)->root.layer, PathLayer::kNone);
}

TEST(Diagnose, FindsItOnTheOtherSideAsWell) {
  for (const Scene& scene : scenes()) {
    SCOPED_TRACE(scene.name);
    PathSeen path = sound_path(scene.rdma);
    scene.breaking(path);
    std::swap(path.a, path.b);
    path.a.node = "a";
    path.b.node = "b";
    const auto found = judge_path(path);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->root.layer, scene.layer);
    EXPECT_EQ(found->root.node, other_name(scene.node));
  }
}

TEST(Diagnose, SaysWhatWasSeenWhereNothingIsWrong) {
  for (const bool rdma : {false, true}) {
    const auto found = judge_path(sound_path(rdma));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->root.layer, PathLayer::kNone);
    EXPECT_EQ(found->root.cause, "");
    EXPECT_EQ(found->remedy, "");
    EXPECT_THAT(found->root.seen, Contains("a: rail up, carrier, MTU 9000, has 10.0.0.1"));
    EXPECT_THAT(found->root.seen,
                Contains(StartsWith("a → b: route by rail; neighbour 0a:00:00:00:00:02 (reachable); "
                                    "ping answered; UDP answered; TCP answered; ssh answered")));
  }
}

TEST(Diagnose, BlamesNoFirewallForAnAdaptersRdma) {
  PathSeen path = sound_path(true);
  for (PathEndSeen* end : {&path.a, &path.b}) end->opened->rdma->driver = "mlx5_core";
  cut_both(path);
  EXPECT_EQ(judge_path(path)->root.layer, PathLayer::kNone);
}

TEST(Diagnose, BelievesNoZeroOfAnotherDriver) {
  PathSeen path = sound_path(true);
  path.a.packets = {"a", 9, 0};
  path.b.opened->rdma->driver = "mlx4_core";
  EXPECT_EQ(judge_path(path)->root.layer, PathLayer::kNone);
  path.b.opened->rdma->driver = "rxe";
  path.a.packets->received = 1;
  EXPECT_EQ(judge_path(path)->root.layer, PathLayer::kNone);
  EXPECT_THAT(judge_path(path)->root.seen,
              Contains(HasSubstr("of 9 RDMA packets sent in the run, 1 received")));
}

TEST(Diagnose, BlamesNothingThatOnlyPacketsMeetBeforeOneWasSent) {
  PathSeen path = sound_path(true);
  path.set_up = true;
  path.a.looked->large.back() = {9000, kNo, kNo};
  path.a.looked->small.udp = kNo;
  EXPECT_EQ(judge_path(path)->root.layer, PathLayer::kNone);
  path.b.opened->rdma->node_error = "Permission denied";
  EXPECT_EQ(judge_path(path)->root.layer, PathLayer::kRdmaDevice);
}

TEST(Diagnose, AsksNoIpOfInfiniband) {
  PathSeen path = sound_path(true);
  for (PathEndSeen* end : {&path.a, &path.b}) {
    end->opened->rdma->link_layer = "InfiniBand";
    end->opened->rdma->has_gid = false;
    end->looked->route.error = "Network is unreachable";
  }
  cut_both(path);
  EXPECT_EQ(judge_path(path)->root.layer, PathLayer::kNone);
}

TEST(Diagnose, LetsWhatArrivesSpeakForNeighbourAndRoute) {
  PathSeen path = sound_path();
  path.a.looked->route.interface = "eth0";  // by another route, but it arrives
  path.a.looked->neighbour.mac = "02:00:00:00:00:99";
  EXPECT_EQ(judge_path(path)->root.layer, PathLayer::kNone);
}

TEST(Diagnose, ComparesIpoibByItsGidAlone) {
  PathSeen path = sound_path();
  cut_both(path);
  path.b.opened->interface.macs["rail"] = "80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:1b:c0:01";
  path.a.looked->neighbour = {"", "reachable", "80:00:02:0a:fe:80:00:00:00:00:00:00:00:02:c9:03:00:1b:c0:01"};
  EXPECT_EQ(judge_path(path)->root.layer, PathLayer::kFirewall);
}

TEST(Diagnose, NeedsAnAgentThatAnswers) {
  PathSeen path = sound_path();
  path.b = {"b", "rail", path.b.address, {}, {}, {}, {}};
  path.a.looked = std::nullopt;
  path.a.opened->interface.carrier = false;
  EXPECT_EQ(judge_path(path)->root.layer, PathLayer::kLink);
  path.a.opened = std::nullopt;
  EXPECT_FALSE(judge_path(path));
}

}  // namespace
}  // namespace railbed
