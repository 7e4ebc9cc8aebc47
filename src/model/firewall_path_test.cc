#include "model/firewall_path.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

// Chains in the syntax of iptables-save, and the verdict on a first TCP packet to a port from 32768 on.
FirewallAnswer fate(const std::string& rules, const std::string& policy = "ACCEPT") {
  static Firewall firewall;  // answers point into it
  firewall = *parse_iptables_save("*filter\n:INPUT " + policy + " [0:0]\n:a - [0:0]\n:b - [0:0]\n" + rules +
                                  "COMMIT\n");
  return fate_of(firewall, {"ens6",
                            {*Subnet::parse("10.0.0.2/32"), *Subnet::parse("10.0.0.3/32")},
                            *IpAddress::parse("10.0.0.1"),
                            "tcp",
                            {32768, 60999}});
}

TEST(FirewallPath, FollowsJumpsReturnsAndPolicies) {
  EXPECT_EQ(fate("").fate, Fate::kAccepted);
  EXPECT_EQ(fate("", "DROP").rule, "ip filter INPUT: policy drop");
  EXPECT_EQ(fate("-A INPUT -j a\n-A INPUT -j DROP\n-A a -i ens+ -j RETURN\n-A a -j ACCEPT\n").fate,
            Fate::kDropped);
  EXPECT_EQ(fate("-A INPUT -g a\n-A INPUT -j ACCEPT\n-A a -p udp -j ACCEPT\n", "DROP").fate, Fate::kDropped)
      << "goto does not come back";
  EXPECT_EQ(fate("-A INPUT -j a\n-A INPUT -j ACCEPT\n-A a -j b\n-A b -j RETURN\n", "DROP").fate,
            Fate::kAccepted);
}

TEST(FirewallPath, NamesTheRuleThatDecides) {
  const FirewallAnswer answer = fate("-A INPUT -j a\n-A a -p tcp -m tcp --dport 1024:65535 -j REJECT\n");
  EXPECT_EQ(answer.fate, Fate::kRejected);
  EXPECT_EQ(answer.rule, "ip filter a: protocol tcp, port 1024-65535 → reject");
  EXPECT_EQ(answer.entry->name, "INPUT");
}

TEST(FirewallPath, ComparesTheFirstPacketOfAConnection) {
  EXPECT_EQ(fate("-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n", "DROP").fate,
            Fate::kDropped);
  EXPECT_EQ(
      fate("-A INPUT -p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN -m conntrack --ctstate NEW -j DROP\n")
          .fate,
      Fate::kAccepted);
  EXPECT_EQ(fate("-A INPUT -s 10.0.0.0/24 -j ACCEPT\n", "DROP").fate, Fate::kAccepted);
  EXPECT_EQ(fate("-A INPUT ! -s 10.0.0.0/24 -j DROP\n").fate, Fate::kAccepted);
  EXPECT_EQ(fate("-A INPUT -i eth0 -j DROP\n").fate, Fate::kAccepted);
}

TEST(FirewallPath, SaysWhenItCannotTell) {
  EXPECT_EQ(fate("-A INPUT -m limit --limit 3/min -j ACCEPT\n", "DROP").fate, Fate::kUncertain);
  EXPECT_EQ(fate("-A INPUT -s 10.0.0.2/32 -j DROP\n").fate, Fate::kUncertain) << "one of two senders";
  EXPECT_EQ(fate("-A INPUT -p tcp -m tcp --dport 40000 -j DROP\n").fate, Fate::kUncertain)
      << "one port of many";
  const FirewallAnswer answer = fate("-A INPUT -m set --match-set bad src -j DROP\n");
  EXPECT_EQ(answer.fate, Fate::kUncertain);
  EXPECT_EQ(answer.rule, "ip filter INPUT: something railbed cannot compare → drop");
  EXPECT_EQ(fate("-A INPUT -m limit --limit 3/min -j LOG\n").fate, Fate::kAccepted) << "it only logs";
  EXPECT_EQ(fate("-A INPUT -p udp -m limit --limit 3/min -j DROP\n").fate, Fate::kAccepted)
      << "not of this packet";
}

TEST(FirewallPath, EndsWhereChainsRunInCircles) {
  EXPECT_EQ(fate("-A INPUT -j a\n-A a -j b\n-A a -j b\n-A b -j a\n-A b -j a\n").fate, Fate::kUncertain);
}

}  // namespace
}  // namespace railbed
