// railbed rules: everything that verify checks.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/json.h"
#include "cli/command.h"
#include "fabric/judge.h"
#include "verify/rule.h"

namespace railbed {
namespace {

json::Value describe(const Rule& rule) {
  json::Value value = json::Value::object();
  value["id"] = rule.id;
  value["title"] = rule.title;
  value["why"] = rule.why;
  value["source"] = rule.source;
  value["standard"] = rule.standard;
  value["remedy"] = rule.remedy;
  value["fixture"] = rule.fixture;
  value["explained_by"] = rule.explained_by;
  return value;
}

int run_rules(bool as_json) {
  if (as_json) {
    json::Value rules = json::Value::array();
    for (const auto list : {all_rules(), subnet_rules()})
      for (const Rule& rule : list) rules.push_back(describe(rule));
    fmt::print("{}", json::dump_pretty(rules));
    return 0;
  }
  for (const auto list : {all_rules(), subnet_rules()})
    for (const Rule& rule : list) fmt::print("{:<28}{}\n", rule.id, rule.title);
  fmt::print(
      "\n{} rules; those of fabric are applied by `railbed fabric verify`. "
      "`railbed explain RULE` tells what one looks at and why.\n",
      all_rules().size() + subnet_rules().size());
  return 0;
}

}  // namespace

Action declare_rules(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  app.add_flag("--json", *as_json, "print the whole table as a JSON array");
  return [as_json] { return run_rules(*as_json); };
}

}  // namespace railbed
