// railbed monitor: this machine, watched: what Prometheus scrapes.
#include <fmt/format.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <thread>

#include "base/text.h"
#include "cli/command.h"
#include "cli/health.h"
#include "cli/terminal.h"
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
  int every = 60;
  bool once = false;
};

// A process that lives for months and does little at a time: what it frees goes back to the system.
void keep_memory_small() {
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, 256 << 10);
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
}

WebAnswer answer(NodeWatch& watch, const WebRequest& request) {
  if (request.path == "/metrics")
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = node_metrics(watch.state(kScrape))};
  if (request.path == "/-/healthy") return {.body = "ok\n"};
  if (request.path == "/")
    return {
        .type = "text/html; charset=utf-8",
        .body =
            "<!doctype html><title>railbed</title><h1>railbed monitor</h1><p><a href=\"/metrics\">metrics</a></p>\n"};
  return {.status = 404, .body = "there is /metrics\n"};
}

Result<WebOptions> web_options(const MonitorCommand& command) {
  WebOptions options{.listen = command.listen};
  if (!command.web_config.empty()) {
    auto config = read_web_config(command.web_config);
    if (!config) return fail(config.error());
    options.config = std::move(*config);
  }
  return options;
}

int run_monitor(MonitorCommand command) {
  keep_memory_small();
  command.watch.every = std::chrono::seconds(command.every);
  if (command.watch.node.empty()) command.watch.node = slurm_node_name();
  const auto note = [](std::string_view line) { fmt::print(stderr, "railbed: {}\n", printable(line)); };
  NodeWatch::Listener listener;
  listener.missed = [note](const std::string& why) { note("the look at this machine gave nothing: " + why); };
  auto watch = NodeWatch::open(command.watch, std::move(listener), note);
  if (!watch) return report(watch.error());
  if (command.once) {
    const NodeState state = (*watch)->state(std::chrono::minutes(1));
    fmt::print("{}", node_metrics(state));
    return state.look ? kExitClean : kExitCouldNotLook;
  }
  auto options = web_options(command);
  if (!options) return report(options.error());
  auto server = WebServer::open(std::move(*options),
                                [&](const WebRequest& request) { return answer(**watch, request); });
  if (!server) return report(server.error());
  fmt::print(stderr, "railbed: {}/metrics\n", (*server)->address());
  (*server)->run(interrupted());
  return kExitClean;
}

}  // namespace

Action declare_monitor(CLI::App& app) {
  auto command = std::make_shared<MonitorCommand>();
  app.add_option("cluster.yaml", command->watch.cluster,
                 "what this machine should be; without it, nothing is expected");
  app.add_option("--node", command->watch.node, "its name there (default: its host name)");
  app.add_option("--listen", command->listen, "where to answer; beyond loopback it wants --web-config")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str();
  app.add_option("--web-config", command->web_config,
                 "TLS and passwords: the web configuration file of Prometheus' exporters")
      ->type_name("FILE");
  app.add_option("--every", command->every, "seconds between looks at the whole machine")
      ->check(CLI::Range(5, 86400))
      ->capture_default_str();
  app.add_option("--leave-alone", command->watch.left_alone,
                 "devices of which nothing is opened, by name: for functions that log each look as an error")
      ->delimiter(',')
      ->type_name("DEVICE");
  app.add_option("--store", command->watch.history,
                 "history of measurements that is shown beside the counters")
      ->type_name("FILE")
      ->default_str("the user's own");
  app.add_option("--root", command->watch.root,
                 "watch a captured machine instead: a folder like /, or a .tree file")
      ->type_name("PATH");
  app.add_flag("--once", command->once, "print what a scrape would show, and end");
  app.footer(
      "\nA small process for each node: it shows Prometheus what node_exporter, dcgm-exporter and the verify rules show,\n"
      "under the names that dashboards know. It changes nothing and needs no root, but sees more as root. Examples:\n"
      "  railbed monitor --once\n"
      "  railbed monitor cluster.yaml\n"
      "  railbed monitor /etc/railbed/cluster.yaml --listen 0.0.0.0:9885 --web-config /etc/railbed/web.yml\n\n"
      "Exit codes: 0 it was told to end, 3 it could not look, 64 it could not begin.");
  return [command] {
    if (command->watch.history.empty()) command->watch.history = default_store_path();
    return run_monitor(*command);
  };
}

}  // namespace railbed
