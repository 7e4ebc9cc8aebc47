// The common parts of `monitor` and `watch`: a process that runs for months and serves pages.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
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

// Tune this process: freed memory returns to the system, and many files may be open at once.
void keep_memory_small();
void allow_many_files();

// Serves until the process is interrupted, and sends changes to the readers of the live page.
void run_with_feed(WebServer& server, LiveFeed& feed);

}  // namespace railbed
