#include "cli/look/health.h"

#include <fmt/format.h>

#include <cstdlib>

#include "os/process.h"
#include "report/escape.h"
#include "report/findings.h"

namespace railbed {
namespace {

constexpr std::size_t kProblemBytes = 80;

// Returns the first line of an error as the only line of the output.
std::string could_not_look(const Error& error, std::size_t most) {
  return shortened_bytes(printable("could not look: " + error.text.substr(0, error.text.find('\n'))), most);
}

}  // namespace

std::string slurm_node_name() {
  const char* const name = std::getenv("SLURMD_NODENAME");
  return name != nullptr && *name != '\0' ? name : slurm_host_name();
}

std::string slurm_text(const std::string& node, const std::string& line, const SlurmStep& step) {
  switch (step.outcome) {
    case SlurmOutcome::kUntouched:
      return fmt::format("{}: {}", node, line);
    case SlurmOutcome::kOthersDrain:
      return fmt::format("{}: {}; somebody else's drain is left alone: {}", node, line, step.reason);
    case SlurmOutcome::kDrained:
      return fmt::format("{}: drained: {}", node, line);
    case SlurmOutcome::kStillDrained:
      return fmt::format("{}: still drained: {}", node, line);
    case SlurmOutcome::kStaysDrained:
      return fmt::format("{}: stays drained: {}", node, line);
    case SlurmOutcome::kUndrained:
      return fmt::format("{}: undrained: {}", node, line);
  }
  return {};
}

int report_to_slurm(const std::string& node, const Result<Verdict>& verdict) {
  if (!verdict) {
    fmt::print("{}: {}\n", node, could_not_look(verdict.error(), std::string::npos));
    return kExitCouldNotLook;
  }
  const std::string line = render_line(*verdict, kSlurmLineBytes);
  const auto told = tell_slurm(node, *verdict, line,
                               [](const auto& words, auto deadline) { return run_program(words, deadline); });
  if (!told) {
    fmt::print("{}: {}; {}\n", node, render_line(*verdict, std::string::npos), printable(told.error().text));
    return kExitCouldNotLook;
  }
  fmt::print("{}\n", printable(slurm_text(node, line, *told)));
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
