// railbed explain: teaches one rule, or what a NCCL log says.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/nccl_log.h"
#include "cli/terminal.h"
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
  for (const Rule& rule : all_rules()) ids.push_back(rule.id);
  std::string text = fmt::format("no rule \"{}\"", id);
  if (const auto near = closest(id, ids)) text += fmt::format(", did you mean \"{}\"?", *near);
  return report({ErrorKind::kBadInput, text + "\nSee: railbed rules"});
}

int run(const std::string& id) {
  const Rule* rule = find_rule(id);
  if (rule == nullptr) return unknown_rule(id);
  std::vector<std::string_view> consequences;
  for (const Rule& other : all_rules())
    if (std::ranges::find(other.explained_by, rule->id) != other.explained_by.end())
      consequences.push_back(other.id);
  fmt::print("{}: {}\n\n", rule->id, rule->title);
  row("why", rule->why);
  row("read from", rule->source);
  row("expected", rule->standard);
  row("remedy", rule->remedy);
  row("causes", fmt::format("{}", fmt::join(rule->explained_by, ", ")));
  row("consequences", fmt::format("{}", fmt::join(consequences, ", ")));
  fmt::print("\nSee it red:   railbed verify --root tests/machines/{}\n", rule->fixture);
  return 0;
}

}  // namespace

Action declare_explain(CLI::App& app) {
  struct Options {
    std::string rule;
    std::string nccl_log;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  auto* const rule = app.add_option("RULE", options->rule,
                                    "a rule's name, as `railbed verify` and `railbed rules` print it");
  auto* const log = app.add_option("--nccl-log", options->nccl_log,
                                   "explain this NCCL_DEBUG=INFO log instead; - reads standard input");
  app.add_flag("--json", options->json, "print the log's explanation as JSON")->needs(log);
  log->excludes(rule);
  app.footer("\nExamples: railbed explain rdma.gid\n          railbed explain --nccl-log train.log");
  return [options] {
    if (!options->nccl_log.empty()) return explain_nccl_log(options->nccl_log, options->json);
    if (!options->rule.empty()) return run(options->rule);
    return report(
        {ErrorKind::kBadInput, "explain what? Name a RULE, or a log with --nccl-log\nSee: railbed rules"});
  };
}

}  // namespace railbed
