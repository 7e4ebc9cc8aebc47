#include "monitor/injection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "monitor/events/finding_watch.h"
#include "monitor/events/webhook.h"
#include "monitor/metrics/node_metrics.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Finding judged(std::string_view rule, const std::string& subject, Status status) {
  Finding finding;
  finding.rule = rule;
  finding.node = "gpu01";
  finding.subject = subject;
  finding.status = status;
  return finding;
}

TEST(Injection, ReadsRulesSubjectsAndFiles) {
  const auto one = parse_injections({"net.carrier=ens11np0", "gpu.answers"}, Status::kWarn);
  ASSERT_TRUE(one) << one.error().text;
  EXPECT_THAT(*one, ElementsAre(Injection{"net.carrier", "ens11np0", Status::kWarn},
                                Injection{"gpu.answers", "", Status::kWarn}));
  // The subject of some rules is a path.
  const auto path = parse_injections({"host.disk-space=/scratch"}, Status::kFail);
  ASSERT_TRUE(path) << path.error().text;
  EXPECT_EQ(path->front().subject, "/scratch");
  const auto unknown = parse_injections({"net.carier"}, Status::kFail);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().text,
              HasSubstr("there is no rule \"net.carier\", did you mean \"net.carrier\"?"));
  EXPECT_FALSE(parse_injections({"/no/such/file"}, Status::kFail));
  EXPECT_FALSE(parse_injections({""}, Status::kFail));
}

TEST(Injection, MakesOneFindingRedAndMarksIt) {
  Findings findings = {judged("net.carrier", "ens11np0", Status::kPass),
                       judged("net.carrier", "ens12np0", Status::kPass)};
  EXPECT_THAT(inject({{"net.carrier", "ens12np0", Status::kFail}}, findings), IsEmpty());
  EXPECT_EQ(findings[0].status, Status::kPass);
  EXPECT_EQ(findings[1].status, Status::kFail);
  EXPECT_TRUE(is_injected(findings[1].message)) << findings[1].message;
  EXPECT_THAT(findings[1].remedy.commands, IsEmpty()) << "nobody shall mend what is not broken";
}

TEST(Injection, LeavesATrueFindingAlone) {
  Finding true_one = judged("net.carrier", "ens11np0", Status::kFail);
  true_one.message = "ens11np0 has no link";
  Findings findings = {true_one};
  EXPECT_THAT(inject({{"net.carrier", "", Status::kFail}}, findings),
              ElementsAre(HasSubstr("red without help")));
  EXPECT_EQ(findings[0].message, "ens11np0 has no link");
  EXPECT_THAT(inject({{"net.carrier", "eth7", Status::kFail}}, findings), ElementsAre(HasSubstr("ens11np0")));
}

TEST(Injection, IsMarkedInMetrics) {
  NodeState state;
  auto look = std::make_shared<NodeLook>();
  Finding true_one = judged("rdma.rate", "mlx5_0/1", Status::kFail);
  true_one.message = "true";
  look->findings = {judged("net.carrier", "ens11np0", Status::kPass), true_one};
  EXPECT_THAT(inject({{"net.carrier", "", Status::kFail}}, look->findings), IsEmpty());
  state.look = look;
  state.since[{"net.carrier", "ens11np0"}] = 5;
  const std::string text = node_metrics(state);
  EXPECT_THAT(
      text,
      HasSubstr(R"(railbed_finding{rule="net.carrier",subject="ens11np0",status="fail",injected="true"} 1)"));
  EXPECT_THAT(
      text,
      HasSubstr(R"(railbed_finding_since_seconds{rule="net.carrier",subject="ens11np0",injected="true"} 5)"));
  EXPECT_THAT(text,
              HasSubstr("railbed_finding{rule=\"rdma.rate\",subject=\"mlx5_0/1\",status=\"fail\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("railbed_findings{status=\"fail\"} 1\n")) << "it counts no injected one";
  EXPECT_THAT(text, HasSubstr("railbed_injected_findings 1\n"));
}

TEST(Injection, IsMarkedInWebhooks) {
  NodeEvent event;
  event.kind = EventKind::kAppeared;
  event.node = "gpu01";
  event.rule = "net.carrier";
  event.subject = "ens11np0";
  event.status = Status::kFail;
  event.present = true;
  event.message = std::string(kInjectedMark) + "x";
  const auto alerts = alerts_of(event);
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_EQ(alerts[0].labels.at("injected"), "true");
  EXPECT_THAT(alerts[0].annotations.at("summary"), HasSubstr(std::string(kInjectedMark)));
  event.message = "x";
  EXPECT_FALSE(alerts_of(event)[0].labels.contains("injected"));
}

TEST(Injection, IsWithdrawnFromTheWatch) {
  FindingWatch watch("gpu01");
  Findings findings = {judged("net.carrier", "ens11np0", Status::kPass),
                       judged("rdma.rate", "mlx5_0/1", Status::kFail)};
  EXPECT_THAT(inject({{"net.carrier", "", Status::kFail}}, findings), IsEmpty());
  watch.look(findings, Facts{}, 1.8e9);
  EXPECT_EQ(watch.since().size(), 2U);
  const auto gone = watch.withdraw_injected(1.8e9 + 60);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].kind, EventKind::kGone);
  EXPECT_EQ(gone[0].rule, "net.carrier");
  EXPECT_TRUE(is_injected(gone[0].message));
  EXPECT_EQ(watch.since().size(), 1U);
  for (const TrackedFinding& kept : watch.state().findings) EXPECT_EQ(kept.rule, "rdma.rate");
  EXPECT_THAT(watch.withdraw_injected(1.8e9 + 61), IsEmpty());
}

}  // namespace
}  // namespace railbed
