// The collector of a subnet's findings, and the judges, each for rules on one subject.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fabric/judge.h"
#include "fabric/layout.h"
#include "verify/judge.h"

namespace railbed {

class FabricFindings {
 public:
  explicit FabricFindings(std::string evidence) : evidence_(std::move(evidence)) {}
  void red(Status status, std::string_view rule, std::string subject, Complaint complaint) {
    Finding finding;
    finding.rule = rule;
    finding.subject = std::move(subject);
    finding.status = status;
    finding.message = std::move(complaint.message);
    finding.expected = std::move(complaint.expected);
    finding.observed = std::move(complaint.observed);
    finding.evidence = evidence_;
    finding.remedy = std::move(complaint.remedy);
    list_.push_back(std::move(finding));
  }
  void fail(std::string_view rule, std::string subject, Complaint complaint) {
    red(Status::kFail, rule, std::move(subject), std::move(complaint));
  }
  void warn(std::string_view rule, std::string subject, Complaint complaint) {
    red(Status::kWarn, rule, std::move(subject), std::move(complaint));
  }
  void calm(Status status, std::string_view rule, std::string message) {
    red(status, rule, "", {.message = std::move(message), .expected = "", .observed = "", .remedy = {}});
  }
  // Reports that the rule looked and found nothing red.
  void pass_unless_red(std::string_view rule, std::string message) {
    if (!has(rule)) calm(Status::kPass, rule, std::move(message));
  }
  bool has(std::string_view rule) const {
    for (const Finding& finding : list_)
      if (finding.rule == rule) return true;
    return false;
  }
  std::vector<Finding>& list() { return list_; }

  // A cable that carries less than it should, and the finding that reports it.
  struct SlowCable {
    IbEnd one, other;
    double lost = 0;  // Gb/s
    std::size_t finding = 0;
  };
  // Records that the newest finding is about this cable.
  void slow_cable(const IbEnd& end, const IbEnd& other, double lost) {
    slow_cables_.push_back({end, other, lost, list_.size() - 1});
  }
  const std::vector<SlowCable>& slow_cables() const { return slow_cables_; }

 private:
  std::string evidence_;
  std::vector<Finding> list_;
  std::vector<SlowCable> slow_cables_;
};

// The planned width and speed of cables, by the end that compares lower.
using PlannedLinks = std::map<IbEnd, IbLink>;

// Compares the cables with the plan. Returns the planned link of each cable that is where the plan has it.
PlannedLinks judge_cabling(const FabricEvidence& evidence, FabricFindings& findings);
void judge_hosts(const FabricEvidence& evidence, FabricFindings& findings);
void judge_links(const FabricEvidence& evidence, const IbLayout& layout, const PlannedLinks& planned,
                 FabricFindings& findings);
void judge_identities(const FabricEvidence& evidence, FabricFindings& findings);
// Must run before judge_states(), which uses its finding that no manager is master.
void judge_managers(const FabricEvidence& evidence, FabricFindings& findings);
void judge_states(const FabricEvidence& evidence, FabricFindings& findings);
void judge_tree(const FabricEvidence& evidence, const IbLayout& layout, FabricFindings& findings);
void judge_counters(const FabricEvidence& evidence, FabricFindings& findings);

}  // namespace railbed
