// The common parts of `monitor` and `watch`: a process that runs for months and serves pages.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "monitor/events/event_desk.h"
#include "monitor/live/live_feed.h"
#include "monitor/web/web_server.h"

namespace CLI {
class App;
}

namespace railbed {

struct WebServiceOptions {
  std::string listen = {};
  std::string web_config = {};
  bool plain = false;
};

// Adds --listen, --web-config and --plain-http, bound to `options`, which must outlive the parsing.
void add_web_options(CLI::App& app, WebServiceOptions& options);
// Parses the options. Fails if other machines could reach the address and neither --web-config nor
// --plain-http was given.
Result<WebOptions> web_options(const WebServiceOptions& options);

// The options for the memory of a process that watches.
struct MemoryOptions {
  std::string folder = {};
  bool fresh = false;
  int keep_days = static_cast<int>(kKeepEventsSeconds / 86400);
  int keep_mib = static_cast<int>(3 * kEventLogBytes >> 20);
};

// Adds --state, --fresh-state, --keep-days and --keep-mib, bound to `options`, which must outlive the parsing.
// The help names `place` as the default folder.
void add_memory_options(CLI::App& app, MemoryOptions& options, const std::string& place);
// Returns the desk's options that follow, with notes to the terminal. The folder is unchanged if none was named.
EventDeskOptions desk_options(const MemoryOptions& given);

// Tune this process: freed memory returns to the system, and many files may be open at once.
void keep_memory_small();
void allow_many_files();

// Serves until the process is interrupted, and sends changes to the readers of the live page.
void run_with_feed(WebServer& server, LiveFeed& feed);

}  // namespace railbed
