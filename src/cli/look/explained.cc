#include "cli/look/explained.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "base/wording.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/look/nccl_log.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "report/findings.h"
#include "report/text/node_graph.h"

namespace railbed {
namespace {

bool has_job(const Explanation& explanation) {
  return explanation.job && diagnose::is_recognised(*explanation.job);
}

// Returns whether what the job printed names a cause, so that it comes before what the machines show.
bool leads(const diagnose::Log& log) {
  return log.verdict.severity == nccl::Severity::kError &&
         log.verdict.certainty <= diagnose::Certainty::kLikely && !log.problems.empty() &&
         !log.problems.front().consequence;
}

bool has_red(const Explanation& explanation) {
  return std::ranges::any_of(explanation.machines.findings, is_red);
}

std::string machines_text(const Explanation& explanation, bool all) {
  Run about;
  about.nodes = explanation.evidence.nodes.size() + explanation.evidence.unreachable.size();
  about.cluster = explanation.evidence.cluster.name;
  const StatusCounts counts = explanation.machines.findings.counts();
  // Few outputs leave most checks unknown, and the first line still shows whether any check failed.
  const std::string first =
      has_red(explanation) || counts.unknown == 0
          ? ""
          : fmt::format("{} passed and none failed; {} could not be made with what was read\n\n",
                        counted(counts.pass, "check"), counts.unknown);
  return first + render_text(explanation.machines, about, {.colour = use_colour(STDOUT_FILENO), .all = all});
}

// Returns the list of inputs. Of many dumps only their number is shown.
std::string read_text(const Explanation& explanation) {
  constexpr std::size_t kMost = 16;
  std::string text = "\nRead\n";
  for (std::size_t i = 0; i < explanation.inputs.size(); ++i) {
    if (i == kMost && explanation.inputs.size() > kMost + 1)
      return text + fmt::format("  and {} more files\n", explanation.inputs.size() - i);
    text += fmt::format("  {}: {}\n", printable(explanation.inputs[i].path), explanation.inputs[i].what);
  }
  return text;
}

// Returns the sections in the order in which a person needs them: what names a cause comes first.
std::string text_of(const Explanation& explanation, bool all) {
  std::string text;
  const bool red = has_red(explanation);
  const bool job = explanation.job.has_value();
  const bool machines = explanation.machines.findings.size() > 0;
  if (machines && (red || !explanation.job))
    text = (job ? "On the machines\n" : "") + machines_text(explanation, all);
  if (explanation.job) {
    const std::string verdict = diagnose::verdict_text(*explanation.job);
    const std::string between = text.empty() ? "" : "\n";
    text = leads(*explanation.job) || !red ? verdict + between + text : text + between + verdict;
    const std::string details = diagnose::details_text(*explanation.job);
    if (!details.empty()) text += "\n" + details;
  }
  if (explanation.flight) {
    // The ranks' own records come first: they name the rank, where a log shows only that something hangs.
    const std::string flight = diagnose::to_text(*explanation.flight);
    text = explanation.flight->hangs || text.empty() ? flight + (text.empty() ? "" : "\n" + text)
                                                     : text + "\n" + flight;
  }
  for (const ExplainedFabric& fabric : explanation.fabrics) {
    Run about;
    about.nodes = fabric.nodes;
    std::string head = text.empty() ? "" : "\nOn the subnet\n";
    if (explanation.fabrics.size() > 1)
      head = fmt::format("{}On the subnet of {}\n", text.empty() ? "" : "\n", printable(fabric.path));
    text += head + render_text(fabric.verdict, about, {use_colour(STDOUT_FILENO)});
  }
  for (const NodeGraph& graph : explanation.topologies)
    text += (text.empty() ? "" : "\n") + render_node_graph(graph);
  if (text.empty())
    text =
        "Nothing of this is judged alone: give it together with what the job printed, or with what shows the whole\n"
        "machine, as `nvidia-smi -q` and `lspci -vvv` do\n";
  return text + read_text(explanation);
}

std::vector<Finding> unsound(const Findings& findings) {
  std::vector<Finding> found;
  for (const Finding& finding : findings)
    if (is_red(finding) || finding.status == Status::kUnknown) found.push_back(finding);
  return found;
}

ExplanationDocument explanation_document(const Explanation& explanation) {
  ExplanationDocument document{.inputs = explanation.inputs,
                               .job = explanation.job,
                               .flight = explanation.flight,
                               .topologies = explanation.topologies,
                               .findings = unsound(explanation.machines.findings)};
  for (const ExplainedFabric& fabric : explanation.fabrics) {
    if (!document.fabric) document.fabric.emplace();
    const auto found = unsound(fabric.verdict.findings);
    document.fabric->insert(document.fabric->end(), found.begin(), found.end());
  }
  return document;
}

int exit_code_without_fabric(const Explanation& explanation) {
  if (explanation.flight && explanation.flight->hangs) return kExitFailures;
  const bool machines = explanation.machines.findings.size() > 0 || explanation.flight;
  int code = machines ? explanation.machines.exit_code() : kExitClean;
  if (!has_job(explanation))
    return machines ? code : explanation.topologies.empty() ? kExitCouldNotLook : kExitClean;
  const int job = log_exit_code(*explanation.job);
  // A log that shows a fault outweighs rules that could not look.
  if (code == kExitCouldNotLook) code = kExitClean;
  return std::max(code, job);
}

int explanation_exit_code(const Explanation& explanation) {
  int code = exit_code_without_fabric(explanation);
  // A subnet among the inputs is something to judge, so its verdict replaces "could not look".
  for (const ExplainedFabric& each : explanation.fabrics) {
    const int fabric = each.verdict.exit_code();
    code = code == kExitCouldNotLook ? fabric : fabric == kExitCouldNotLook ? code : std::max(code, fabric);
  }
  return code;
}

}  // namespace

int show_explanation(const Result<Explanation>& explanation, bool as_json, bool all) {
  if (!explanation) return report(explanation.error());
  if (as_json) keep_lines_whole();
  print_result(as_json ? document_text(kExplanationDocument, explanation_document(*explanation))
                       : text_of(*explanation, all));
  return explanation_exit_code(*explanation);
}

}  // namespace railbed
