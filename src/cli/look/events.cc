// railbed events: the events that a monitor recorded on this machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>

#include "base/moment.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "monitor/events/event_log.h"
#include "monitor/events/event_text.h"

namespace railbed {
namespace {

constexpr Document<std::vector<NodeEvent>> kEventsDocument{"railbed-events", 1, "events"};

struct EventsOptions {
  std::string folder;
  std::string since;
  std::size_t most = 100;
  bool all = false;
  bool json = false;
};

int events(const EventsOptions& options) {
  double since = -std::numeric_limits<double>::infinity();
  if (!options.since.empty()) {
    const auto moment = parse_since(options.since, now_unix());
    if (!moment)
      return report(
          {ErrorKind::kBadInput, fmt::format("--since {}: say \"1h\", \"2d\" or \"2026-01-19T10:00:00Z\"",
                                             printable(options.since))});
    since = *moment;
  }
  const std::string folder = options.folder.empty() ? default_state_folder() : options.folder;
  const auto logged = read_events(folder, since, options.all ? kMostEventsRead : options.most);
  if (!logged) return report(logged.error());
  // One unreadable line is normal: a kill in the middle of writing leaves it.
  if (logged->unreadable > 1)
    print_to_stderr("railbed: {} lines in {} are no events, and are left out\n", logged->unreadable,
                    printable(folder));
  if (options.all && logged->more)
    print_to_stderr("railbed: {} holds more events; these are the latest {}\n", printable(folder),
                    logged->events.size());
  if (options.json)
    print_document(kEventsDocument, logged->events);
  else if (logged->events.empty())
    fmt::print("Nothing came or went{}.\n", options.since.empty() ? " yet" : " since then");
  else
    fmt::print("{}", events_text(logged->events));
  return kExitClean;
}

}  // namespace

Action declare_events(CLI::App& app) {
  auto options = std::make_shared<EventsOptions>();
  app.add_option(
      "--state", options->folder,
      "the monitor's state folder (default: /var/lib/railbed-monitor, else $XDG_STATE_HOME/railbed)");
  app.add_option("--since", options->since, "those since then: 90s, 30m, 1h, 7d, or 2026-01-19T10:00:00Z");
  auto* most = app.add_option("-n,--lines", options->most, "the latest so many (default: 100)")
                   ->check(between(1, static_cast<int>(kMostEventsRead)));
  app.add_flag("--all", options->all, "all that are kept")->excludes(most);
  add_json_flag(app, options->json, "as one JSON document", kEventsDocument);
  app.footer(
      "\nThe latest stands last. An event is a finding of `railbed verify` that appeared, changed or went,\n"
      "or a fact that changed: firmware, driver, MTU, kernel. Below what appeared stands\n"
      "what had changed of the same device or of the whole node within the day before it, and the remedy.\n"
      "A finding is gone when it has been away for five minutes. One that changes five times in half an hour\n"
      "is reported once, as flapping, with how often and since when, until it has been still for as long.\n\n"
      "railbed events --since 1h\n"
      "railbed events -n 20\n"
      "railbed events --all --json | jq '.events[] | select(.rule == \"rdma.port-state\")'");
  return [options] { return events(*options); };
}

}  // namespace railbed
