#include "cli/health.h"

#include <fmt/format.h>

#include "cli/slurm.h"
#include "host/open.h"
#include "host/process.h"
#include "inventory/cluster.h"
#include "report/escape.h"
#include "report/findings.h"

namespace railbed {
namespace {

constexpr std::size_t kProblemBytes = 80;

// First line of an error, as the one line there is.
std::string could_not_look(const Error& error, std::size_t most) {
  return shortened_bytes(printable("could not look: " + error.text.substr(0, error.text.find('\n'))), most);
}

}  // namespace

Result<Facts> look_within(std::chrono::milliseconds deadline, const CollectOptions& options) {
  const auto answer = ask_in_child(
      "verify", [&](const Say&) { return facts_to_json(collect_facts(*open_this_machine(), options)); },
      deadline);
  if (!answer.ok()) return fail(ErrorKind::kTimeout, "this machine: " + describe(answer.miss(), ""));
  return facts_from_json(*answer);
}

Result<void> narrow_to(const std::string& node, Evidence& evidence) {
  if (evidence.nodes.size() != 1)
    return fail(ErrorKind::kBadInput,
                fmt::format("a health check is about one node; these are {}", evidence.nodes.size()));
  if (!evidence.cluster.nodes.empty() && find_node(evidence.cluster, node) == nullptr)
    return fail(ErrorKind::kBadInput, fmt::format("{} knows no node \"{}\"", evidence.cluster.file, node));
  auto own = evidence.nodes.extract(evidence.nodes.begin());
  own.key() = node;
  evidence.nodes.insert(std::move(own));
  evidence.unreachable.clear();
  return {};
}

int report_to_slurm(const std::string& node, const Result<Verdict>& verdict) {
  if (!verdict) {
    fmt::print("{}: {}\n", node, could_not_look(verdict.error(), std::string::npos));
    return kExitCouldNotLook;
  }
  const auto told = tell_slurm(node, *verdict,
                               [](const auto& words, auto deadline) { return run_program(words, deadline); });
  if (!told) {
    fmt::print("{}: {}; {}\n", node, render_line(*verdict, std::string::npos), printable(told.error().text));
    return kExitCouldNotLook;
  }
  fmt::print("{}\n", printable(*told));
  const int code = verdict->exit_code();
  return code == kExitWarnings ? kExitClean : code;
}

int report_problem(const Result<Verdict>& verdict) {
  constexpr int kOk = 0, kProblem = 1, kUnknown = 2;
  if (!verdict) {
    fmt::print("{}\n", could_not_look(verdict.error(), kProblemBytes));
    return kUnknown;
  }
  fmt::print("{}\n", render_line(*verdict, kProblemBytes));
  const int code = verdict->exit_code();
  if (code == kExitFailures) return kProblem;
  return code == kExitCouldNotLook ? kUnknown : kOk;
}

}  // namespace railbed
