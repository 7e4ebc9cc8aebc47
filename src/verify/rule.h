// A rule: one row of the table, one function. docs/contributing/add-a-rule.md walks through adding one.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "verify/finding.h"

namespace railbed {

class Judge;    // verify/judge.h: what a rule function speaks to
struct Survey;  // model/survey.h: what it walks over

struct Rule {
  std::string_view id;        // area.name: "rdma.port-down"
  std::string_view title;     // "RDMA port is active"
  std::string_view why;       // what breaks when it is red, for `railbed explain`
  std::string_view source;    // where the fact is read
  std::string_view standard;  // the default expectation and where it comes from
  std::string_view remedy;    // what to do, in general
  std::string_view fixture;   // folder under tests/machines in which this rule, and no unrelated one, is red
  // Rules whose red finding on the same thing explains this one, the likeliest first. The graph has no cycle.
  std::vector<std::string_view> explained_by;
  std::vector<std::string_view> settings = {};  // that mend it: "sysctl/socket-buffers" (settings/setting.h)
  bool of_next_boot = false;  // red while all is well now: it is about what a reboot leaves
  void (*check)(const Survey& survey, Judge& judge);
};

// Every rule there is, grouped by area, in the order they are listed to people.
std::span<const Rule> all_rules();
const Rule* find_rule(std::string_view id);

}  // namespace railbed
