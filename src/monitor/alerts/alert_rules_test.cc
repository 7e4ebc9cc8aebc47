#include "monitor/alerts/alert_rules.h"

#include <gmock/gmock.h>

#include <set>

#include "verify/rule.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

Cluster cluster_named(std::string name) {
  Cluster cluster;
  cluster.name = std::move(name);
  return cluster;
}

TEST(AlertRules, EachNamesAFindingOfVerifyOrOfTheWatch) {
  for (const AlertRule& alert : counter_alerts(cluster_named("pod"))) {
    EXPECT_TRUE(find_rule(alert.finding) != nullptr || alert.finding.starts_with("monitor."))
        << alert.name << ": " << alert.finding;
    for (const std::string_view cause : alert.silenced)
      EXPECT_NE(find_rule(cause), nullptr) << alert.name << ": " << cause;
  }
}

TEST(AlertRules, EveryRuleHasOneAndNoTwoShareAName) {
  const Cluster cluster = cluster_named("pod");
  std::set<std::string> names;
  for (const auto& alerts : {counter_alerts(cluster), finding_alerts(cluster)})
    for (const AlertRule& alert : alerts) EXPECT_TRUE(names.insert(alert.name).second) << alert.name;
  for (const char* const name : {"RailbedRdmaPortState", "RailbedHostDiskSpace", "RailbedIbDuplicateGuid"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_GE(names.size(), all_rules().size() + 30);
}

TEST(AlertRules, ANameCannotLeaveItsQuotes) {
  const std::string text =
      render_alert_rules(cluster_named("a\"} or vector(1) #\n$cluster{{ x }}\xC2\x85"), "");
  EXPECT_THAT(text, Not(HasSubstr("\n$cluster")));
  EXPECT_THAT(text, Not(HasSubstr("\"a\"}")));
  EXPECT_THAT(text, Not(HasSubstr("\xC2\x85")));
}

TEST(AlertRules, LeadToTheHandbook) {
  const Cluster cluster = cluster_named("pod");
  EXPECT_THAT(render_alert_rules(cluster, ""),
              HasSubstr("runbook: \"docs/reference/alerts.md#railbedportlinkdowned\""));
  EXPECT_THAT(
      render_alert_rules(cluster, "https://wiki/railbed"),
      HasSubstr("runbook_url: \"https://wiki/railbed/docs/reference/alerts.md#railbedportlinkdowned\""));
}

TEST(AlertRules, AskLessWhereANodeDoes) {
  Cluster cluster = cluster_named("pod");
  cluster.nodes.resize(2);
  cluster.nodes[1].expect.fraction_of_ceiling = 0.8;
  cluster.nodes[1].configure.pfc_priority = 5;
  const std::string text = render_alert_rules(cluster, "");
  EXPECT_THAT(text, HasSubstr("< 0.8"));
  EXPECT_THAT(text, HasSubstr("priority=\"5\""));
}

}  // namespace
}  // namespace railbed
