// A rule: one row of a table and one function. docs/contributing/add-a-rule.md shows how to add one. There are
// two tables: the rules of nodes (all_rules()) and those of an InfiniBand subnet (fabric/judge.h). One engine
// runs both (engine.h).
#pragma once

#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "verify/finding.h"

namespace railbed {

class Judge;        // verify/judge.h: records the verdicts of a rule function
struct Survey;      // model/survey.h: the nodes of a cluster
struct FabricView;  // fabric/fabric_view.h: a subnet

// A rule function. Walks over the subject and opens a case for each part of it that it judges.
template <class Subject>
using Check = void (*)(const Subject& subject, Judge& judge);

// One row of a rule table.
struct Rule {
  std::string_view id;        // area.name: "rdma.port-state"
  std::string_view title;     // "RDMA port is active"
  std::string_view why;       // consequences when it is red, for `railbed explain`
  std::string_view source;    // where the fact is read
  std::string_view standard;  // the default expectation and where it comes from
  std::string_view remedy;    // general advice
  // Name of the test in which this rule, and no unrelated one, is red: a folder under tests/machines, or a case
  // in src/fabric/rules_test.cc.
  std::string_view fixture;
  // Rules whose red finding on the same thing explains this one, the most likely first. The graph has no
  // cycle.
  std::vector<std::string_view> explained_by;
  // settings that fix it: "sysctl/socket-buffers" (settings/setting.h)
  std::vector<std::string_view> settings = {};
  bool of_next_boot = false;  // about the state after a reboot: may be red while all is well now
  std::variant<Check<Survey>, Check<FabricView>> check;  // all rules of a table have the same subject
};

// Returns all rules of nodes, grouped by area, in the order in which people see them.
std::span<const Rule> all_rules();
// Returns the rule of the table with this id; null if there is none.
const Rule* find_rule(std::string_view id, std::span<const Rule> rules = all_rules());

}  // namespace railbed
