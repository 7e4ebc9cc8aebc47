// railbed explain: explains one rule, one of NVIDIA's error numbers, or whatever a person pastes or sends.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "campaign/look/explain.h"
#include "cli/command.h"
#include "cli/fleet_options.h"
#include "cli/look/explained.h"
#include "cli/look/nccl_log.h"
#include "cli/terminal.h"
#include "fabric/judge.h"
#include "hardware/xid.h"
#include "verify/rule.h"

namespace railbed {
namespace {

struct ExplainOptions {
  std::vector<std::string> what;
  std::string nccl_log;
  bool json = false;
  ReachOptions reach;
};

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

int explain_number(const std::vector<std::string>& words) {
  const bool xid = words.front() == "xid";
  if (xid && words.size() == 1) return list_xids();
  const auto code = words.size() == 2 ? parse_number<int>(words[1]) : std::nullopt;
  if (!code) return report({ErrorKind::kBadInput, "which one? railbed explain " + words.front() + " NUMBER"});
  return xid ? explain_xid(*code) : explain_sxid(*code);
}

bool is_rule(const std::string& word) {
  return find_rule(word) != nullptr || find_rule(word, subnet_rules()) != nullptr;
}

// Returns whether another program or a file feeds standard input.
bool is_fed() {
  struct stat status = {};
  if (fstat(STDIN_FILENO, &status) != 0) return false;
  return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) ||
         (S_ISREG(status.st_mode) && status.st_size > 0);
}

// Returns whether a word can only be a message that was pasted: it has several words of its own.
bool is_message(const std::string& word) { return word.find(' ') != std::string::npos; }

int run_explain(const ExplainOptions& options) {
  const std::vector<std::string>& what = options.what;
  if (what.empty() && is_fed())
    return show_explanation(explain({"-"}, options.reach, terminal_caller()), options.json);
  if (what.empty())
    return report({ErrorKind::kBadInput,
                   "explain what? Name a RULE, files of logs and outputs, or - for what you paste\nSee: "
                   "railbed explain --help"});
  if (what.front() == "xid" || what.front() == "sxid") return explain_number(what);
  std::error_code error;
  const bool is_path = what.front() == "-" || std::filesystem::exists(what.front(), error);
  if (what.size() == 1 && !is_path) {
    if (is_message(what.front())) return show_explanation(explain_text(what.front()), options.json);
    if (is_rule(what.front())) return explain_rule(what.front());
    if (const auto number = parse_number<int>(what.front()))
      return report(
          {ErrorKind::kBadInput,
           fmt::format("{0} alone may be many things. Of a GPU: railbed explain xid {0}", *number)});
    // A name with a folder, or with an ending that no rule has, is that of a file.
    const std::string ending = std::filesystem::path(what.front()).extension().string();
    const bool names_file = what.front().find('/') != std::string::npos || ending == ".log" ||
                            ending == ".txt" || ending == ".out" || ending == ".err" || ending == ".gz" ||
                            ending == ".yaml";
    if (!names_file) return unknown_rule(what.front());
  }
  return show_explanation(explain(what, options.reach, terminal_caller()), options.json);
}

}  // namespace

Action declare_explain(CLI::App& app) {
  auto options = std::make_shared<ExplainOptions>();
  auto* const what = app.add_option(
      "WHAT", options->what,
      "files in any number and mixture: a job's output, kernel logs, outputs of commands, support reports, a "
      "cluster.yaml; - is standard input. Or one message in quotes, a RULE, xid NUMBER, sxid NUMBER");
  auto* const log = app.add_option("--nccl-log", options->nccl_log,
                                   "explain this NCCL_DEBUG=INFO log alone; - reads standard input");
  app.add_flag("--json", options->json, "print JSON");
  log->excludes(what);
  add_fleet_options(app, options->reach);
  app.footer(R"(
Each file is recognised by its content, and all of them are diagnosed together: what the machines show confirms
or refutes the causes of what the job printed. A cluster.yaml without captures beside it: its nodes are looked at now.
The first line says what is wrong. "cause" is certain, "likely" lacks one confirmation, "one of these" lists what
remains with the look that decides, "not" names what was refuted and by what.

Examples:
  railbed explain train.log                      what a job printed, with NCCL_DEBUG=INFO or without
  railbed explain train.log dmesg.txt ibstat.txt the same, with what its machine shows
  railbed explain slurm-1234.out cluster.yaml    the same, with its nodes as they are now
  kubectl logs pod | railbed explain -           what another program prints
  railbed explain dumps/                         which rank hangs, by PyTorch flight recorders
  railbed explain "CUDA error: system not yet initialized"
  railbed explain rdma.gid                       a rule, as `railbed verify` prints it
  railbed explain xid 79                         an error number of a GPU

Exit codes: 0 nothing is wrong, 1 warnings, 2 errors found, 3 nothing was recognised, 64 bad usage.)");
  return [options] {
    if (!options->nccl_log.empty()) return explain_nccl_log(options->nccl_log, options->json);
    return run_explain(*options);
  };
}

}  // namespace railbed
