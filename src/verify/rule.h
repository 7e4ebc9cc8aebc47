// A rule: one row of the table and one function. docs/contributing/add-a-rule.md shows how to add one.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "verify/finding.h"

namespace railbed {

class Judge;    // verify/judge.h: records the verdicts of a rule function
struct Survey;  // model/survey.h: the data that it walks over

// One row of the rule table.
struct Rule {
  std::string_view id;        // area.name: "rdma.port-down"
  std::string_view title;     // "RDMA port is active"
  std::string_view why;       // consequences when it is red, for `railbed explain`
  std::string_view source;    // where the fact is read
  std::string_view standard;  // the default expectation and where it comes from
  std::string_view remedy;    // general advice
  std::string_view fixture;   // folder under tests/machines where this rule, and no unrelated one, is red
  // Rules whose red finding on the same thing explains this one, the most likely first. The graph has no
  // cycle.
  std::vector<std::string_view> explained_by;
  // settings that fix it: "sysctl/socket-buffers" (settings/setting.h)
  std::vector<std::string_view> settings = {};
  bool of_next_boot = false;  // about the state after a reboot: may be red while all is well now
  void (*check)(const Survey& survey, Judge& judge);
};

// Returns all rules, grouped by area, in the order in which people see them.
std::span<const Rule> all_rules();
// Returns the rule with this id; null if there is none.
const Rule* find_rule(std::string_view id);

}  // namespace railbed
