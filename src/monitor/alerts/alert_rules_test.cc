#include "monitor/alerts/alert_rules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <set>

#include "base/text.h"
#include "base/yaml.h"
#include "monitor/alerts/alert_page.h"
#include "monitor/alerts/dashboards.h"
#include "monitor/events/finding_watch.h"
#include "verify/floor.h"
#include "verify/load_window.h"
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

// One alert of a rules file, with its labels and annotations among its fields.
using RulesAlert = std::map<std::string, std::string>;

void add_fields(const YamlValue& mapping, RulesAlert& alert) {
  for (std::size_t i = 0; i < mapping.keys.size(); ++i) {
    alert[mapping.keys[i].text] = mapping.items[i].text;
    add_fields(mapping.items[i], alert);
  }
}

// Returns the alerts in the text. Adds a failure if it is no rules file, or has a group twice.
std::vector<RulesAlert> alerts_in(const std::string& text) {
  Complaints complaints(text, "railbed.rules.yml");
  const auto file = parse_yaml(text, complaints);
  std::vector<RulesAlert> alerts;
  if (!file || file->items.size() != 1) ADD_FAILURE() << "no rules file";
  std::set<std::string> groups;
  for (const YamlValue& group :
       file && file->items.size() == 1 ? file->items[0].items : std::vector<YamlValue>()) {
    EXPECT_TRUE(groups.insert(group.items.at(0).text).second) << group.items.at(0).text;
    for (const YamlValue& rule : group.items.at(1).items) add_fields(rule, alerts.emplace_back());
  }
  return alerts;
}

std::vector<RulesAlert> alerts_of_pod() { return alerts_in(render_alert_rules(cluster_named("pod"), "")); }

// Returns the part of the alert's expression that silences it, "" if there is none, and what it counts before that.
std::pair<std::string, std::string> silencer_of(const RulesAlert& alert) {
  const std::string& expression = alert.at("expr");
  const auto at = expression.find("unless on (instance)");
  return at == expression.npos ? std::pair{std::string(), expression}
                               : std::pair{expression.substr(at), expression.substr(0, at)};
}

// Returns all matches of the pattern's first group.
std::set<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) found.insert((*it)[1]);
  return found;
}

