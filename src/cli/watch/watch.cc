// railbed watch: a fleet on one live page, read from this machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/fleet_options.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "cli/watch/web_service.h"
#include "inventory/load.h"
#include "monitor/events/event_desk.h"
#include "monitor/fleet_watch.h"
#include "store/store.h"

namespace railbed {
namespace {

constexpr const char* kWatchListen = "127.0.0.1:9886";

struct WatchCommand {
  std::string file = "cluster.yaml";
  WebServiceOptions web{.listen = kWatchListen};
  MemoryOptions memory;
  FleetWatchOptions watch;
  int every = 5;
};

// Returns a folder beside the history: the usual state folder may belong to a monitor of this machine.
std::string default_state(const Cluster& cluster) {
  const std::string store = default_store_path();
  return fmt::format("{}/watch-{}", store.substr(0, store.rfind('/')),
                     cluster.name.empty() ? "cluster" : cluster.name);
}

Result<std::unique_ptr<EventDesk>> open_desk(const WatchCommand& command) {
  EventDeskOptions options = desk_options(command.memory);
  options.node = command.watch.cluster.name.empty() ? "cluster" : command.watch.cluster.name;
  for (const Node& node : command.watch.cluster.nodes) options.nodes.push_back(node.name);
  if (command.memory.folder.empty()) options.folder = default_state(command.watch.cluster);
  return EventDesk::open(std::move(options));
}

WebAnswer answer(LiveFeed& live, const WebRequest& request) {
  if (request.path == "/-/healthy") return {.body = "ok\n"};
  if (auto page = live.answer(request)) return std::move(*page);
  return {.status = 404, .body = "there is /\n"};
}

int run_watch(WatchCommand command) {
  keep_memory_small();
  allow_many_files();
  auto cluster = load_cluster(command.file);
  if (!cluster) return report(cluster.error());
  command.watch.cluster = std::move(*cluster);
  command.watch.every = std::chrono::seconds(command.every);
  auto options = web_options(command.web);
  if (!options) return report(options.error());
  auto desk = open_desk(command);
  if (!desk) return report(desk.error());
  FleetWatch watch(command.watch, **desk, say_to_person);
  LiveFeed live(command.watch.every, [&] { return watch.shown(); });
  auto server =
      WebServer::open(std::move(*options), [&](const WebRequest& request) { return answer(live, request); });
  if (!server) return report(server.error());
  say_to_person((*server)->address() + "/");
  run_with_feed(**server, live);
  return kExitClean;
}

}  // namespace

Action declare_watch(CLI::App& app) {
  auto command = std::make_shared<WatchCommand>();
  app.add_option("cluster.yaml", command->file, "the cluster that is watched")->capture_default_str();
  add_web_options(app, command->web);
  app.add_option("--every", command->every, "seconds between two counts of a node")
      ->check(between(1, 60))
      ->capture_default_str();
  add_memory_options(app, command->memory, "beside the history of runs");
  app.add_option("--root", command->watch.root, "watch captured machines instead: NODE.tree in this folder")
      ->type_name("FOLDER");
  add_fleet_options(app, command->watch.reach);
  app.footer(
      "\nOne page for all nodes: the cluster's picture, rails and their rates, GPUs, what is wrong, since when, and what\n"
      "had changed before it. The nodes need nothing but ssh; one that does not answer is named and asked again. It\n"
      "changes nothing. Examples:\n"
      "  railbed watch cluster.yaml\n"
      "  railbed watch cluster.yaml --listen 127.0.0.1:8080 --every 2\n"
      "  railbed watch cluster.yaml --listen 0.0.0.0:9886 --web-config /etc/railbed/web.yml\n"
      "docs/how-to/watch.md\n\n"
      "Exit codes: 0 it was told to end, 64 it could not begin.");
  return [command] { return run_watch(*command); };
}

}  // namespace railbed
