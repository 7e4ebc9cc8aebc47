// railbed monitor: watches this machine, for Prometheus to scrape, and records events. Its subcommand `files`
// writes the files of Prometheus and Grafana (monitor_files.cc).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/trusted_path.h"
#include "cli/command.h"
#include "cli/look/health.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/watch/monitor_files.h"
#include "cli/watch/monitor_probe.h"
#include "cli/watch/web_service.h"
#include "monitor/events/event_desk.h"
#include "monitor/injection.h"
#include "monitor/live/live_feed.h"
#include "monitor/live/live_node_view.h"
#include "monitor/node_watch.h"
#include "store/store.h"

namespace railbed {
namespace {

// Prometheus ends a scrape after ten seconds unless its configuration has another timeout.
constexpr std::chrono::seconds kScrape{8};
constexpr std::chrono::seconds kLiveEvery{1};
constexpr const char* kDefaultListen = "127.0.0.1:9885";

struct MonitorCommand {
  WatchOptions watch;
  WebServiceOptions web{.listen = kDefaultListen};
  MemoryOptions memory;
  WebhookOptions webhook;
  int every = 60;
  bool once = false;
  std::vector<std::string> inject = {};
  std::string inject_as = "fail";
  ProbeCommand probe;
};

// A look that outlives the monitor reports to nobody.
struct Ending {
  std::mutex mutex;
  bool ended = false;
};

std::string metrics_of(NodeWatch& watch, const EventDesk& desk, const ProbeWatch* probes) {
  NodeState state = watch.state(kScrape);
  if (probes != nullptr) probes->add_to(state);
  for (const auto& [kind, count] : desk.counts().events)
    state.events.emplace(enum_names(kind)[static_cast<std::size_t>(kind)], count);
  for (const auto& [key, since] : desk.since())
    state.since.emplace(std::pair(key.rule, printable(key.subject)), since);
  for (NodeEvent& event : desk.present()) {
    std::pair key(event.rule, printable(event.subject));
    if (event.kind == EventKind::kFlapping) state.flapping.emplace(std::move(key), std::move(event));
  }
  return node_metrics(state);
}

WebAnswer answer(NodeWatch& watch, const EventDesk& desk, const ProbeWatch* probes, LiveFeed& live,
                 const WebRequest& request) {
  if (request.path == "/metrics")
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_of(watch, desk, probes)};
  if (request.path == "/-/healthy") return {.body = "ok\n"};
  if (auto page = live.answer(request)) return std::move(*page);
  return {.status = 404, .body = "there is / and /metrics\n"};
}

Result<std::unique_ptr<EventDesk>> open_desk(const MonitorCommand& command) {
  EventDeskOptions options = desk_options(command.memory);
  options.node = command.watch.node;
  if (!command.webhook.url.empty()) options.webhook = command.webhook;
  return EventDesk::open(std::move(options));
}

// Checks the options of what --once does not start: a service's unit is tried with it.
Result<void> check_unused(const MonitorCommand& command) {
  RETURN_IF_ERROR(web_options(command.web));
  if (!command.webhook.url.empty()) RETURN_IF_ERROR(Webhook::check(command.webhook));
  if (!command.memory.folder.empty()) RETURN_IF_ERROR(check_state_folder(command.memory.folder));
  return {};
}

void say_missed(const std::string& why) { say_to_person("the look at this machine gave nothing: " + why); }

int print_once(const MonitorCommand& command) {
  auto watch = NodeWatch::open(
      command.watch, {.missed = [](const std::string& why, double) { say_missed(why); }}, say_to_person);
  if (!watch) return report(watch.error());
  (*watch)->await_bmc(std::chrono::minutes(1));
  const NodeState state = (*watch)->state(std::chrono::minutes(1));
  keep_lines_whole();
  fmt::print("{}", node_metrics(state));
  if (!state.look) return kExitCouldNotLook;
  // A trial of an alert that was not made must not pass for one.
  return state.look->not_injected.empty() ? kExitClean : kExitUsage;
}

int run_monitor(MonitorCommand command) {
  keep_memory_small();
  allow_many_files();
  command.watch.every = std::chrono::seconds(command.every);
  if (command.watch.node.empty()) command.watch.node = slurm_node_name();
  if (command.watch.history.empty()) command.watch.history = default_store_path();
  auto injections =
      parse_injections(command.inject, command.inject_as == "warn" ? Status::kWarn : Status::kFail);
  if (!injections) return report(injections.error());
  command.watch.injections = std::move(*injections);
  if (command.once)
    if (auto sound = check_unused(command); !sound) return report(sound.error());
  if (command.once && command.probe.probe) return print_probes(command.probe, command.watch);
  if (auto asked = add_bmc(command.probe, command.watch); !asked) return report(asked.error());
  if (command.once) return print_once(command);

  auto options = web_options(command.web);
  if (!options) return report(options.error());
  // Before the desk opens: for another node it would set aside what it remembers of this one.
  if (auto known = check_watched_node(command.watch); !known) return report(known.error());
  auto opened = open_desk(command);
  if (!opened) return report(opened.error());
  const std::shared_ptr<EventDesk> desk = std::move(*opened);
  const auto ending = std::make_shared<Ending>();
  command.watch.watched = std::move(desk->watched()[command.watch.node]);
  NodeWatch::Listener listener;
  listener.seen = [desk, ending, node = command.watch.node](const NodeLook& look) {
    const std::lock_guard lock(ending->mutex);
    if (ending->ended) return;
    desk->look({look.findings}, look.facts, look.when);
    if (look.watched) desk->keep_watched({{node, look.watched}}, look.when);
  };
  listener.missed = [desk, ending](const std::string& why, double now) {
    const std::lock_guard lock(ending->mutex);
    if (ending->ended) return;
    say_missed(why);
    desk->failed_look(why, now);
  };
  auto watch = NodeWatch::open(command.watch, std::move(listener), say_to_person);
  if (!watch) return report(watch.error());
  const auto probes = open_probes(command.probe, command.watch, **watch, say_to_person);
  if (!probes) return report(probes.error());
  const auto view = std::make_shared<LiveNodeView>(**watch, *desk);
  LiveFeed live(kLiveEvery, [view] { return (*view)(); });
  auto server = WebServer::open(std::move(*options), [&](const WebRequest& request) {
    return answer(**watch, *desk, probes->get(), live, request);
  });
  if (!server) return report(server.error());
  say_to_person((*server)->address() + "/metrics");
  run_with_feed(**server, live);
  const std::lock_guard lock(ending->mutex);
  ending->ended = true;
  desk->withdraw_injected();
  return kExitClean;
}

void add_monitor_options(CLI::App& app, MonitorCommand& command) {
  app.add_option("cluster.yaml", command.watch.cluster,
                 "what this machine should be; without it, nothing is expected");
  app.add_option("--node", command.watch.node, "its name there (default: its host name)");
  add_web_options(app, command.web);
  app.add_option("--every", command.every, "seconds between looks at the whole machine")
      ->check(between(5, 86400))
      ->capture_default_str();
  app.add_option("--leave-alone", command.watch.left_alone,
                 "devices that are not opened, by name: for functions that log an error at each look")
      ->delimiter(',')
      ->type_name("DEVICE");
  add_memory_options(app, command.memory, "/var/lib/railbed-monitor for root");
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
  auto* inject =
      app.add_option(
             "--inject", command.inject,
             "make a rule's finding red, to try alerts: RULE, RULE=SUBJECT, or a file of them (its path "
             "has a /); it is marked everywhere, and gone when the monitor ends")
          ->type_name("RULE[=SUBJECT]");
  app.add_option("--inject-as", command.inject_as, "whether it fails or warns")
      ->check(one_of({"fail", "warn"}))
      ->capture_default_str()
      ->needs(inject);
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
      "Exit codes: 0 it was told to end, 3 it could not look, 64 it could not begin, or --once injected less than asked.");
  return [command, chosen] { return *chosen ? (*chosen)() : run_monitor(*command); };
}

}  // namespace railbed
