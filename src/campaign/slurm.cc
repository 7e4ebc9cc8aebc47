#include "campaign/slurm.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "host/host_name.h"

namespace railbed {
namespace {

// Deadline of each of two calls. With the deadline of the check itself they stay under the 60 s after which
// slurmd kills a health check (slurm.conf(5), HealthCheckProgram).
constexpr std::chrono::seconds kScontrolDeadline{8};

// True if a word of the state ("IDLE+DRAIN", "DOWN*+DRAIN+NOT_RESPONDING", "COMPLETING*") begins with one of
// these.
bool says(std::string_view state, std::initializer_list<std::string_view> beginnings) {
  for (const std::string_view word : split(state, '+'))
    for (const std::string_view beginning : beginnings)
      if (word.starts_with(beginning)) return true;
  return false;
}

// "fan broken [ops@2026-11-21T09:00:00]" → "fan broken"
std::string without_author(std::string_view reason) {
  const auto bracket = reason.rfind(" [");
  const bool signed_by = bracket != std::string_view::npos && reason.ends_with(']') &&
                         reason.find('@', bracket) != std::string_view::npos;
  return std::string(signed_by ? reason.substr(0, bracket) : reason);
}

// Returns the rule that the node was drained for: "railbed: net.mtu ens6: …", "railbed: gpu.count: …".
std::string_view rule_in(std::string_view reason) {
  reason.remove_prefix(kSlurmMark.size());
  return reason.substr(0, reason.find_first_of(" :"));
}

// True if a verdict without failures shows that the cause of the drain is repaired: the rule in the reason
// checked again and passed or warned. Other rules that could not check do not keep the node drained. If the
// reason names none of our rules, all of them must have checked.
bool is_mended(const Verdict& verdict, std::string_view reason) {
  const std::string_view rule = rule_in(reason);
  bool known = false;
  bool looked = false;
  bool unknown = false;
  bool any_unknown = false;
  for (const Finding& finding : verdict.findings) {
    const bool its = finding.rule == rule;
    known |= its;
    looked |= its && (finding.status == Status::kPass || finding.status == Status::kWarn);
    unknown |= its && finding.status == Status::kUnknown;
    any_unknown |= finding.status == Status::kUnknown;
  }
  return known ? looked && !unknown : !any_unknown;
}

Reading<CommandOutput> run_scontrol(const RunProgram& run, std::vector<std::string> words) {
  words.insert(words.begin(), "scontrol");
  return run(words, kScontrolDeadline);
}

Result<std::string> output_of(const Reading<CommandOutput>& done) {
  if (!done.ok()) return fail(ErrorKind::kUnavailable, describe(done.miss(), done.from()));
  if (done->exit_code == 0) return done->output;
  const std::string& said = done->error_output.empty() ? done->output : done->error_output;
  return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", done.from(), trim(said)));
}

Result<std::string> scontrol(const RunProgram& run, std::vector<std::string> words) {
  return output_of(run_scontrol(run, std::move(words)));
}

Result<SlurmNode> node_in(const Result<std::string>& shown, const std::string& node) {
  if (!shown) return fail(shown.error(), "ask Slurm for " + node);
  auto now = parse_slurm_node(*shown);
  if (!now) return fail(ErrorKind::kUnavailable, "scontrol show node " + node + " names no state");
  return *std::move(now);
}

// Returns the reason with ' for ", since slurmctld expects it between double quotes.
std::string reason_of(std::string_view mark, std::string_view line) {
  std::string reason = std::string(mark) + std::string(line);
  std::ranges::replace(reason, '"', '\'');
  return reason;
}

}  // namespace

std::string slurm_host_name() {
  const std::string name = host_name();
  return name.empty() ? "localhost" : name.substr(0, name.find('.'));
}

Result<SlurmNode> ask_slurm(const std::string& node, const RunProgram& run) {
  return node_in(scontrol(run, {"show", "node", node}), node);
}

Result<bool> job_has_node(const std::string& node, const RunProgram& run) {
  const auto done = run_scontrol(run, {"show", "node", node});
  if (!done.ok() && done.absent()) return false;
  ASSIGN_OR_RETURN(const auto now, node_in(output_of(done), node));
  return now.busy;
}

Result<void> drain(const std::string& node, std::string_view reason, const RunProgram& run) {
  const auto told =
      scontrol(run, {"update", "NodeName=" + node, "State=DRAIN", "Reason=" + reason_of("", reason)});
  if (!told) return fail(told.error(), "drain " + node);
  return {};
}

Result<void> resume(const std::string& node, const RunProgram& run) {
  const auto told = scontrol(run, {"update", "NodeName=" + node, "State=RESUME"});
  if (!told) return fail(told.error(), "resume " + node);
  return {};
}

std::optional<SlurmNode> parse_slurm_node(std::string_view text) {
  SlurmNode node;
  bool stated = false;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.starts_with("State=")) {
      const std::string_view state = line.substr(6, line.find(' ') - 6);
      node.drained = says(state, {"DRAIN"});
      node.busy = says(state, {"ALLOC", "MIX", "COMPL"});
      stated = true;
    } else if (line.starts_with("Reason=")) {
      node.reason = without_author(line.substr(7));
    }
  }
  return stated ? std::optional(node) : std::nullopt;
}

SlurmStep slurm_step(const Verdict& verdict, const std::string& line, const SlurmNode& now) {
  if (now.drained && !now.drained_by_railbed()) return {SlurmOutcome::kOthersDrain, now.reason};
  if (std::ranges::any_of(verdict.findings,
                          [](const Finding& finding) { return finding.status == Status::kFail; })) {
    std::string reason = reason_of(kSlurmMark, line);
    const bool known = now.drained && now.reason == reason;
    return {known ? SlurmOutcome::kStillDrained : SlurmOutcome::kDrained, std::move(reason)};
  }
  if (!now.drained) return {SlurmOutcome::kUntouched, ""};
  return {is_mended(verdict, now.reason) ? SlurmOutcome::kUndrained : SlurmOutcome::kStaysDrained, ""};
}

Result<SlurmStep> tell_slurm(const std::string& node, const Verdict& verdict, const std::string& line,
                             const RunProgram& run) {
  ASSIGN_OR_RETURN(const auto now, ask_slurm(node, run));
  SlurmStep step = slurm_step(verdict, line, now);
  std::vector<std::string> update = {"update", "NodeName=" + node};
  if (step.outcome == SlurmOutcome::kDrained) {
    update.push_back("State=DRAIN");
    update.push_back("Reason=" + step.reason);
  } else if (step.outcome == SlurmOutcome::kUndrained) {
    // RESUME would also bring back a node that is down for another cause.
    update.push_back("State=UNDRAIN");
  } else {
    return step;
  }
  if (const auto told = scontrol(run, update); !told) return fail(told.error(), "tell Slurm of " + node);
  return step;
}

}  // namespace railbed
