#include "model/cables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Names = std::vector<std::string>;

CablePort port_of(const std::string& text) {
  const auto colon = text.find(':');
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// Ports "node:interface" that are up, have carrier, and hear each other as the test states.
class Lab {
 public:
  explicit Lab(const Names& ports) {
    for (const std::string& port : ports)
      seen_.ends.push_back(ListeningPort{.port = port_of(port), .up = true, .carrier = true, .sent = 10});
  }
  ListeningPort& at(const std::string& port) {
    return *std::ranges::find(seen_.ends, port_of(port), &ListeningPort::port);
  }
  // A cable, or a switch with all these ports.
  Lab& join(const Names& ports) {
    for (const std::string& to : ports)
      for (const std::string& from : ports)
        if (to != from) at(to).heard.push_back(port_of(from));
    return *this;
  }
  Cabling find() const { return find_cabling(seen_); }

 private:
  CablesSeen seen_;
};

Names texts(const Cabling& cabling) {
  Names all;
  for (const CableLink& link : cabling.links) all.push_back(link.to_text());
  return all;
}

Names rails(const Cabling& cabling) {
  Names all;
  for (const CableLink& link : cabling.links)
    for (const auto& rail : link.rails) {
      all.emplace_back();
      for (const CablePort& port : rail)
        all.back() += (all.back().empty() ? "" : " ") + port.node + ":" + port.interface;
    }
  return all;
}

TEST(Cables, TwoNodesAndACable) {
  const Cabling found = Lab({"a:e6", "b:e6"}).join({"a:e6", "b:e6"}).find();
  EXPECT_THAT(texts(found), ElementsAre("e6 of a - e6 of b (direct)"));
  EXPECT_THAT(rails(found), ElementsAre("a:e6 b:e6"));
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST(Cables, CrossedCablesAreFollowedAndNamed) {
  const Cabling found =
      Lab({"a:e6", "a:e7", "b:e6", "b:e7"}).join({"a:e6", "b:e7"}).join({"a:e7", "b:e6"}).find();
  EXPECT_THAT(rails(found), ElementsAre("a:e6 b:e7", "a:e7 b:e6"));
  EXPECT_THAT(found.notes,
              ElementsAre(HasSubstr("are crossed: e6 of a leads to e7 of b, and e7 of a to e6 of b")));
}

TEST(Cables, OneCableBetweenDifferentPortsIsNotCrossed) {
  EXPECT_THAT(Lab({"a:e6", "b:e7"}).join({"a:e6", "b:e7"}).find().notes, IsEmpty());
}

TEST(Cables, ARingOfThreeIsThreeRails) {
  const Cabling found = Lab({"a:e6", "a:e7", "b:e6", "b:e7", "c:e6", "c:e7"})
                            .join({"a:e6", "b:e7"})
                            .join({"b:e6", "c:e7"})
                            .join({"c:e6", "a:e7"})
                            .find();
  EXPECT_THAT(rails(found), ElementsAre("a:e6 b:e7", "a:e7 c:e6", "b:e6 c:e7"));
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST(Cables, ASwitchForEachRail) {
  const Cabling found = Lab({"a:e6", "a:e7", "b:e6", "b:e7", "c:e6", "c:e7"})
                            .join({"a:e6", "b:e6", "c:e6"})
                            .join({"a:e7", "b:e7", "c:e7"})
                            .find();
  EXPECT_THAT(rails(found), ElementsAre("a:e6 b:e6 c:e6", "a:e7 b:e7 c:e7"));
  EXPECT_EQ(found.links.front().kind, CableKind::kSwitch);
}

TEST(Cables, OneSwitchForBothRailsIsDividedByName) {
  const Cabling found = Lab({"a:e6", "a:e7", "b:e6", "b:e7"}).join({"a:e6", "a:e7", "b:e6", "b:e7"}).find();
  EXPECT_THAT(rails(found), ElementsAre("a:e6 b:e6", "a:e7 b:e7"));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("2 rails are in one broadcast domain")));
}

// Both functions of a port are on one cable, which leads to the other port of the second machine.
TEST(Cables, HalvesOfASparksPort) {
  const Names ends = {"s1:enP2p1s0f0np0", "s1:enp1s0f0np0", "s2:enP2p1s0f1np1", "s2:enp1s0f1np1"};
  const Cabling found = Lab(ends).join(ends).find();
  EXPECT_THAT(rails(found),
              ElementsAre("s1:enP2p1s0f0np0 s2:enP2p1s0f1np1", "s1:enp1s0f0np0 s2:enp1s0f1np1"));
}

TEST(Cables, DifferentNamesOnOneSwitch) {
  const Names ends = {"a:e6", "b:e6", "c:p1"};
  EXPECT_THAT(rails(Lab(ends).join(ends).find()), ElementsAre("a:e6 b:e6 c:p1"));
}

TEST(Cables, ASurplusPortOnASwitchHasNoPartner) {
  const Names ends = {"a:e6", "a:e7", "b:e7"};
  const Cabling found = Lab(ends).join(ends).find();
  EXPECT_THAT(rails(found), ElementsAre("a:e7 b:e7"));
  EXPECT_THAT(found.notes, ElementsAre("has no partner on its link, no rail: e6 of a"));
}

TEST(Cables, AMissingCable) {
  Lab lab({"a:e6", "a:e7", "b:e6", "b:e7"});
  lab.join({"a:e6", "b:e6"});
  lab.at("a:e7").carrier = lab.at("b:e7").carrier = false;
  EXPECT_THAT(rails(lab.find()), ElementsAre("a:e6 b:e6"));
  EXPECT_THAT(lab.find().notes, ElementsAre(HasSubstr("no carrier: e7 of a, e7 of b. No cable")));
}

TEST(Cables, PortsThatAreDownAreListedOnce) {
  Lab lab({"a:e6", "b:e6"});
  lab.at("a:e6").up = lab.at("b:e6").up = false;
  EXPECT_THAT(lab.find().down, ElementsAre(port_of("a:e6"), port_of("b:e6")));
  EXPECT_THAT(lab.find().notes, ElementsAre(HasSubstr("e6 of a, e6 of b. --bring-up")));
}

TEST(Cables, ManyPortsAreNamedByInterface) {
  Names ends;
  for (int node = 1; node <= 8; ++node) ends.push_back("gpu" + std::to_string(node) + ":e6");
  Lab lab(ends);
  for (const std::string& end : ends) lab.at(end).carrier = false;
  EXPECT_THAT(lab.find().notes, ElementsAre(HasSubstr("no carrier: e6 of gpu[1-8]. No cable")));
}

TEST(Cables, ANameOfAnInterfaceIsOneWordOfACommand) {
  Lab lab({"a:e6;reboot"});
  lab.at("a:e6;reboot").ipv6_off = true;
  EXPECT_THAT(lab.find().notes,
              ElementsAre(HasSubstr("`sysctl -w 'net/ipv6/conf/e6;reboot/disable_ipv6=0'`")));
}

TEST(Cables, APortOnTheManagementNetworkIsNoRail) {
  Lab lab({"a:mgmt", "a:e6", "b:mgmt", "b:e6"});
  lab.at("a:mgmt").management = lab.at("b:mgmt").management = true;
  lab.join({"a:mgmt", "b:mgmt", "b:e6"});
  EXPECT_THAT(rails(lab.find()), IsEmpty());
  EXPECT_EQ(lab.find().links.front().kind, CableKind::kManagement);
  EXPECT_THAT(lab.find().notes, ElementsAre(HasSubstr("no rail: e6 of b (mgmt of a"),
                                            HasSubstr("none of these nodes is heard: e6 of a.")));
}

TEST(Cables, TheManagementNetworkItselfIsNoNews) {
  Lab lab({"a:mgmt", "b:mgmt"});
  lab.at("a:mgmt").management = lab.at("b:mgmt").management = true;
  lab.join({"a:mgmt", "b:mgmt"});
  EXPECT_THAT(lab.find().links, IsEmpty());
  EXPECT_THAT(lab.find().notes, IsEmpty());
}

TEST(Cables, ACableBackToTheSameNode) {
  const Cabling found = Lab({"a:e6", "a:e7", "b:e6"}).join({"a:e6", "a:e7"}).find();
  EXPECT_EQ(found.links.front().kind, CableKind::kLoop);
  EXPECT_THAT(rails(found), IsEmpty());
}

// A strange host that answers pings is not a node: only a token counts, or two pings between known addresses.
TEST(Cables, StrangersAreNoPeers) {
  Lab lab({"a:e6", "b:e6"});
  lab.at("a:e6").strangers = 2;
  lab.at("a:e6").lldp = "leaf1 Ethernet3";
  lab.at("b:e6").foreign = 100;
  EXPECT_THAT(rails(lab.find()), IsEmpty());
  EXPECT_THAT(
      lab.find().notes,
      ElementsAre(
          HasSubstr(
              "e6 of a has carrier and hears none of these nodes: no rail. LLDP names the other end: leaf1 Ethernet3"),
          HasSubstr("none of these nodes is heard: e6 of b.")));
}

TEST(Cables, OneWayIsACableAndAFirewall) {
  Lab lab({"a:e6", "b:e6"});
  lab.at("b:e6").heard = {port_of("a:e6")};
  EXPECT_THAT(rails(lab.find()), ElementsAre("a:e6 b:e6"));
  EXPECT_THAT(
      lab.find().notes,
      ElementsAre(HasSubstr("e6 of b heard e6 of a, but not the other way: most likely a firewall on a")));
}

TEST(Cables, PingsCountWhereBothEndsDropTokens) {
  Lab lab({"a:e6", "b:e6"});
  lab.at("b:e6").answered = {port_of("a:e6")};
  EXPECT_THAT(rails(lab.find()), IsEmpty()) << "one ping may be anyone's who took that address";
  lab.at("a:e6").answered = {port_of("b:e6")};
  EXPECT_THAT(rails(lab.find()), ElementsAre("a:e6 b:e6"));
  EXPECT_THAT(lab.find().notes, ElementsAre(HasSubstr("pings only")));
}

TEST(Cables, PortsThatASwitchKeepsApartAreNoRail) {
  Lab lab({"a:e6", "b:e6", "c:e6"});
  lab.join({"a:e6", "b:e6"}).join({"b:e6", "c:e6"});
  EXPECT_THAT(rails(lab.find()), IsEmpty());
  EXPECT_THAT(lab.find().notes, ElementsAre(HasSubstr("e6 of a and e6 of c do not hear each other")));
}

TEST(Cables, WhatWouldDecideAPortWithoutIpv6) {
  Lab lab({"a:e6", "b:e6"});
  lab.at("a:e6").ipv6_off = true;
  lab.at("a:e6").sent = 0;
  lab.at("b:e6").sent = 0;
  lab.at("b:e6").error = "Operation not permitted";
  EXPECT_THAT(
      lab.find().notes,
      ElementsAre(
          HasSubstr("net/ipv6/conf/e6/disable_ipv6=0"),
          HasSubstr(
              "e6 of b: nothing could be sent: Operation not permitted. If it has no link-local address")));
}

Subnet subnet(const std::string& text) { return *Subnet::parse(text); }

TEST(Cables, SubnetsOverlapNothing) {
  EXPECT_THAT(free_subnets({}, 2, 2), ElementsAre(subnet("10.200.0.0/24"), subnet("10.200.1.0/24")));
  EXPECT_THAT(free_subnets({subnet("10.200.0.128/25"), subnet("10.200.2.0/23")}, 2, 2),
              ElementsAre(subnet("10.200.1.0/24"), subnet("10.200.4.0/24")));
  // A VPN that takes all of 10, docker's, and libvirt's.
  EXPECT_THAT(free_subnets({subnet("10.0.0.0/8"), subnet("172.17.0.0/16"), subnet("192.168.122.0/24")}, 1, 2),
              ElementsAre(subnet("172.30.0.0/24")));
  EXPECT_THAT(free_subnets({subnet("10.0.0.0/8"), subnet("172.16.0.0/12"), subnet("192.168.0.0/16")}, 1, 2),
              ElementsAre(subnet("198.18.0.0/24")));
  EXPECT_THAT(free_subnets({subnet("0.0.0.0/1"), subnet("128.0.0.0/1")}, 1, 2), IsEmpty());
}

TEST(Cables, SubnetsHoldAllNodes) {
  EXPECT_THAT(free_subnets({}, 1, 254), ElementsAre(subnet("10.200.0.0/24")));
  EXPECT_THAT(free_subnets({}, 2, 255), ElementsAre(subnet("10.200.0.0/23"), subnet("10.200.2.0/23")));
}

}  // namespace
}  // namespace railbed
