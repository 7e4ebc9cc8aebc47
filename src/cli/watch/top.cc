// railbed top: a live view of nodes in a terminal.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "cli/command.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/look/health.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "cli/watch/top_terminal.h"
#include "inventory/load.h"
#include "monitor/fleet_watch.h"
#include "monitor/live/ask_live_view.h"
#include "monitor/live/live_node_view.h"
#include "store/store.h"

namespace railbed {
namespace {

constexpr Document<LiveView> kTopDocument{"railbed-live"};

constexpr std::chrono::seconds kEvery{1};
constexpr std::chrono::milliseconds kKeyWait{200};
constexpr std::chrono::seconds kFirstLook{60};

struct TopCommand {
  std::string file;
  std::string from;
  std::string root;
  std::string state;
  ReachOptions reach;
  int every = 5;
  bool once = false;
  bool json = false;
};

using Source = std::function<Result<LiveView>()>;  // must not be called by two threads at once

// Drops messages: they would appear in the middle of the screen, and the view has them as well.
const Hear kNobody = [](std::string_view) {};

// Opens the publisher of events. Its folder is beside the history, apart from that of `railbed watch`, which
// may run at the same time.
Result<std::shared_ptr<EventDesk>> open_desk(const TopCommand& command, const std::string& name,
                                             std::vector<std::string> nodes) {
  const std::string store = default_store_path();
  EventDeskOptions options;
  options.node = name;
  options.nodes = std::move(nodes);
  options.folder = command.state.empty() ? fmt::format("{}/top-{}", store.substr(0, store.rfind('/')), name)
                                         : command.state;
  options.note = [](const std::string&) {};
  ASSIGN_OR_RETURN(auto desk, EventDesk::open(std::move(options)));
  return std::shared_ptr<EventDesk>(std::move(desk));
}

Result<Source> watch_fleet(const TopCommand& command) {
  ASSIGN_OR_RETURN(auto cluster, load_cluster(command.file));
  const std::string name = cluster.name.empty() ? "cluster" : cluster.name;
  std::vector<std::string> nodes;
  for (const Node& node : cluster.nodes) nodes.push_back(node.name);
  ASSIGN_OR_RETURN(auto desk, open_desk(command, name, std::move(nodes)));
  FleetWatchOptions options{std::move(cluster), command.root, command.reach,
                            std::chrono::seconds(command.every)};
  const auto watch = std::make_shared<FleetWatch>(std::move(options), *desk, kNobody);
  // The publisher must outlive the watch, and the order in which a closure destroys its members is
  // unspecified; in a pair it is known.
  return Source([kept = std::pair(desk, watch)]() -> Result<LiveView> { return kept.second->shown().view; });
}

Result<Source> watch_this_node(const TopCommand& command) {
  const std::string name = slurm_node_name();
  auto desk = open_desk(command, name, {});
  if (!desk) return fail(desk.error());
  WatchOptions options;
  options.node = name;
  options.root = command.root;
  NodeWatch::Listener listener;
  listener.seen = [desk = *desk](const NodeLook& look) {
    desk->look({look.findings}, look.facts, look.when);
  };
  listener.missed = [desk = *desk](const std::string& why, double now) { desk->failed_look(why, now); };
  ASSIGN_OR_RETURN(auto opened, NodeWatch::open(std::move(options), std::move(listener), kNobody));
  const std::shared_ptr<NodeWatch> watch = std::move(opened);
  const auto view = std::make_shared<LiveNodeView>(*watch, **desk);
  return Source([desk = *desk, watch, view]() -> Result<LiveView> { return (*view)().view; });
}

Result<Source> source_of(const TopCommand& command) {
  if (!command.from.empty())
    return Source([from = command.from]() -> Result<LiveView> { return ask_live_view(from, interrupted()); });
  return command.file.empty() ? watch_this_node(command) : watch_fleet(command);
}

bool is_whole(const LiveView& view) {
  return !view.nodes.empty() && std::ranges::all_of(view.nodes, [](const LiveNode& node) {
    return node.look_age || (!node.reachable && node.health == Health::kUnreachable);
  });
}

int exit_code(const LiveView& view) {
  if (view.failures != 0) return kExitFailures;
  const bool looked = std::ranges::all_of(view.nodes, &LiveNode::reachable) && !view.nodes.empty();
  if (!looked) return kExitCouldNotLook;
  return view.warnings != 0 ? kExitWarnings : kExitClean;
}

// Prints the view as soon as every node has responded or failed, or the time for that is over.
int print_once(const Source& source, const TopCommand& command) {
  const auto until = std::chrono::steady_clock::now() + kFirstLook;
  auto view = source();
  while (view && !is_whole(*view) && !interrupted().stop_requested() &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kKeyWait);
    view = source();
  }
  if (!view) return report(view.error());
  TopStyle style = TopTerminal::style();
  style.height = 0;
  if (command.json)
    print_document(kTopDocument, *view);
  else
    for (const std::string& line : top_frame(*view, {}, style)) fmt::print("{}\n", line);
  return exit_code(*view);
}

// Reads the source again and again in a thread of its own, so that keys never wait for a node.
class Latest {
 public:
  explicit Latest(Source source)
      : thread_([this, source = std::move(source)](const std::stop_token& stop) { run(source, stop); }) {}

