// railbed monitor: this machine, watched: what Prometheus scrapes, and events of what comes and goes. Its
// subcommand `files` writes Prometheus' and Grafana's own files (monitor_files.cc).
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/health.h"
#include "cli/monitor_files.h"
#include "cli/monitor_probe.h"
#include "cli/terminal.h"
#include "monitor/event_desk.h"
#include "monitor/node_watch.h"
#include "monitor/web_server.h"
#include "store/store.h"

namespace railbed {
namespace {

// A scrape of Prometheus is given up after ten seconds unless its configuration says otherwise.
constexpr std::chrono::seconds kScrape{8};
constexpr std::string_view kDefaultListen = "127.0.0.1:9885";

struct MonitorCommand {
  WatchOptions watch;
  std::string listen = std::string(kDefaultListen);
  std::string web_config;
  bool plain = false;
  std::string state;
  WebhookOptions webhook;
  int every = 60;
  bool once = false;
  ProbeCommand probe;
};

// A process that lives for months and does little at a time: what it frees goes back to the system.
void keep_memory_small() {
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, 256 << 10);
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
}

// Counters stay open between scrapes, and so do readers' connections.
void allow_many_files() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 16384);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

void say(std::string_view line) { fmt::print(stderr, "railbed: {}\n", printable(line)); }

std::string metrics_of(NodeWatch& watch, const EventDesk& desk, const ProbeWatch* probes) {
  NodeState state = watch.state(kScrape);
  if (probes != nullptr) probes->add_to(state);
  for (const auto& [kind, count] : desk.counts().events)
    state.events.emplace(enum_names(kind)[static_cast<std::size_t>(kind)], count);
  for (const auto& [key, since] : desk.since())
    state.since.emplace(std::pair(key.rule, printable(key.subject)), since);
  return node_metrics(state);
}

WebAnswer answer(NodeWatch& watch, const EventDesk& desk, const ProbeWatch* probes,
                 const WebRequest& request) {
  if (request.path == "/metrics")
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_of(watch, desk, probes)};
  if (request.path == "/-/healthy") return {.body = "ok\n"};
  if (request.path == "/")
    return {.type = "text/html; charset=utf-8",
            .body =
                "<!doctype html><html lang=\"en\"><title>railbed monitor</title><h1>railbed monitor</h1>"
                "<p><a href=\"/metrics\">metrics</a></p></html>\n"};
  return {.status = 404, .body = "there is /metrics\n"};
}

Result<WebOptions> web_options(const MonitorCommand& command) {
  WebOptions options{.listen = command.listen};
  options.note = say;
  if (!command.web_config.empty()) {
    auto config = read_web_config(command.web_config);
    if (!config) return fail(config.error());
    options.config = std::move(*config);
  } else if (!is_loopback(command.listen) && !command.plain) {
    return fail(
        ErrorKind::kBadInput,
        fmt::format(
            "{} can be reached from other machines: --web-config FILE names a certificate and who may "
            "read, --plain-http serves everybody without either",
            command.listen));
  }
  return options;
}

Result<std::unique_ptr<EventDesk>> open_desk(const MonitorCommand& command) {
  EventDeskOptions options{.node = command.watch.node};
  if (!command.state.empty()) options.folder = command.state;
  if (!command.webhook.url.empty()) options.webhook = command.webhook;
  options.note = [](const std::string& line) { say(line); };
  return EventDesk::open(std::move(options));
}

int print_once(const MonitorCommand& command) {
  auto watch = NodeWatch::open(command.watch, {}, say);
  if (!watch) return report(watch.error());
  (*watch)->await_bmc(std::chrono::minutes(1));
  const NodeState state = (*watch)->state(std::chrono::minutes(1));
  fmt::print("{}", node_metrics(state));
  return state.look ? kExitClean : kExitCouldNotLook;
}

