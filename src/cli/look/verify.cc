// railbed verify: finds faults of this machine or cluster, and shows how to fix them.
#include "verify/verify.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "base/files.h"
#include "base/moment.h"
#include "base/wipe.h"
#include "campaign/change/bmc_nodes.h"
#include "campaign/look/after_reboot.h"
#include "campaign/look/gather.h"
#include "cli/bmc/bmc_options.h"
#include "cli/change/learn.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/look/health.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "host/calls.h"
#include "report/documents.h"
#include "report/findings.h"

namespace railbed {
namespace {

struct VerifyOptions {
  Sources sources;
  std::string form;  // json, junit, prom, slurm, npd; empty: text
  std::string output;
  bool all = false;
  bool learn = false;
  bool yes = false;
  bool after_reboot = false;
  bool bmc = false;
  ReachOptions reach;
};

bool is_health_check(const VerifyOptions& options) {
  return options.form == "slurm" || options.form == "npd";
}

int run_health_check(const VerifyOptions& options) {
  Sources sources = options.sources;
  sources.only = slurm_node_name();
  const auto evidence = gather_evidence(sources, options.reach, terminal_caller());
  const Result<Verdict> verdict = evidence ? Result<Verdict>(verify(*evidence))
                                           : Result<Verdict>(tl::unexpected<Error>(evidence.error()));
  return options.form == "slurm" ? report_to_slurm(*sources.only, verdict) : report_problem(verdict);
}

std::size_t terminal_width() {
  winsize size = {};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40;
  return known ? size.ws_col : TextOptions{}.width;
}

std::string render(const VerifyOptions& options, const Verdict& verdict, const Run& about) {
  if (options.form == "json") return render_json(verdict, about);
  if (options.form == "junit") return render_junit(verdict, about);
  if (options.form == "prom") return render_prometheus(verdict, about);
  const bool here = options.output.empty();
  return render_text(
      verdict, about,
      {here && use_colour(STDOUT_FILENO), here ? terminal_width() : TextOptions{}.width, options.all});
}

int run_verify(const VerifyOptions& options) {
  if (is_health_check(options) && !options.reach.nodelist.empty())
    return report({ErrorKind::kBadInput, "a health check looks at this machine alone: leave the nodes out"});
  if (is_health_check(options)) return run_health_check(options);
  if (!options.reach.nodelist.empty() && options.sources.cluster.empty() &&
      options.reach.launcher == fleet::Launcher::kSsh)
    return report({ErrorKind::kBadInput, "these are nodes of which cluster.yaml? Name it before them"});
  if (!options.output.empty())
    if (auto ready = check_writable(options.output); !ready) return report(ready.error());
  if (options.learn && options.sources.cluster.empty())
    return report({ErrorKind::kBadInput, "--learn adds to a cluster.yaml: name it"});
  if (options.after_reboot && (options.sources.cluster.empty() || !options.sources.live()))
    return report({ErrorKind::kBadInput, "--after-reboot asks the nodes of a cluster.yaml: name it alone"});
  if (options.after_reboot && options.reach.launcher != fleet::Launcher::kSsh)
    return report({ErrorKind::kBadInput, "--after-reboot asks as root, over ssh: leave --launcher out"});
  if (options.bmc && (options.sources.cluster.empty() || !options.sources.live()))
    return report({ErrorKind::kBadInput, "--bmc asks the BMCs that a cluster.yaml names: name it alone"});
  const auto begin = std::chrono::steady_clock::now();
  Sources sources = options.sources;
  sources.containers = options.form != "prom";  // a timer runs that one
  sources.collect.asks_site = sources.containers;
  Run about;
  // Files give the same result on another day: only live machines are dated.
  if (options.sources.live())
    about.started_at = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  std::optional<BmcPlaces> bmcs;
  if (options.bmc) {
    auto places = open_places({.cluster = sources.cluster, .nodes = nodes_in(options.reach)});
    if (!places) return report(places.error());
    bmcs = std::move(*places);
  }
  // Only --after-reboot runs agents as root: here they see what a user of the node sees, and so what a job
  // will see.
  ReachOptions reach = options.reach;
  reach.as_root = false;
  auto evidence = gather_evidence(sources, std::move(reach), terminal_caller());
  if (!evidence) return report(evidence.error());
  if (options.after_reboot)
    if (auto added = add_after_reboot(sources.cluster, options.reach, terminal_caller(), *evidence); !added)
      return report(added.error());
  if (bmcs) evidence->bmcs = look_at_all(*bmcs);
  const bool in_words = options.form.empty() && !options.all && !options.learn;
  const Verdict verdict = verify(*evidence, in_words ? Keep::kUnsound : Keep::kAll);
  if (options.learn) return run_learn(options.sources.cluster, *evidence, verdict, options.yes);
  about.differences = find_differences(*evidence);
  about.cluster = evidence->cluster.name;
  about.nodes = evidence->nodes.size() + evidence->unreachable.size();
  if (!about.started_at.empty())
    about.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::string text = render(options, verdict, about);
  if (!options.form.empty()) keep_lines_whole();
  if (options.output.empty())
    print_result(text);
  else if (const auto written = write_file(options.output, text); !written)
    return report(written.error());
  return verdict.exit_code();
}

void exclude_each_other(const std::vector<CLI::Option*>& options) {
  for (CLI::Option* option : options)
    for (CLI::Option* other : options)
      if (option != other) option->excludes(other);
}

}  // namespace

Action declare_verify(CLI::App& app) {
  auto options = std::make_shared<VerifyOptions>();
  app.add_option("cluster.yaml", options->sources.cluster,
                 "look at every node it names; without it, at this machine");
  auto* root = app.add_option(
      "--root", options->sources.root,
      "look at a captured machine instead: a folder like /, a .tree file, what was sent to support (sosreport, "
      "nvidia-bug-report, command outputs), or a folder of them");
  app.add_option("--facts", options->sources.facts, "judge facts that `railbed facts --json` printed");
  app.add_option("--measurements", options->sources.measurements,
                 "judge what `railbed bench --json` printed, too");
  const auto form = [&](const std::string& flag, const std::string& name, const std::string& help) {
    return app.add_flag_callback(
        flag, [options, name] { options->form = name; }, help);
  };
  declare_document(kFindingsDocument);
  auto* json = form("--json", "json", "print one JSON document");
  auto* junit = form("--junit", "junit", "print JUnit XML, for CI");
  auto* prometheus = form("--prom", "prom", "print Prometheus text, for node_exporter's textfile collector");
  auto* slurm = form("--slurm", "slurm",
                     "as Slurm's HealthCheckProgram: look at this node, print one line, "
                     "drain it on failures and take back that drain, no other, once they are mended");
  auto* problem = form("--node-problem-detector", "npd",
                       "as a plugin of Kubernetes' node-problem-detector: look at this node, print one line, "
                       "exit with 0 OK, 1 problem, 2 could not look");
  exclude_each_other({json, junit, prometheus, slurm, problem});
  auto* output =
      app.add_option("-o,--output", options->output,
                     "write there instead of printing: the whole new file or the old one, never half");
  auto* load = app.add_option("--load", options->sources.collect.load_seconds,
                              "put the GPUs under load and judge what error counters do meanwhile, "
                              "for so many seconds (default 10)")
                   ->expected(0, 1)
                   ->default_str(std::to_string(kLoadSeconds))
                   ->check(between(1, kMaxLoadSeconds));
  // A health check prints only its one line, and runs beside jobs, which a load would disturb.
  for (CLI::Option* option : {output, load}) option->excludes(slurm)->excludes(problem);
  app.add_option("--since", options->sources.collect.log_since,
                 "judge the kernel log from then on, not since boot: 30m, 1h, 7d or 2026-01-19T10:00:00Z")
      ->check([](const std::string& text) {
        return parse_since(text, now_unix()) ? "" : "not a time; write 30m, 1h, 7d or 2026-01-19T10:00:00Z";
      })
      ->excludes(root);
  app.add_flag(
      "--after-reboot", options->after_reboot,
      "judge as well whether each node has rebooted since railbed changed it, and is as cluster.yaml "
      "says; asks as root");
  auto* bmc = app.add_flag(
      "--bmc", options->bmc,
      "ask each node's BMC as well: power, sensors, event log, clock, console, and one login with "
      "its maker's default");
  for (CLI::Option* option : {slurm, problem}) bmc->excludes(option);
  app.add_flag("--all", options->all, "list what passed and what does not apply, too");
  auto* learn = app.add_flag("--learn", options->learn,
                             "add what the healthy nodes show to cluster.yaml's expectations; asks first");
  for (CLI::Option* option : {json, junit, prometheus, slurm, problem, output}) learn->excludes(option);
  app.add_flag("--yes", options->yes, "with --learn: do not ask")->needs(learn);
  add_fleet_options(app, options->reach);
  add_launcher_options(app, options->reach);
  add_node_arguments(app, options->reach);
  add_root_options(app, options->reach);
  app.footer(
      "\nNothing is changed on any machine, but for this node's state in Slurm by --slurm. "
      "Each finding names\n"
      "what it read; `railbed explain RULE` says why it matters. Examples:\n"
      "  railbed verify\n"
      "  railbed verify cluster.yaml\n"
      "  railbed verify --root tests/machines/v100-40g-at-10g\n\n"
      "Exit codes: 0 clean, 1 warnings, 2 failures found, 3 could not look.");
  return [options] {
    const int status = run_verify(*options);
    wipe(options->reach.sudo_password);
    return status;
  };
}

}  // namespace railbed