  LiveView view() {
    const std::lock_guard lock(mutex_);
    return view_;
  }

 private:
  void run(const Source& source, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      auto found = source();
      {
        const std::lock_guard lock(mutex_);
        if (found)
          view_ = std::move(*found);
        else
          view_.sentence = found.error().text;
      }
      for (auto waited = kKeyWait; waited < kEvery && !stop.stop_requested(); waited += kKeyWait)
        std::this_thread::sleep_for(kKeyWait);
    }
  }

  std::mutex mutex_;
  LiveView view_ = {};
  std::jthread thread_;  // the last member: it is destroyed first
};

int run_screen(Source source) {
  const std::stop_token stop = interrupted();
  Latest latest(std::move(source));
  const TopTerminal terminal;
  TopPlace place;
  std::vector<std::string> shown;
  while (!stop.stop_requested()) {
    const TopStyle style = TopTerminal::style();
    const LiveView view = latest.view();
    if (!view.findings.empty()) place.selected = std::min(place.selected, view.findings.size() - 1);
    if (auto frame = top_frame(view, place, style); frame != shown) {
      TopTerminal::show(frame);
      shown = std::move(frame);
    }
    for (const TopKey key : TopTerminal::keys(kKeyWait)) {
      if (key == TopKey::kQuit) return kExitClean;
      place = after_key(place, key, view, style);
    }
  }
  return kExitClean;
}

int run_top(const TopCommand& command) {
  const bool screen = !command.once && !command.json;
  if (screen && (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0))
    return report(
        {ErrorKind::kBadInput, "this is no terminal: --once prints what is so now, --json as data"});
  auto source = source_of(command);
  if (!source) return report(source.error());
  return screen ? run_screen(std::move(*source)) : print_once(*source, command);
}

}  // namespace

Action declare_top(CLI::App& app) {
  auto command = std::make_shared<TopCommand>();
  auto* file = app.add_option("cluster.yaml", command->file,
                              "the cluster that is watched, over ssh (default: this machine alone)");
  app.add_option("--from", command->from, "show what a running railbed monitor or railbed watch shows")
      ->type_name("URL")
      ->excludes(file);
  app.add_option("--every", command->every, "seconds between two counts of a node")
      ->check(between(1, 60))
      ->capture_default_str();
  app.add_option("--state", command->state,
                 "folder that remembers events and findings (default: beside the history of runs)")
      ->type_name("FOLDER");
  app.add_option("--root", command->root, "watch captured machines instead")->type_name("PATH");
  app.add_flag("--once", command->once, "print one frame as text, and end");
  add_json_flag(app, command->json, "print the view as JSON, and end", kTopDocument);
  add_fleet_options(app, command->reach);
  app.footer(
      "\nWhat is wrong, since when, and what had changed before it; rails and their rates, GPUs, events. Keys: j and k go through\n"
      "what is wrong, Enter shows the remedy, f faults alone, Space and b page, ? tells them, q leaves. It changes nothing.\n"
      "Examples:\n"
      "  railbed top\n"
      "  railbed top cluster.yaml\n"
      "  railbed top --from http://127.0.0.1:9885/\n"
      "  railbed top cluster.yaml --once\n"
      "docs/how-to/watch.md\n\n"
      "Exit codes: 0 you left; with --once or --json 0 all is well, 1 warnings, 2 failures, 3 could not look; 64 it could not begin.");
  return [command] { return run_top(*command); };
}

}  // namespace railbed
