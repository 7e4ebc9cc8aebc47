// `railbed fix` on the machines of the rules: what its table of sections and rules says is so.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "campaign/plan_nodes.h"
#include "configure/answers.h"
#include "verify/rule.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

// On these rules' machines there is nothing that a setting could do: cluster.yaml asks for no packages and no
// subnet manager there, a user's own file sets the variable, or the machine tells too little of itself.
const std::set<std::string_view> kNotThere = {"gpu.driver",
                                              "gpu.driver-expected",
                                              "gpu.fabric-manager-version",
                                              "gpu.module-built",
                                              "gpu.persistence",
                                              "host.clock",
                                              "host.kernel-headers",
                                              "ib.partition",
                                              "net.vlan",
                                              "nccl.gid-index",
                                              "nccl.hca",
                                              "nccl.net-forced",
                                              "nccl.rdma-on",
                                              "nccl.version",
                                              "rdma.ipoib-mode",
                                              "rdma.ipoib-mtu",
                                              "rdma.subnet-manager",
                                              "toolkit.cuda",
                                              "toolkit.mpi",
                                              "toolkit.nccl-header",
                                              "ib.subnet-manager-at-boot",
                                              "nccl.socket-interface-exact"};

bool is_answered(const fs::path& machine, std::string_view rule) {
  PlanRequest request;
  request.sources.root = machine;
  request.sources.cluster = machine / "cluster.yaml";
  request.fix = true;
  const auto plan = plan_nodes(request, {}, {});
  if (!plan) {
    ADD_FAILURE() << machine << ": " << plan.error().text;
    return false;
  }
  for (const NodePlan& node : plan->nodes)
    for (const NodeChange& change : node.changes)
      for (const PlannedFinding& one : change.answers)
        if (one.rule == rule) return true;
  return false;
}

TEST(Fix, AnswersTheRulesThatItNames) {
  for (std::size_t i = 0; i < enum_names(Section()).size(); ++i)
    for (const std::string_view id : rules_answered_by(static_cast<Section>(i))) {
      const fs::path machine = fs::path(RAILBED_SOURCE_DIR) / "tests/machines" / find_rule(id)->fixture;
      const bool answered = fs::exists(machine / "cluster.yaml") && is_answered(machine, id);
      EXPECT_EQ(answered, !kNotThere.contains(id)) << id << " on " << machine.filename();
    }
}

TEST(Fix, FindsNothingToDoOnAHealthyMachine) {
  for (const char* name : {"v100-cx3pro", "h100-cx7"}) {
    const fs::path machine = fs::path(RAILBED_SOURCE_DIR) / "tests/machines" / name;
    PlanRequest request;
    request.sources.root = machine;
    request.sources.cluster = machine / "cluster.yaml";
    request.fix = true;
    const auto plan = plan_nodes(request, {}, {});
    ASSERT_TRUE(plan) << plan.error().text;
    EXPECT_EQ(plan->exit_code(), 0) << name;
    EXPECT_TRUE(plan->unanswered.empty()) << name;
  }
}

}  // namespace
}  // namespace railbed
