#include "cli/nccl_running.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fields.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "facts/facts.h"
#include "facts/process.h"
#include "nccl/process_lint.h"

namespace railbed {
namespace {

struct RunningOutput {
  std::vector<nccl::ProcessVerdict> processes;
  std::vector<std::string> left_out;
  FIELDS(RunningOutput, processes, left_out);
};

Result<Processes> collect(Host& host, const RunningOptions& which) {
  if (which.pid) return collect_process(host, *which.pid);
  return which.all ? collect_running(host) : collect_container(host, which.container);
}

int exit_code_of(const RunningOutput& output) {
  if (output.processes.empty()) return kExitCouldNotLook;
  auto worst = nccl::Severity::kNote;
  for (const nccl::ProcessVerdict& verdict : output.processes) worst = std::max(worst, verdict.worst());
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
    fmt::print("{}", json::dump_pretty(json::encode(output)));
  else
    print_text(output);
  return exit_code_of(output);
}

}  // namespace railbed
