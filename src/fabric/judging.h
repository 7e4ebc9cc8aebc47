// What the rules of a subnet speak to, and the rules by what they look at.
#pragma once

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
    Finding one;
    one.rule = rule;
    one.subject = std::move(subject);
    one.status = status;
    one.message = std::move(complaint.message);
    one.expected = std::move(complaint.expected);
    one.observed = std::move(complaint.observed);
    one.evidence = evidence_;
    one.remedy = std::move(complaint.remedy);
    list_.push_back(std::move(one));
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
  // Where nothing was red: the rule has looked.
  void pass_unless_red(std::string_view rule, std::string message) {
    if (!has(rule)) calm(Status::kPass, rule, std::move(message));
  }
  bool has(std::string_view rule) const {
    for (const Finding& one : list_)
      if (one.rule == rule) return true;
    return false;
  }
  std::vector<Finding>& list() { return list_; }

 private:
  std::string evidence_;
  std::vector<Finding> list_;
};

// What is known of a cable from its plan: by its end that comes first.
using PlannedLinks = std::map<IbEnd, IbLink>;

// Cables against the plan; answers what each that is as planned should carry.
PlannedLinks judge_cabling(const FabricEvidence& evidence, FabricFindings& findings);
void judge_hosts(const FabricEvidence& evidence, FabricFindings& findings);
void judge_links(const FabricEvidence& evidence, const IbLayout& layout, const PlannedLinks& planned,
                 FabricFindings& findings);
void judge_identities(const FabricEvidence& evidence, FabricFindings& findings);
// Before judge_states(), which asks whether there is a manager.
void judge_managers(const FabricEvidence& evidence, FabricFindings& findings);
void judge_states(const FabricEvidence& evidence, FabricFindings& findings);
void judge_tree(const FabricEvidence& evidence, const IbLayout& layout, FabricFindings& findings);
void judge_counters(const FabricEvidence& evidence, FabricFindings& findings);

}  // namespace railbed
