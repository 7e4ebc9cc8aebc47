// railbed explain: explains one rule, one of NVIDIA's error numbers, or whatever a person pastes or sends.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "campaign/look/explain.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/look/explained.h"
#include "cli/look/nccl_log.h"
#include "cli/look/rules.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

struct ExplainOptions {
  std::vector<std::string> what;
  std::string nccl_log;
  bool json = false;
  bool all = false;
  ReachOptions reach;
};

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
  const auto show = [&](const Result<Explanation>& explanation) {
    return show_explanation(explanation, options.json, options.all);
  };
  if (what.empty() && is_fed()) return show(explain({"-"}, options.reach, terminal_caller()));
  if (what.empty())
    return report({ErrorKind::kBadInput,
                   "explain what? Name a RULE, files of logs and outputs, or - for what you paste\nSee: "
                   "railbed explain --help"});
  std::error_code error;
  const bool is_path = what.front() == "-" || std::filesystem::exists(what.front(), error);
  // The kernel writes "Xid" and "SXid".
  const std::string table = lower(what.front());
  if (what.front() == table || !is_path)
    if (table == "xid" || table == "sxid") {
      std::vector<std::string> words = what;
      words.front() = table;
      return explain_number(words, options.json);
    }
  if (what.size() == 1 && !is_path) {
    if (is_message(what.front())) return show(explain_text(what.front()));
    if (is_rule(what.front())) return explain_rule(what.front(), options.json);
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
  return show(explain(what, options.reach, terminal_caller()));
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
  add_json_flag(app, options->json, "print one JSON document", kExplanationDocument, kLogDocument,
                kRulesDocument, kXidsDocument, kSxidDocument);
  log->excludes(what);
  app.add_flag("--all", options->all, "of machines, list what passed and what does not apply, too");
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