TEST(AlertRules, EachNamesAFindingOfVerifyOrOfTheWatch) {
  int silenced = 0;
  for (const RulesAlert& alert : alerts_of_pod()) {
    const std::string& finding = alert.at("finding");
    EXPECT_TRUE(find_rule(finding) != nullptr || finding.starts_with("monitor.") ||
                finding == "{{ $labels.rule }}")
        << alert.at("alert") << ": " << finding;
    for (const std::string& causes : matches(silencer_of(alert).first, R"re(rule=~"([^"]*)")re")) {
      for (const std::string_view cause : split(causes, '|')) {
        EXPECT_NE(find_rule(cause), nullptr) << alert.at("alert") << ": " << cause;
        ++silenced;
      }
    }
  }
  EXPECT_GE(silenced, 100);
}

// An alert that neither waits for the next look, nor knows that a finding was there within its window, would double it.
TEST(AlertRules, AreSilentBesideTheirOwnFinding) {
  int windows = 0;
  for (const RulesAlert& alert : alerts_of_pod()) {
    const auto [silencer, counted] = silencer_of(alert);
    const std::string& finding = alert.at("finding");
    if (finding.starts_with("monitor.") || alert.at("expr").starts_with("railbed_finding")) {
      EXPECT_EQ(silencer, "") << alert.at("alert");
      continue;
    }
    EXPECT_THAT(silencer, HasSubstr(fmt::format("rule=~\"{}", finding))) << alert.at("alert");
    EXPECT_EQ(matches(silencer, R"(\[(\w+)\])"), matches(counted, R"(\[(\w+)\])")) << alert.at("alert");
    if (silencer.find('[') == silencer.npos) continue;
    EXPECT_THAT(silencer, HasSubstr("max_over_time(")) << alert.at("alert");
    EXPECT_EQ(alert.at("for"), "3m") << alert.at("alert");
    ++windows;
  }
  EXPECT_GE(windows, 20);
}

TEST(AlertRules, EveryRuleHasOneAndNoTwoShareAName) {
  std::set<std::string> names;
  for (const RulesAlert& alert : alerts_of_pod())
    EXPECT_TRUE(names.insert(alert.at("alert")).second) << alert.at("alert");
  for (const char* const name : {"RailbedRdmaPortState", "RailbedHostDiskSpace", "RailbedIbDuplicateGuid"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_GE(names.size(), all_rules().size() + 30);
}

TEST(AlertRules, EveryPlaceholderHasAValue) {
  EXPECT_THAT(render_alert_rules(cluster_named("pod"), ""), Not(HasSubstr("RAILBED_")));
  EXPECT_THAT(render_alert_rules(cluster_named("RAILBED_CLUSTER"), ""),
              HasSubstr("cluster=\"RAILBED_CLUSTER\""));
}

TEST(AlertRules, ANameCannotLeaveItsQuotes) {
  const std::string text =
      render_alert_rules(cluster_named("a\"} or vector(1) #\n$cluster{{ x }}\xC2\x85 \xF0\x9F\x98\x80"), "");
  EXPECT_THAT(text, Not(HasSubstr("\n$cluster")));
  EXPECT_THAT(text, Not(HasSubstr("\"a\"}")));
  EXPECT_THAT(text, Not(HasSubstr("\xC2\x85")));
  EXPECT_THAT(text,
              HasSubstr(R"({cluster="a\"} or vector(1) #\U0000000a$cluster{{ x }}\U00000085 \U0001f600"})"));
}

TEST(AlertRules, LeadToTheHandbook) {
  const Cluster cluster = cluster_named("pod");
  EXPECT_THAT(
      render_alert_rules(cluster, ""),
      HasSubstr("runbook_url: \"{{ $externalURL }}/consoles/railbed-alerts.html#railbedportlinkdowned\""));
  EXPECT_THAT(
      render_alert_rules(cluster, "https://wiki/railbed"),
      HasSubstr("runbook_url: \"https://wiki/railbed/docs/reference/alerts.md#railbedportlinkdowned\""));
  for (const RulesAlert& alert : alerts_of_pod())
    EXPECT_TRUE(alert.at("runbook_url").ends_with('#' + lower(alert.at("alert")))) << alert.at("alert");
}

// A fault that comes and goes pages once, by the monitor's events as by Prometheus.
TEST(AlertRules, EachHoldsAsLongAsTheMonitorDoes) {
  for (const RulesAlert& alert : alerts_of_pod())
    EXPECT_EQ(alert.at("keep_firing_for"), fmt::format("{}m", kHoldSeconds / 60)) << alert.at("alert");
}

TEST(AlertRules, AreTheAlertsOfTheFile) {
  const Cluster cluster = cluster_named("pod");
  const std::vector<AlertRule> rules = alert_rules(cluster);
  const std::vector<RulesAlert> alerts = alerts_of_pod();
  ASSERT_EQ(rules.size(), alerts.size());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    EXPECT_EQ(rules[i].name, alerts[i].at("alert"));
    EXPECT_EQ(rules[i].expression, alerts[i].at("expr"));
    EXPECT_EQ(rules[i].pending, alerts[i].contains("for") ? alerts[i].at("for") : "");
    EXPECT_EQ(rules[i].severity, alerts[i].at("severity"));
    EXPECT_EQ(rules[i].finding, alerts[i].at("finding"));
    EXPECT_EQ(rules[i].summary, alerts[i].at("summary"));
    EXPECT_EQ(rules[i].description, alerts[i].at("description"));
    EXPECT_EQ(rules[i].remedy, alerts[i].at("remedy"));
    EXPECT_FALSE(rules[i].group.empty());
  }
}

TEST(AlertPage, HasAnAnchorForEachAlertAndItsLimit) {
  const std::string page = render_alert_page(cluster_named("pod"));
  for (const RulesAlert& alert : alerts_of_pod())
    EXPECT_THAT(page, HasSubstr("<article id=\"" + lower(alert.at("alert")) + "\">"));
  EXPECT_THAT(page, HasSubstr(fmt::format("More than {} CRC errors a second.", kNvlinkErrorsASecond)));
  EXPECT_THAT(page, HasSubstr("railbed explain net.carrier"));
  EXPECT_THAT(page, Not(HasSubstr("{{"))) << "Prometheus would run it";
}

TEST(AlertPage, ANameIsNoMarkup) {
  const std::string page = render_alert_page(cluster_named("<script>{{ query \"up\" }}"));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
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

TEST(AlertRules, HaveTheLimitsOfVerify) {
  const std::string text = render_alert_rules(cluster_named("pod"), "");
  EXPECT_THAT(text, HasSubstr(fmt::format("> {} / 3600\n", kSymbolErrorsAnHour)));
  EXPECT_THAT(text, HasSubstr(fmt::format("> {} / 60\n", kLinkRecoveriesAMinute)));
  EXPECT_THAT(text, HasSubstr(fmt::format("More than {} CRC errors a second.", kNvlinkErrorsASecond)));
  EXPECT_THAT(text, HasSubstr(fmt::format("> {}\n", kLossWarns)));
  // Prometheus' templates take no placeholder here, and a rule computes its limit from the link.
  EXPECT_THAT(text, HasSubstr(fmt::format("{{{{ if gt $value {} }}}}critical", kLossFails)));
  EXPECT_THAT(find_rule("gpu.load-replays")->standard, HasSubstr("Gen5 x16: 31 a minute"));
  EXPECT_THAT(text, HasSubstr("> 31 / 60\n"));
  EXPECT_THAT(find_rule("gpu.row-remap-failed")->standard, HasSubstr("fewer than 512 rows"));
  EXPECT_THAT(dashboards().back().text, HasSubstr("\"expr\": \"vector(512)\""));
}

}  // namespace
}  // namespace railbed
