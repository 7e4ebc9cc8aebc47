#include "cli/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "host/host_name.h"
#include "report/causes.h"
#include "report/findings.h"

namespace railbed {
namespace {

// Each of two calls; with the look's own deadline they stay under the 60 s after which slurmd kills a health
// check (slurm.conf(5), HealthCheckProgram).
constexpr std::chrono::seconds kScontrolDeadline{8};
constexpr std::size_t kReasonBytes = 200;  // ours: what `sinfo -R --format=%200E` still shows

// "IDLE+DRAIN", "DOWN*+DRAIN+NOT_RESPONDING"
bool says_drain(std::string_view state) {
  while (!state.empty()) {
    const auto plus = state.find('+');
    if (state.substr(0, plus).starts_with("DRAIN")) return true;
    state.remove_prefix(plus == std::string_view::npos ? state.size() : plus + 1);
  }
  return false;
}

// "fan broken [ops@2026-11-21T09:00:00]" → "fan broken"
std::string without_author(std::string_view reason) {
  const auto bracket = reason.rfind(" [");
  const bool signed_by = bracket != std::string_view::npos && reason.ends_with(']') &&
                         reason.find('@', bracket) != std::string_view::npos;
  return std::string(signed_by ? reason.substr(0, bracket) : reason);
}

Result<std::string> scontrol(const RunProgram& run, std::vector<std::string> words) {
  words.insert(words.begin(), "scontrol");
  const auto done = run(words, kScontrolDeadline);
  if (!done.ok()) return fail(ErrorKind::kUnavailable, describe(done.miss(), done.from()));
  if (done->exit_code == 0) return done->output;
  const std::string& said = done->error_output.empty() ? done->output : done->error_output;
  return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", done.from(), trim(said)));
}

}  // namespace

std::optional<SlurmNode> parse_slurm_node(std::string_view text) {
  SlurmNode node;
  bool stated = false;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.starts_with("State=")) {
      const std::string_view state = line.substr(6, line.find(' ') - 6);
      node.drained = says_drain(state);
      stated = true;
    } else if (line.starts_with("Reason=")) {
      node.reason = without_author(line.substr(7));
    }
  }
  return stated ? std::optional(node) : std::nullopt;
}

SlurmStep slurm_step(const std::string& node, const Verdict& verdict, const SlurmNode& now) {
  const std::string line = render_line(verdict, kReasonBytes - kSlurmMark.size());
  const StatusCounts counts = count_statuses(verdict.findings);
  const bool others = now.drained && !now.drained_by_railbed();
  if (others)
    return {SlurmStep::Kind::kNothing, "",
            fmt::format("{}: {}; somebody else's drain is left alone: {}", node, line, now.reason)};
  if (counts.fail > 0) {
    // slurmctld takes a reason from between double quotes.
    std::string reason = std::string(kSlurmMark) + line;
    std::ranges::replace(reason, '"', '\'');
    if (now.drained && now.reason == reason)
      return {SlurmStep::Kind::kNothing, "", fmt::format("{}: still drained: {}", node, line)};
    return {SlurmStep::Kind::kDrain, reason, fmt::format("{}: drained: {}", node, line)};
  }
  if (!now.drained) return {SlurmStep::Kind::kNothing, "", fmt::format("{}: {}", node, line)};
  if (counts.unknown > 0)
    return {SlurmStep::Kind::kNothing, "", fmt::format("{}: stays drained: {}", node, line)};
  return {SlurmStep::Kind::kUndrain, "", fmt::format("{}: undrained: {}", node, line)};
}

std::string slurm_node_name() {
  if (const char* name = std::getenv("SLURMD_NODENAME"); name != nullptr && *name != '\0') return name;
  const std::string name = host_name();
  return name.empty() ? "localhost" : name.substr(0, name.find('.'));
}

Result<std::string> tell_slurm(const std::string& node, const Verdict& verdict, const RunProgram& run) {
  const auto shown = scontrol(run, {"show", "node", node});
  if (!shown) return fail(shown.error(), "ask Slurm for " + node);
  const auto now = parse_slurm_node(*shown);
  if (!now) return fail(ErrorKind::kUnavailable, "scontrol show node " + node + " names no state");
  SlurmStep step = slurm_step(node, verdict, *now);
  std::vector<std::string> update = {"update", "NodeName=" + node};
  if (step.kind == SlurmStep::Kind::kNothing) return step.line;
  if (step.kind == SlurmStep::Kind::kDrain) {
    update.push_back("State=DRAIN");
    update.push_back("Reason=" + step.reason);
  } else {
    // RESUME would also bring back a node that is down for another cause.
    update.push_back("State=UNDRAIN");
  }
  if (const auto told = scontrol(run, update); !told) return fail(told.error(), "tell Slurm of " + node);
  return step.line;
}

}  // namespace railbed