int run_monitor(MonitorCommand command) {
  keep_memory_small();
  allow_many_files();
  command.watch.every = std::chrono::seconds(command.every);
  if (command.watch.node.empty()) command.watch.node = slurm_node_name();
  if (command.watch.history.empty()) command.watch.history = default_store_path();
  if (command.once && command.probe.probe) return print_probes(command.probe, command.watch);
  if (auto asked = add_bmc(command.probe, command.watch); !asked) return report(asked.error());
  if (command.once) return print_once(command);

  auto options = web_options(command);
  if (!options) return report(options.error());
  auto opened = open_desk(command);
  if (!opened) return report(opened.error());
  const std::shared_ptr<EventDesk> desk = std::move(*opened);
  NodeWatch::Listener listener;
  listener.seen = [desk](const NodeLook& look) { desk->look({look.findings}, look.facts, look.when); };
  listener.missed = [desk](const std::string& why, double now) {
    say("the look at this machine gave nothing: " + why);
    desk->failed_look(why, now);
  };
  auto watch = NodeWatch::open(command.watch, std::move(listener), say);
  if (!watch) return report(watch.error());
  const auto probes = open_probes(command.probe, command.watch, **watch, say);
  if (!probes) return report(probes.error());
  auto server = WebServer::open(std::move(*options), [&](const WebRequest& request) {
    return answer(**watch, *desk, probes->get(), request);
  });
  if (!server) return report(server.error());
  say((*server)->address() + "/metrics");
  (*server)->run(interrupted());
  return kExitClean;
}

void add_monitor_options(CLI::App& app, MonitorCommand& command) {
  app.add_option("cluster.yaml", command.watch.cluster,
                 "what this machine should be; without it, nothing is expected");
  app.add_option("--node", command.watch.node, "its name there (default: its host name)");
  app.add_option("--listen", command.listen, "where to answer; beyond loopback it wants --web-config")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str();
  auto* config = app.add_option("--web-config", command.web_config,
                                "TLS and passwords: the web configuration file of Prometheus' exporters")
                     ->type_name("FILE");
  app.add_flag("--plain-http", command.plain, "serve other machines without TLS, and everybody who asks")
      ->excludes(config);
  app.add_option("--every", command.every, "seconds between looks at the whole machine")
      ->check(CLI::Range(5, 86400))
      ->capture_default_str();
  app.add_option("--leave-alone", command.watch.left_alone,
                 "devices of which nothing is opened, by name: for functions that log each look as an error")
      ->delimiter(',')
      ->type_name("DEVICE");
  app.add_option("--state", command.state,
                 "folder that remembers events and findings (default: /var/lib/railbed for root)")
      ->type_name("FOLDER");
  auto* webhook =
      app.add_option("--webhook", command.webhook.url, "send events there, in Alertmanager's format")
          ->type_name("URL");
  app.add_option("--webhook-token-file", command.webhook.token_file,
                 "holds the bearer token that it wants; its mode must be 0600")
      ->type_name("FILE")
      ->needs(webhook);
  app.add_option("--store", command.watch.history,
                 "history of measurements that is shown beside the counters")
      ->type_name("FILE");
  app.add_option("--root", command.watch.root,
                 "watch a captured machine instead: a folder like /, or a .tree file")
      ->type_name("PATH");
  app.add_flag("--once", command.once, "print what a scrape would show, or a round of --probe, and end");
  add_probe_options(app, command.probe);
}

}  // namespace

Action declare_monitor(CLI::App& app) {
  auto command = std::make_shared<MonitorCommand>();
  auto chosen = std::make_shared<Action>();
  add_monitor_options(app, *command);
  add_monitor_files(app, chosen);
  app.footer(
      "\nA small process for each node: it shows Prometheus what node_exporter, dcgm-exporter and the verify rules show,\n"
      "under the names that dashboards know, and keeps findings that come and go as events (`railbed events`). It changes\n"
      "nothing and needs no root, but sees more as root. Examples:\n"
      "  railbed monitor --once\n"
      "  railbed monitor cluster.yaml\n"
      "  railbed monitor /etc/railbed/cluster.yaml --listen 0.0.0.0:9885 --web-config /etc/railbed/web.yml\n"
      "  railbed monitor cluster.yaml --probe --probe-secret-file /etc/railbed/probe.secret --bmc\n"
      "  railbed monitor files cluster.yaml -o /etc/prometheus\n\n"
      "Exit codes: 0 it was told to end, 3 it could not look, 64 it could not begin.");
  return [command, chosen] { return *chosen ? (*chosen)() : run_monitor(*command); };
}

}  // namespace railbed
