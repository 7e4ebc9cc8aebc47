#include "cli/watch/web_service.h"

#include <fmt/format.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "os/file_limit.h"

namespace railbed {

void add_web_options(CLI::App& app, WebServiceOptions& options) {
  app.add_option("--listen", options.listen, "where to answer; beyond loopback it wants --web-config")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str();
  auto* config = app.add_option("--web-config", options.web_config,
                                "TLS and passwords: the web configuration file of Prometheus' exporters")
                     ->type_name("FILE");
  app.add_flag("--plain-http", options.plain, "serve other machines without TLS, and everybody who asks")
      ->excludes(config);
}

Result<WebOptions> web_options(const WebServiceOptions& given) {
  RETURN_IF_ERROR(check_listen(given.listen));
  WebOptions options{.listen = given.listen};
  options.note = say_to_person;
  if (!given.web_config.empty()) {
    ASSIGN_OR_RETURN(auto config, read_web_config(given.web_config));
    options.config = std::move(config);
  } else if (!is_loopback(given.listen) && !given.plain) {
    return fail(
        ErrorKind::kBadInput,
        fmt::format(
            "{} can be reached from other machines: --web-config FILE names a certificate and who may "
            "read, --plain-http serves everybody without either",
            given.listen));
  }
  return options;
}

void add_memory_options(CLI::App& app, MemoryOptions& options, const std::string& place) {
  app.add_option("--state", options.folder,
                 fmt::format("folder that remembers events and findings (default: {})", place))
      ->type_name("FOLDER");
  app.add_flag("--fresh-state", options.fresh,
               "begin without what is remembered: renames it, also if a newer railbed wrote it; events stay");
  app.add_option("--keep-days", options.keep_days, "remove events that are older; 0: never by their age")
      ->check(between(0, 36500))
      ->capture_default_str();
  app.add_option("--keep-mib", options.keep_mib, "remove the oldest events beyond this size of them all")
      ->check(between(1, static_cast<int>(3 * kMostEventLogBytes >> 20)))
      ->type_name("MIB")
      ->capture_default_str();
}

EventDeskOptions desk_options(const MemoryOptions& given) {
  EventDeskOptions options;
  if (!given.folder.empty()) options.folder = given.folder;
  options.fresh = given.fresh;
  options.keep_seconds = given.keep_days * 86400.0;
  options.log_bytes = (static_cast<std::size_t>(given.keep_mib) << 20) / 3;
  options.note = say_to_person;
  return options;
}

// The process runs for months and does little at a time, so memory that it frees returns to the system.
void keep_memory_small() {
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, 256 << 10);
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
}

// Counters stay open between scrapes, and so do readers' connections.
void allow_many_files() { allow_open_files(16384); }

void run_with_feed(WebServer& server, LiveFeed& feed) {
  const std::jthread feeder([&](std::stop_token stop) { feed.run(server, stop); });
  server.run(interrupted());
}

}  // namespace railbed
