#include "monitor/fact_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "facts/facts.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

NetInterface interface_of(const std::string& name, int mtu) {
  NetInterface interface;
  interface.name = name;
  interface.mtu = {mtu, "mtu"};
  interface.pci_address = {"0000:1b:00.0", "device"};
  interface.driver = {"mlx5_core", "driver"};
  return interface;
}

Facts facts_of(std::vector<NetInterface> interfaces) {
  Facts facts;
  facts.net.interfaces = {std::move(interfaces), "/sys/class/net"};
  return facts;
}

std::vector<std::string> changes(FactTable& known, const Facts& facts) {
  std::vector<std::string> lines;
  for (const FactChange& change : take_changes(known, compared_facts(facts))) lines.push_back(change.text());
  return lines;
}

TEST(FactHistory, TellsWhatIsAnother) {
  FactTable known;
  EXPECT_THAT(changes(known, facts_of({interface_of("ens6", 9000)})), IsEmpty()) << "nothing was known";
  EXPECT_THAT(changes(known, facts_of({interface_of("ens6", 9000)})), IsEmpty());
  EXPECT_THAT(changes(known, facts_of({interface_of("ens6", 1500)})), ElementsAre("MTU of ens6 9000 → 1500"));
}

TEST(FactHistory, WhatCannotBeReadIsNoChange) {
  FactTable known;
  changes(known, facts_of({interface_of("ens6", 9000)}));
  NetInterface unread = interface_of("ens6", 0);
  unread.mtu = {Miss{Missing::kTimeout, "hangs"}, "mtu"};
  EXPECT_THAT(changes(known, facts_of({unread})), IsEmpty());
  EXPECT_THAT(changes(known, Facts{}), IsEmpty());
  EXPECT_THAT(changes(known, facts_of({interface_of("ens6", 1500)})), ElementsAre("MTU of ens6 9000 → 1500"));
}

TEST(FactHistory, DevicesThatGoAndComeBackAsOthers) {
  FactTable known;
  changes(known, facts_of({interface_of("ens6", 9000)}));
  EXPECT_THAT(changes(known, facts_of({})), ElementsAre("interface ens6 there → gone"));
  EXPECT_THAT(changes(known, facts_of({})), IsEmpty());
  EXPECT_THAT(
      changes(known, facts_of({interface_of("ens6", 1500), interface_of("ens7", 1500)})),
      ElementsAre("MTU of ens6 9000 → 1500", "interface ens6 gone → there", "interface ens7 gone → there"));
}

TEST(FactHistory, ADeviceThatLosesItsDriver) {
  FactTable known;
  changes(known, facts_of({interface_of("ens6", 9000)}));
  NetInterface bare = interface_of("ens6", 9000);
  bare.driver = {Miss{Missing::kAbsent, "no such file"}, "driver"};
  EXPECT_THAT(changes(known, facts_of({bare})), ElementsAre("driver of ens6 mlx5_core → none"));
}

TEST(FactHistory, NothingThatMovesByItself) {
  Facts facts = facts_of({interface_of("ens6", 9000)});
  FactTable known;
  changes(known, facts);
  NetInterface busy = interface_of("ens6", 9000);
  busy.carrier_changes = {7, ""};
  busy.receive_errors = {99, ""};
  busy.operational_state = {"down", ""};
  NetInterface pod;
  pod.name = "veth1a2b";
  pod.mtu = {1450, ""};
  facts = facts_of({busy, pod});
  facts.system.kernel.uptime_seconds = {5, ""};
  facts.system.memory.available = {ByteCount{5}, ""};
  EXPECT_THAT(changes(known, facts), IsEmpty());
}

TEST(FactHistory, OfALongLineTheWordsThatDiffer) {
  FactTable known;
  Facts facts;
  const std::string many(130, 'a');
  facts.system.sysctl["net.x"] = {many + " pt", ""};
  changes(known, facts);
  facts.system.sysctl["net.x"] = {many + " off more", ""};
  EXPECT_THAT(changes(known, facts), ElementsAre("net.x pt → off more"));
}

TEST(FactHistory, HostileNamesAndValues) {
  FactTable known;
  changes(known, facts_of({}));
  NetInterface bad = interface_of("e\x1b[2J\n" + std::string(10'000, 'x'), 1);
  bad.driver = {std::string("\xff\x07") + std::string(100'000, 'y'), "driver"};
  for (const std::string& line : changes(known, facts_of({bad}))) {
    EXPECT_LT(line.size(), 700U);
    EXPECT_EQ(line.find_first_of("\x1b\x07\n"), std::string::npos);
  }
}

}  // namespace
}  // namespace railbed
