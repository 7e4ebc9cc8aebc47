// railbed fabric: an InfiniBand subnet: discovery, comparison with its plan, and its managers.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "base/files.h"
#include "base/moment.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/look/fabric_look.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "fabric/discover.h"
#include "fabric/judge.h"
#include "fabric/managers.h"
#include "fabric/planes.h"
#include "fabric/topology_file.h"
#include "host/open.h"
#include "inventory/load.h"
#include "os/wait.h"
#include "report/documents.h"
#include "report/findings.h"
#include "report/picture/fabric_svg.h"
#include "report/text/fabric_counters.h"
#include "report/text/fabric_text.h"

namespace railbed {
namespace {

struct FabricOptions {
  std::function<int(const FabricOptions&)> what;
  std::string from, device;
  int port = 0;
  std::string cluster, plan, learn, svg, output;
  double window = 10;
  std::optional<double> oversubscription;
  bool json = false, junit = false, prom = false, dump = false, all = false;
};

// Sleeps; returns false if Ctrl-C interrupted it.
bool wait_for(std::chrono::duration<double> span) { return wait_unless_stopped(span, interrupted()); }

Result<FabricLook> look(const FabricOptions& options) {
  return look_at_fabric(options.from, options.device, options.port);
}

int discover(const FabricOptions& options) {
  auto looked = look(options);
  if (!looked) return report(looked.error());
  if (!options.dump) merge_planes(looked->fabric);
  if (!options.svg.empty())
    if (const auto written = write_file(options.svg, fabric_svg(looked->fabric)); !written)
      return report(written.error());
  if (options.json)
    print_result(fabric_json(looked->fabric));
  else if (options.dump)
    fmt::print("{}", topology_text(looked->fabric));
  else if (options.svg.empty())
    fmt::print("{}", fabric_text(looked->fabric));
  return kExitClean;
}

Result<FabricEvidence> gather(const FabricOptions& options) {
  FabricEvidence evidence;
  if (!options.cluster.empty()) {
    ASSIGN_OR_RETURN(const auto cluster, load_cluster(options.cluster));
    evidence.hosts = infiniband_hosts(cluster);
    if (evidence.hosts.empty())
      return fail(ErrorKind::kBadInput, options.cluster + ": no rail is infiniband");
  }
  if (!options.plan.empty()) {
    ASSIGN_OR_RETURN(auto plan, fabric_of_file(options.plan));
    evidence.plan = std::move(plan);
  }
  ASSIGN_OR_RETURN(auto looked, look(options));
  evidence.fabric = std::move(looked.fabric);
  evidence.from = looked.from;
  evidence.oversubscription = options.oversubscription;
  if (!looked.door) return evidence;
  progress(options.window > 0 ? fmt::format("counting errors for {:g} s", options.window)
                              : "reading error counters");
  auto counters =
      read_ib_counters(*looked.door, evidence.fabric, options.window, wait_for, limits_of_terminal());
  clear_progress();
  if (!counters) return fail(counters.error());
  evidence.counters = std::move(*counters);
  merge_planes(evidence.fabric, &*evidence.counters);
  return evidence;
}

int learn_plan(const FabricOptions& options, const FabricEvidence& evidence, const Verdict& verdict) {
  if (const Finding* hole = against_learning(verdict); hole != nullptr) {
    print_to_stderr(
        "railbed: {} was not written, for this would become the plan: {}\n"
        "If it is meant, `railbed fabric discover --ibnetdiscover` prints the subnet as it is.\n",
        options.learn, hole->message);
    return verdict.exit_code() == kExitFailures ? kExitFailures : kExitWarnings;
  }
  if (const auto written = write_file(options.learn, topology_text(evidence.fabric)); !written)
    return report(written.error());
  print_to_stderr("wrote {}\n", options.learn);
  return verdict.exit_code();
}

int verify_it(const FabricOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto evidence = gather(options);
  if (!evidence) return report(evidence.error());
  const Verdict verdict = verify_fabric(*evidence);
  if (!options.svg.empty())
    if (const auto written = write_file(options.svg, fabric_svg(FabricView(*evidence), verdict.findings));
        !written)
      return report(written.error());
  Run about;
  about.nodes = evidence->fabric.nodes.size();
  if (options.from.empty()) {
    about.started_at = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    about.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  print_result(options.json    ? render_json(verdict, about)
               : options.junit ? render_junit(verdict, about)
                               : render_text(verdict, about, {use_colour(STDOUT_FILENO), 100, options.all}));
  return options.learn.empty() ? verdict.exit_code() : learn_plan(options, *evidence, verdict);
}

int count(const FabricOptions& options) {
  const auto looked = look(options);
  if (!looked) return report(looked.error());
  progress("reading counters");
  const auto counters = read_ib_totals(*looked->door, looked->fabric, limits_of_terminal());
  clear_progress();
  if (!counters) return report(counters.error());
  if (options.prom) keep_lines_whole();
  const std::string text = options.prom   ? counters_prometheus(looked->fabric, *counters)
                           : options.json ? counters_json(looked->fabric, *counters)
                                          : counters_text(looked->fabric, *counters);
  if (options.output.empty()) {
    print_result(text);
  } else if (const auto written = write_file(options.output, text); !written) {
    return report(written.error());
  }
  return counters->unanswered > 0 ? kExitCouldNotLook : kExitClean;
}

int look_at_sm(const FabricOptions& options) {
  auto looked = look(options);
  if (!looked) return report(looked.error());
  const IbFabric before = looked->fabric;
  if (options.window > 0 && !before.managers.empty()) {
    progress(fmt::format("watching the managers for {:g} s", options.window));
    if (!wait_for(std::chrono::duration<double>(options.window)))
      return report({ErrorKind::kCancelled, "stopped"});
    clear_progress();
  }
  ask_managers(*looked->door, looked->fabric, limits_of_terminal());
  ManagerLook managers = look_at_managers(before, looked->fabric, options.window);
  managers.routing = configured_routing(*open_this_machine());
  print_result(options.json ? managers_json(managers) : managers_text(managers));
  return managers.exit_code();
}

CLI::App* declare_one(CLI::App& app, const std::shared_ptr<FabricOptions>& options, const char* name,
                      const char* help, int (*what)(const FabricOptions&)) {
  CLI::App* command = app.add_subcommand(name, help);
  command->callback([options, what] { options->what = what; });
  auto* device = command->add_option("--device", options->device,
                                     "ask through this device: mlx5_0; else the first with a link");
  command->add_option("--port", options->port, "and this port of it")->check(between(1, 254))->needs(device);
  return command;
}

void add_from(CLI::App& app, FabricOptions& options) {
  app.add_option("--from", options.from,
                 "read a file of ibnetdiscover, `railbed fabric discover --ibnetdiscover`, iblinkinfo or "
                 "ibdiagnet (ibdiagnet2.db_csv, .net_dump) instead of the subnet")
      ->excludes("--device");
}

}  // namespace

Action declare_fabric(CLI::App& app) {
  auto options = std::make_shared<FabricOptions>();
  app.require_subcommand(1);
  app.footer(
      "\nAsks by management datagrams, as root or as who may open /dev/infiniband/umad*; changes nothing. Examples:\n"
      "  railbed fabric discover --svg fabric.svg\n"
      "  railbed fabric verify --learn plan.topo        once it is healthy\n"
      "  railbed fabric verify --plan plan.topo\n"
      "  railbed fabric verify --from dump --plan plan.topo --svg fabric.svg\n"
      "  railbed fabric topology --format slurm > /etc/slurm/topology.conf\n"
      "  railbed fabric counters --prom --output /var/lib/prometheus/node-exporter/railbed-fabric.prom\n"
      "  railbed fabric sm\n\n"
      "Exit codes: 0 clean, 1 warnings, 2 failures found, 3 could not look.");

  CLI::App* found =
      declare_one(app, options, "discover", "switches, HCAs and the cables between them", discover);
  add_from(*found, *options);
  auto* dump = found->add_flag("--ibnetdiscover", options->dump, "print it in the format of ibnetdiscover");
  add_json_flag(*found, options->json, "print one JSON document", kFabricDocument)->excludes(dump);
  found->add_option("--svg", options->svg, "draw it into this file");

  CLI::App* judged =
      declare_one(app, options, "verify", "what is wrong with cables, ports and their counters", verify_it);
  judged->add_option("cluster.yaml", options->cluster,
                     "every node of its InfiniBand rails has to be in the subnet");
  add_from(*judged, *options);
  judged->add_option("--plan", options->plan, "the cables as they should be, in the format of ibnetdiscover");
  judged->add_option("--learn", options->learn, "write the plan there, unless something is broken");
  judged->add_option("--svg", options->svg,
                     "draw the subnet into this file, with the findings where they are");
  judged
      ->add_option("--window", options->window,
                   "seconds between two readings of the error counters; 0: one reading")
      ->check(between(0.0, 86400.0))
      ->capture_default_str();
  judged
      ->add_option("--oversubscription", options->oversubscription, "the most that a leaf may have: 2 is 2:1")
      ->check(between(0.01, 1000.0));
  auto* json = add_json_flag(*judged, options->json, "print one JSON document", kFindingsDocument);
  judged->add_flag("--junit", options->junit, "print JUnit XML, for CI")->excludes(json);
  judged->add_flag("--all", options->all, "list what passed and what does not apply, too");

  declare_fabric_topology(app, [options](const std::function<int()>& run) {
    options->what = [run](const FabricOptions&) { return run(); };
  });

  CLI::App* counted =
      declare_one(app, options, "counters", "what every port has counted, as totals for a monitor", count);
  auto* prometheus = counted->add_flag("--prom", options->prom,
                                       "print Prometheus text, for node_exporter's textfile collector");
  add_json_flag(*counted, options->json, "print one JSON document", kCountersDocument)->excludes(prometheus);
  counted->add_option("--output,-o", options->output,
                      "write it there: the old file or the whole new one, never half");

  CLI::App* managers = declare_one(app, options, "sm",
                                   "who manages the subnet, whether it works, and how it routes", look_at_sm);
  managers->add_option("--window", options->window, "seconds between two looks at a manager's activity")
      ->check(between(0.0, 86400.0))
      ->capture_default_str();
  add_json_flag(*managers, options->json, "print one JSON document", kManagersDocument);
  return [options] { return options->what(*options); };
}

}  // namespace railbed
