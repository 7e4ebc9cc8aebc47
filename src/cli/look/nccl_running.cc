#include "cli/look/nccl_running.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/document.h"
#include "cli/terminal.h"
#include "facts/facts.h"
#include "facts/software/process.h"
#include "nccl/process_lint.h"

namespace railbed {
namespace {

Result<Processes> collect(Host& host, const RunningOptions& which) {
  if (which.pid) return collect_process(host, *which.pid);
  return which.all ? collect_running(host) : collect_container(host, which.container);
}

int exit_code_of(const RunningOutput& output) {
  if (output.processes.empty()) return kExitCouldNotLook;
  auto worst = nccl::Severity::kNote;
  for (const nccl::ProcessVerdict& verdict : output.processes) worst = std::max(worst, verdict.worst());
  const auto blind = [](const nccl::ProcessVerdict& verdict) { return !verdict.could_not_look.empty(); };
  if (worst == nccl::Severity::kNote && std::ranges::any_of(output.processes, blind))
    return kExitCouldNotLook;
  if (worst == nccl::Severity::kNote) return kExitClean;
  return worst == nccl::Severity::kError ? kExitFailures : kExitWarnings;
}

void print_text(const RunningOutput& output) {
  for (const nccl::ProcessVerdict& verdict : output.processes) fmt::print("{}\n", nccl::to_text(verdict));
  if (output.processes.empty())
    fmt::print("No process here has a libnccl mapped. One that has NCCL linked in is looked at by --pid.\n");
  for (const std::string& one : output.left_out) fmt::print("Left out: {}\n", printable(one));
}

}  // namespace

int look_at_running(Host& host, const RunningOptions& which, const nccl::Expectation& expected, bool json) {
  auto found = collect(host, which);
  if (!found) return report(found.error());
  RunningOutput output{{}, std::move(found->left_out)};
  if (!found->found.empty()) {
    const Facts node = collect_facts(host);
    for (const Process& process : found->found)
      output.processes.push_back(nccl::judge_process(process, node, expected));
  }
  if (json)
    print_document(kRunningDocument, output);
  else
    print_text(output);
  return exit_code_of(output);
}

}  // namespace railbed
