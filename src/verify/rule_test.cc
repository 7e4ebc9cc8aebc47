// Invariants of the rule table.
#include "verify/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "hardware/nic.h"
#include "verify/areas.h"
#include "verify/floor.h"
#include "verify/nccl_topics.h"
#include "verify/verify.h"

namespace railbed {
namespace {

TEST(RuleTable, HasAtLeast120RulesEachWithEveryWord) {
  EXPECT_GE(all_rules().size(), 120U);
  std::set<std::string_view> ids, fixtures;
  for (const Rule& rule : all_rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id << " stands twice";
    EXPECT_TRUE(fixtures.insert(rule.fixture).second) << rule.fixture << " serves two rules";
    for (const std::string_view text :
         {rule.title, rule.why, rule.source, rule.standard, rule.remedy, rule.fixture})
      EXPECT_FALSE(text.empty()) << rule.id;
    ASSERT_TRUE(std::holds_alternative<Check<Survey>>(rule.check)) << rule.id;
    EXPECT_NE(std::get<Check<Survey>>(rule.check), nullptr) << rule.id;
    EXPECT_NE(rule.id.find('.'), std::string_view::npos) << rule.id;
    EXPECT_EQ(find_rule(rule.id), &rule);
  }
  EXPECT_EQ(find_rule("no.such-rule"), nullptr);
}

TEST(RuleTable, CausesExistAndFormNoCycle) {
  enum class Mark { kNew, kOpen, kDone };
  std::map<std::string_view, Mark> marks;
  std::function<void(const Rule&)> visit = [&](const Rule& rule) {
    Mark& mark = marks[rule.id];
    ASSERT_NE(mark, Mark::kOpen) << rule.id << " explains itself";
    if (mark == Mark::kDone) return;
    mark = Mark::kOpen;
    for (const std::string_view cause : rule.explained_by) {
      ASSERT_NE(find_rule(cause), nullptr) << rule.id << " is explained by " << cause << ", which is no rule";
      visit(*find_rule(cause));
    }
    marks[rule.id] = Mark::kDone;
  };
  for (const Rule& rule : all_rules()) visit(rule);
}

Ceiling ceiling_of(BitRate rate) {
  return {.limits = {{"wire", rate, "test"}}, .note = {}, .nominal = false};
}

// Each possible complaint of the lint belongs to exactly one rule.
TEST(NcclTopics, EveryComplaintHasARuleAndEveryRuleAComplaint) {
  std::set<std::string_view> judged;
  for (const std::string_view id : nccl::complaint_ids()) {
    nccl::Complaint complaint;
    complaint.id = id;
    const std::string_view rule = nccl_rule_of(complaint);
    EXPECT_NE(find_rule(rule), nullptr) << id << " is said by no rule";
  }
  for (const NcclTopic& topic : nccl_topics()) {
    EXPECT_NE(std::ranges::find(nccl::complaint_ids(), topic.complaint), nccl::complaint_ids().end())
        << topic.complaint << " is no complaint";
    judged.insert(topic.rule);
  }
  for (const Rule& rule : nccl_rules()) EXPECT_TRUE(judged.contains(rule.id)) << rule.id << " cannot be red";
}

// A floor above the ceiling fails every link, one below a tenth of it passes every link: both are refused.
TEST(Floors, LieBetweenATenthAndTheCeiling) {
  const Ceiling ceiling = ceiling_of(BitRate::gigabits(40));
  for (const double bad : {1.01, 0.1, 0.0, -1.0, 50.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_FALSE(bandwidth_floor(ceiling, bad)) << bad;
  for (const double good : {0.11, 0.5, Expectations{}.fraction_of_ceiling, 1.0}) {
    const auto floor = bandwidth_floor(ceiling, good);
    ASSERT_TRUE(floor) << good;
    EXPECT_LE(*floor, BitRate::gigabits(40));
    EXPECT_GT(*floor, BitRate::gigabits(4));
  }
  EXPECT_FALSE(bandwidth_floor({}, 0.9)) << "no limit is known";
}

TEST(Floors, FollowTheBindingLimit) {
  Ceiling ceiling = ceiling_of(BitRate::gigabits(200));
  ceiling.limits.push_back({"PCIe Gen3 x16", BitRate::gigabits(126), "test"});
  EXPECT_NEAR(bandwidth_floor(ceiling, 0.5)->gigabits(), 63, 1e-9);
}

TEST(Floors, LossWarnsBeforeItFailsAndNeitherIsOutOfReach) {
  EXPECT_LT(kLossWarns, kLossFails);
  EXPECT_GT(kLossWarns, 0);
  EXPECT_LT(kLossFails, 0.01);
}

Measurement measured(BitRate median) {
  Measurement measurement;
  measurement.engine = Engine::kRdma;
  measurement.rail = "rail0";
  measurement.from.node = "a";
  measurement.to.node = "b";
  measurement.message_bytes = 65536;
  measurement.summary.samples = 10;
  measurement.summary.median = median.bits_per_second;
  measurement.ceiling = ceiling_of(BitRate::gigabits(40));
  return measurement;
}

Status bandwidth_status(const Evidence& evidence) {
  for (const Finding& finding : verify(evidence).findings)
    if (finding.rule == "measured.bandwidth") return finding.status;
  return Status::kNotApplicable;
}

TEST(Measured, JudgesTheBestSizeAgainstTheFloor) {
  Evidence evidence;
  evidence.measurements = {measured(BitRate::gigabits(1)), measured(BitRate::gigabits(37))};
  EXPECT_EQ(bandwidth_status(evidence), Status::kPass);
  evidence.measurements[1] = measured(BitRate::gigabits(35.9));
  EXPECT_EQ(bandwidth_status(evidence), Status::kFail);
  evidence.measurements[1].ceiling.nominal = true;
  EXPECT_EQ(bandwidth_status(evidence), Status::kNotApplicable);
}

TEST(Measured, OneQueuePairOnAFastLinkIsHeldAgainstWhatOneReaches) {
  const auto status = [](double gigabits, int queue_pairs, std::uint64_t bytes) {
    Evidence evidence;
    evidence.measurements = {measured(BitRate::gigabits(gigabits))};
    Measurement& one = evidence.measurements.front();
    one.ceiling = ceiling_of(BitRate::gigabits(397.5));
    one.streams = queue_pairs;
    one.message_bytes = bytes;
    return bandwidth_status(evidence);
  };
  EXPECT_EQ(status(328, 1, 65536), Status::kPass);
  EXPECT_EQ(status(284, 1, 1048576), Status::kPass);
  EXPECT_EQ(status(200, 1, 65536), Status::kFail);
  EXPECT_EQ(status(328, 2, 65536), Status::kFail);
  EXPECT_EQ(status(100, 2, 4096), Status::kNotApplicable);
}

TEST(Measured, APartThatGivesLessAtItsWorstIsJudgedByThat) {
  Evidence evidence;
  evidence.measurements = {measured(BitRate::gigabits(25.6))};
  evidence.measurements[0].ceiling.limits.push_back(
      {"PCIe Gen2 x8", BitRate::gigabits(29.3), "test", BitRate::gigabits(25.6)});
  EXPECT_EQ(bandwidth_status(evidence), Status::kPass);
  evidence.measurements[0].ceiling.limits.back().least.reset();
  EXPECT_EQ(bandwidth_status(evidence), Status::kFail);
}

std::vector<std::string> red(const Evidence& evidence, std::string_view rule) {
  std::vector<std::string> messages;
  for (const Finding& finding : verify(evidence).findings)
    if (finding.rule == rule && finding.status == Status::kFail) messages.push_back(finding.message);
  return messages;
}

// A fast write does not hide a slow read, and a processor's limit is no fault of the path.
TEST(Measured, EachOperationIsJudgedByItself) {
  Evidence evidence;
  const auto add = [&](const char* operation, double gigabits) {
    evidence.measurements.push_back(measured(BitRate::gigabits(gigabits)));
    evidence.measurements.back().operation = operation;
  };
  add("write", 38);
  add("read", 20);
  add("datagram", 5);
  add("write duplex", 60);
  const auto messages = red(evidence, "measured.bandwidth");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_NE(messages[0].find("RDMA read bandwidth a → b on rail0 is 20.0 Gb/s"), std::string::npos)
      << messages[0];
}

TEST(Measured, TcpAtItsBestIsHeldAgainstEachComparableOperation) {
  Evidence evidence;
  const auto add = [&](Engine engine, const char* operation, double ns) {
    Measurement measurement = measured(BitRate::gigabits(1));
    measurement.engine = engine;
    measurement.metric = Metric::kLatency;
    measurement.operation = operation;
    measurement.summary.median = ns;
    evidence.measurements.push_back(measurement);
  };
  add(Engine::kTcp, "", 9000);
  add(Engine::kTcp, "busy-poll", 5000);
  add(Engine::kRdma, "write", 900);
  add(Engine::kRdma, "send", 6000);
  add(Engine::kRdma, "read", 6000);  // to its answer: no half of a round trip
  const auto messages = red(evidence, "measured.rdma-beats-tcp");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_NE(messages[0].find("RDMA send is slower than TCP a → b on rail0: 6.00 µs against 5.00 µs"),
            std::string::npos)
      << messages[0];
}

TEST(Measured, AFractionThatJudgesNothingIsUnknownNotPassed) {
  Evidence evidence;
  evidence.cluster.nodes.resize(1);
  evidence.cluster.nodes[0].name = "a";
  evidence.cluster.nodes[0].expect.fraction_of_ceiling = 0.001;
  evidence.measurements = {measured(BitRate::gigabits(37))};
  EXPECT_EQ(bandwidth_status(evidence), Status::kUnknown);
}

TEST(Verdict, ExitCodeIsTheWorst) {
  const auto code = [](std::vector<Status> statuses) {
    Verdict verdict;
    for (const Status status : statuses) {
      Finding finding;
      finding.status = status;
      verdict.findings.push_back(finding);
    }
    return verdict.exit_code();
  };
  EXPECT_EQ(code({}), 0);
  EXPECT_EQ(code({Status::kPass, Status::kNotApplicable}), 0);
  EXPECT_EQ(code({Status::kPass, Status::kWarn}), 1);
  EXPECT_EQ(code({Status::kWarn, Status::kUnknown}), 3);
  EXPECT_EQ(code({Status::kUnknown, Status::kFail}), 2);
}

TEST(Verify, SaysUnknownOfFactsThatWereNotCollected) {
  Evidence evidence;
  evidence.nodes["a"] = Facts{};
  const Verdict verdict = verify(evidence);
  for (const Finding& finding : verdict.findings)
    EXPECT_NE(finding.status, Status::kFail) << finding.rule << finding.message;
  const auto unknown = [](const Finding& finding) {
    return finding.status == Status::kUnknown && finding.rule == "host.hugepages";
  };
  EXPECT_TRUE(std::ranges::any_of(verdict.findings, unknown));
}

}  // namespace
}  // namespace railbed
