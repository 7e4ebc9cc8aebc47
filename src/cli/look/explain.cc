// railbed explain: explains one rule, one of NVIDIA's error numbers, or a NCCL log.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/look/nccl_log.h"
#include "cli/terminal.h"
#include "fabric/judge.h"
#include "hardware/xid.h"
#include "verify/rule.h"

namespace railbed {
namespace {

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

int unknown_rule(const std::string& id) {
  std::vector<std::string_view> ids;
  for (const auto rules : {all_rules(), subnet_rules()})
    for (const Rule& rule : rules) ids.push_back(rule.id);
  return report(
      {ErrorKind::kBadInput, fmt::format("no rule \"{}\"{}\nSee: railbed rules", id, did_you_mean(id, ids))});
}

int explain_rule(const std::string& id) {
  const Rule* rule = find_rule(id);
  const bool of_fabric = rule == nullptr;
  if (of_fabric) rule = find_rule(id, subnet_rules());
  if (rule == nullptr) return unknown_rule(id);
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

std::string_view name_of(XidAction action) { return enum_names(action)[static_cast<std::size_t>(action)]; }

int list_xids() {
  for (const Xid& xid : xids())
    fmt::print("{:>7}  {:<11}  {}\n",
               xid.first == xid.last ? std::to_string(xid.first) : fmt::format("{}-{}", xid.first, xid.last),
               name_of(xid.action), xid.meaning);
  return 0;
}

int explain_xid(int code) {
  const Xid* xid = find_xid(code);
  if (xid == nullptr)
    return report(
        {ErrorKind::kBadInput, fmt::format("Xid {} is not in the table\nSee: railbed explain xid", code)});
  fmt::print("Xid {}: {}\n\n", code, xid->meaning);
  row("action", name_of(xid->action));
  row("remedy", advice(xid->action));
  row("source", xid->source);
  row("rule", xid->action == XidAction::kInformation  ? ""
              : xid->action == XidAction::kDriverSays ? "as the message says"
                                                      : fmt::format("gpu.xid-{}", name_of(xid->action)));
  return 0;
}

int explain_sxid(int code) {
  const auto one = find_sxid(code);
  if (!one) return report({ErrorKind::kBadInput, fmt::format("no NVSwitch error has the number {}", code)});
  fmt::print("SXid {}: an NVSwitch error, {}\n\n", code, one->unit);
  row("fatal", one->always_fatal ? "for the whole fabric, always"
                                 : "if the message says \"Fatal\": then for the GPUs on that link");
  row("remedy", one->always_fatal
                    ? "Drain the node and restart it."
                    : "Fatal: drain the node, stop the fabric manager, reset all GPUs, start it again. "
                      "Not fatal: nothing.");
  row("source", one->source);
  row("rule", "gpu.sxid");
  return 0;
}

int run_explain(const std::vector<std::string>& words) {
  const bool xid = words.front() == "xid";
  if (!xid && words.front() != "sxid") {
    if (words.size() == 1) return explain_rule(words.front());
    return report({ErrorKind::kBadInput, "one RULE at a time; a number goes with xid or sxid"});
  }
  if (xid && words.size() == 1) return list_xids();
  const auto code = words.size() == 2 ? parse_number<int>(words[1]) : std::nullopt;
  if (!code) return report({ErrorKind::kBadInput, "which one? railbed explain " + words.front() + " NUMBER"});
  return xid ? explain_xid(*code) : explain_sxid(*code);
}

}  // namespace

Action declare_explain(CLI::App& app) {
  struct Options {
    std::vector<std::string> words;
    std::string nccl_log;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  auto* const rule =
      app.add_option(
             "RULE", options->words,
             "a rule's name, as `railbed verify` and `railbed rules` print it; or xid NUMBER, sxid NUMBER")
          ->expected(1, 2);
  auto* const log = app.add_option("--nccl-log", options->nccl_log,
                                   "explain this NCCL_DEBUG=INFO log instead; - reads standard input");
  app.add_flag("--json", options->json, "print the log's explanation as JSON")->needs(log);
  log->excludes(rule);
  app.footer(
      "\nExamples: "
      "railbed explain rdma.gid\n          railbed explain xid 79\n          railbed explain --nccl-log train.log");
  return [options] {
    if (!options->nccl_log.empty()) return explain_nccl_log(options->nccl_log, options->json);
    if (!options->words.empty()) return run_explain(options->words);
    return report(
        {ErrorKind::kBadInput, "explain what? Name a RULE, or a log with --nccl-log\nSee: railbed rules"});
  };
}

}  // namespace railbed
