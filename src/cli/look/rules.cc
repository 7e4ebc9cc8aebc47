// railbed rules: everything that verify checks. And one entry of a table, for `railbed explain`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/look/rules.h"
#include "cli/terminal.h"
#include "fabric/judge.h"
#include "verify/rule.h"

namespace railbed {
namespace {

RuleDocument rule_document(const Rule& rule) {
  return {rule.id,       rule.title,  rule.why,     rule.source,
          rule.standard, rule.remedy, rule.fixture, rule.explained_by};
}

// Fills lines up to the usual 80 columns, each indented.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kIndent = 14, kWidth = 80;
  std::string out;
  std::size_t column = kIndent;
  for (const std::string_view word : words(text)) {
    if (column > kIndent && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(kIndent, ' ');
      column = kIndent;
    } else if (column > kIndent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

void row(std::string_view name, std::string_view text) {
  if (!text.empty()) fmt::print("{:<14}{}\n", name, wrapped(text));
}

std::string_view name_of(XidAction action) { return enum_names(action)[static_cast<std::size_t>(action)]; }

XidDocument xid_document(const Xid& xid) {
  const bool has_rule = xid.action != XidAction::kInformation && xid.action != XidAction::kDriverSays;
  return {xid.first,
          xid.last,
          xid.action,
          xid.meaning,
          advice(xid.action),
          xid.source,
          has_rule ? fmt::format("gpu.xid-{}", name_of(xid.action)) : ""};
}

int list_xids(bool json) {
  if (json) {
    std::vector<XidDocument> all;
    for (const Xid& xid : xids()) all.push_back(xid_document(xid));
    print_document(kXidsDocument, all);
    return kExitClean;
  }
  for (const Xid& xid : xids())
    fmt::print("{:>7}  {:<11}  {}\n",
               xid.first == xid.last ? std::to_string(xid.first) : fmt::format("{}-{}", xid.first, xid.last),
               name_of(xid.action), xid.meaning);
  return 0;
}

int explain_xid(int code, bool json) {
  const Xid* xid = find_xid(code);
  if (xid == nullptr)
    return report(
        {ErrorKind::kBadInput, fmt::format("Xid {} is not in the table\nSee: railbed explain xid", code)});
  const XidDocument document = xid_document(*xid);
  if (json) {
    print_document(kXidsDocument, {document});
    return kExitClean;
  }
  fmt::print("Xid {}: {}\n\n", code, xid->meaning);
  row("action", name_of(xid->action));
  row("remedy", advice(xid->action));
  row("source", xid->source);
  row("rule", xid->action == XidAction::kDriverSays ? "as the message says" : document.rule);
  return 0;
}

int explain_sxid(int code, bool json) {
  const auto one = find_sxid(code);
  if (!one) return report({ErrorKind::kBadInput, fmt::format("no NVSwitch error has the number {}", code)});
  const SxidDocument document{
      code, one->unit, one->always_fatal,
      one->always_fatal ? "Drain the node and restart it."
                        : "Fatal: drain the node, stop the fabric manager, reset all GPUs, start it again. "
                          "Not fatal: nothing.",
      one->source};
  if (json) {
    print_document(kSxidDocument, document);
    return kExitClean;
  }
  fmt::print("SXid {}: an NVSwitch error, {}\n\n", code, one->unit);
  row("fatal", one->always_fatal ? "for the whole fabric, always"
                                 : "if the message says \"Fatal\": then for the GPUs on that link");
  row("remedy", document.remedy);
  row("source", one->source);
  row("rule", document.rule);
  return 0;
}

int run_rules(bool as_json) {
  if (as_json) {
    std::vector<RuleDocument> rules;
    for (const auto list : {all_rules(), subnet_rules()})
      for (const Rule& rule : list) rules.push_back(rule_document(rule));
    print_document(kRulesDocument, rules);
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

bool is_rule(std::string_view word) {
  return find_rule(word) != nullptr || find_rule(word, subnet_rules()) != nullptr;
}

int unknown_rule(const std::string& id) {
  std::vector<std::string_view> ids;
  for (const auto rules : {all_rules(), subnet_rules()})
    for (const Rule& rule : rules) ids.push_back(rule.id);
  return report(
      {ErrorKind::kBadInput, fmt::format("no rule \"{}\"{}\nSee: railbed rules", id, did_you_mean(id, ids))});
}

int explain_rule(const std::string& id, bool json) {
  const Rule* rule = find_rule(id);
  const bool of_fabric = rule == nullptr;
  if (of_fabric) rule = find_rule(id, subnet_rules());
  if (rule == nullptr) return unknown_rule(id);
  if (json) {
    print_document(kRulesDocument, {rule_document(*rule)});
    return kExitClean;
  }
  std::vector<std::string_view> consequences;
  for (const Rule& other : of_fabric ? subnet_rules() : all_rules())
    if (std::ranges::find(other.explained_by, rule->id) != other.explained_by.end())
      consequences.push_back(other.id);
  fmt::print("{}: {}\n\n", rule->id, rule->title);
  row("why", rule->why);
  row("read from", rule->source);
  row("expected", rule->standard);
  row("remedy", rule->remedy);
  row("causes", fmt::format("{}", fmt::join(rule->explained_by, ", ")));
  row("consequences", fmt::format("{}", fmt::join(consequences, ", ")));
  if (of_fabric)
    fmt::print("\nLook at it:   railbed fabric verify\n");
  else
    fmt::print("\nSee it red:   railbed verify --root tests/machines/{}\n", rule->fixture);
  return 0;
}

int explain_number(const std::vector<std::string>& words, bool json) {
  const bool xid = words.front() == "xid";
  if (xid && words.size() == 1) return list_xids(json);
  const auto code = words.size() == 2 ? parse_number<int>(words[1]) : std::nullopt;
  if (!code)
    return report({ErrorKind::kBadInput, fmt::format("which one? railbed explain {} NUMBER{}", words.front(),
                                                     xid ? "; without a number: all that are known" : "")});
  return xid ? explain_xid(*code, json) : explain_sxid(*code, json);
}

Action declare_rules(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  add_json_flag(app, *as_json, "print the whole table as one JSON document", kRulesDocument);
  return [as_json] { return run_rules(*as_json); };
}

}  // namespace railbed
