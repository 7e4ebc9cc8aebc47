// What `monitor` and `watch` share: a process that lives for months and serves pages.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "monitor/live_feed.h"
#include "monitor/web_server.h"

namespace CLI {
class App;
}

namespace railbed {

struct WebServiceOptions {
  std::string listen = {};
  std::string web_config = {};
  bool plain = false;
};

// --listen, --web-config and --plain-http, bound to `options`, which must outlive the parsing.
void add_web_options(CLI::App& app, WebServiceOptions& options);
Result<WebOptions> web_options(const WebServiceOptions& options);

void keep_memory_small();
void allow_many_files();

// Serves until it is interrupted, and tells readers of the live page what changes.
void run_with_feed(WebServer& server, LiveFeed& feed);

}  // namespace railbed
