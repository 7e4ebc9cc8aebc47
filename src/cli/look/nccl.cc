// railbed nccl: judges this node's NCCL variables, predicts NCCL's choices, explains its log, shows how a running
// job sees the node, and which of its ranks keeps the others waiting.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/look/nccl_log.h"
#include "cli/look/nccl_ras.h"
#include "cli/look/nccl_running.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "facts/facts.h"
#include "host/open.h"
#include "nccl/choice.h"
#include "nccl/lint.h"
#include "nccl/node_text.h"
#include "nccl/settings.h"

namespace railbed {
namespace {

struct NcclOptions {
  std::string root = "/";
  std::string log;
  std::string version;
  std::optional<int> traffic_class;
  RunningOptions running;
  RasOptions ras;
  bool rails = false;
  bool json = false;
};

struct NcclOutput {
  std::vector<nccl::Complaint> complaints;
  nccl::Choices choices;
  std::string nccl_version;
  bool version_assumed = false;
  FIELDS(NcclOutput, complaints, choices, nccl_version, version_assumed);
};
constexpr Document<NcclOutput> kNcclDocument{"railbed-nccl"};

int exit_code(const std::vector<nccl::Complaint>& complaints) {
  if (complaints.empty() || complaints.front().severity == nccl::Severity::kNote) return kExitClean;
  return complaints.front().severity == nccl::Severity::kError ? kExitFailures : kExitWarnings;
}

int look_at_node(const NcclOptions& options) {
  nccl::Expectation expected{
      .version = {}, .traffic_class = options.traffic_class, .separate_rails = options.rails};
  if (!options.version.empty()) {
    expected.version = nccl::Version::parse(options.version);
    if (!expected.version)
      return report(
          {ErrorKind::kBadInput, fmt::format("--nccl-version {}: write it as 2.28.9", options.version)});
  }
  std::vector<Unread> unread;
  const auto host = open_root(options.root, &unread);
  if (!host) return report(host.error());
  for (const std::string& line : lines_of(unread)) say_to_person(line);
  if (options.ras.asked) return look_at_job(**host, options.ras, options.json);
  if (options.running.asked()) return look_at_running(**host, options.running, expected, options.json);
  const Facts facts = collect_facts(**host);
  if (!expected.version) expected.version = nccl::installed_version(facts.nccl);
  const bool known = expected.version.has_value();
  const nccl::Version version = expected.version.value_or(nccl::kNewestKnown);
  const auto complaints = nccl::lint(facts, expected);
  const auto choices = nccl::predict(facts, expected.version);
  if (options.json) {
    print_document(kNcclDocument, {complaints, choices, version.to_text(), !known});
  } else {
    const auto* gap = untold(facts.nccl);
    if (gap != nullptr)
      fmt::print("Not all of NCCL's variables can be read here ({}). If no others are set:\n",
                 printable(describe(gap->miss(), gap->from())));
    fmt::print("{}", complaints.empty()
                         ? gap == nullptr ? "Nothing is wrong with the NCCL variables of this node.\n" : ""
                         : nccl::to_text(complaints));
    fmt::print("\n{}{}",
               known ? fmt::format("NCCL {} will choose:\n", version.to_text())
                     : fmt::format("No NCCL was found. NCCL {}, the newest that railbed knows, would "
                                   "choose (--nccl-version assumes another):\n",
                                   version.to_text()),
               nccl::to_text(choices));
  }
  return exit_code(complaints);
}

}  // namespace

Action declare_nccl(CLI::App& app) {
  auto options = std::make_shared<NcclOptions>();
  auto* const root = app.add_option("--root", options->root,
                                    "look at this folder, .tree file or sosreport instead of this machine");
  auto* const log = app.add_option("--log", options->log,
                                   "explain this NCCL_DEBUG=INFO log instead; - reads standard input");
  auto* const running =
      app.add_flag("--running", options->running.all,
                   "look at all running processes that have NCCL loaded: what each has, uses and lacks");
  auto* const pid = app.add_option("--pid", options->running.pid, "look at this running process")
                        ->check(between(1, std::numeric_limits<int>::max()))
                        ->excludes(running)
                        ->excludes(log);
  auto* const container =
      app.add_option(
             "--container", options->running.container,
             "look at the job in this container: docker's or podman's name, or 12 digits of its identifier")
          ->excludes(running)
          ->excludes(pid)
          ->excludes(log);
  running->excludes(log);
  auto* const ras =
      app.add_option(
             "--ras", options->ras.address,
             "ask NCCL's RAS service which rank of a running job lags or is gone: at localhost:28028, at the "
             "NCCL_RAS_ADDR of the processes here, or at HOST[:PORT]")
          ->expected(0, 1)
          ->type_name("[HOST[:PORT]]");
  for (auto* const other : {root, log, running, pid, container}) ras->excludes(other);
  app.add_option("--apart", options->ras.apart, "with --ras: seconds between its two answers (default 5)")
      ->check(between(1, 3600))
      ->needs(ras);
  app.add_option("--nccl-version", options->version,
                 "the NCCL that will run, for variables that came or went; else the installed one");
  app.add_option("--traffic-class", options->traffic_class, "what NCCL_IB_TC should be: 104 is DSCP 26");
  app.add_flag("--rails", options->rails, "each NIC of a node has a switch of its own");
  add_json_flag(app, options->json, "print one JSON document", kNcclDocument, kLogDocument, kRunningDocument,
                kRasDocument);
  app.footer(R"(
Examples:
  railbed nccl                         this node: what is set wrongly, what NCCL will choose and why
  railbed nccl --root node.tree        a captured machine
  NCCL_DEBUG=INFO python train.py 2>&1 | tee log; railbed nccl --log log
  sudo railbed nccl --running          jobs as they run: RDMA or TCP now, and the flag a container lacks
  railbed nccl --pid 4242              one process; your own need no root
  railbed nccl --ras                   the job hangs: which rank the others wait for
  sudo railbed nccl --container vllm   what runs in this container

Of a running process only variables of NCCL, UCX, Gloo and of launchers are read, as it was started with; nothing is
changed, attached or stopped. Exit codes: 0 clean, 1 warnings, 2 errors, 3 no such
process, or one that this user may not look into; RAS does not answer. Faults of NCCL have crashed
jobs that were asked as --ras asks: docs/how-to/job-that-hangs.md says which versions.

A log says most with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH,TUNING,ENV and all ranks in one file.)");
  return [options, ras] {
    options->ras.asked = ras->count() > 0;
    return options->log.empty() ? look_at_node(*options) : explain_nccl_log(options->log, options->json);
  };
}

}  // namespace railbed
