// The web service of `railbed monitor` and `railbed watch`. One thread handles all connections, so that a
// thousand slow, silent or hostile clients cost a bounded amount of memory and do not block others. The
// handler makes the pages on other threads (docs/decisions/0013).
//
// A client that exceeds its deadline, sends more than a request may hold, or exceeds the limit of connections
// receives an error or is disconnected. Only GET and HEAD are supported. A service on a loopback address
// requires that the Host header, if present, names that address. So a page of another site cannot read the
// service through the user's browser.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "monitor/web/web_config.h"

namespace railbed {

// A request for the handler.
struct WebRequest {
  std::string path;   // decoded: "/metrics"
  std::string query;  // the part after "?", not decoded
};

// A response.
struct WebAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  // Headers in addition to those of every response, such as a page's Content-Security-Policy.
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// Makes a response. Called from several threads at once. An exception becomes a response 500. run() waits for
// calls in progress before it returns.
using WebHandler = std::function<WebAnswer(const WebRequest&)>;

// The deadlines of a connection's states (web_connection.h).
struct WebDeadlines {
  std::chrono::milliseconds request{10'000};  // for a whole request, however slowly it arrives
  std::chrono::milliseconds idle{75'000};     // between two requests
  std::chrono::milliseconds making{10'000};   // until a thread is free to make the response
  std::chrono::milliseconds taking{30'000};   // for each 64 KiB of a response to be accepted
};

// Settings of a service.
struct WebOptions {
  // ADDRESS:PORT, [IPV6]:PORT, or :PORT for all addresses; port 0 for any free port
  std::string listen = "127.0.0.1:0";
  WebConfig config = {};  // TLS and users
  // Limit for connections; lower if the process may not open that many files.
  std::size_t most_readers = 1024;
  std::size_t most_greeting = 512;  // limit for those in a TLS handshake
  std::size_t most_streams = 64;    // limit for those that are streams of events
  // Interval of comments in streams, which keep proxies from closing them.
  std::chrono::milliseconds comment_every{15'000};
  WebDeadlines deadlines = {};
  // Receives messages for the administrator, such as that a renewed certificate cannot be used. Called from
  // the thread of run().
  std::function<void(std::string_view)> note = {};
};

// Returns an error unless `listen` has the form ADDRESS:PORT, [IPV6]:PORT or :PORT.
Result<void> check_listen(std::string_view listen);
// Returns whether only this machine can reach the address. False for an invalid address, too.
bool is_loopback(std::string_view listen);

// See the head of this file.
class WebServer {
 public:
  // Starts to listen. Requests are handled once run() is called.
  static Result<std::unique_ptr<WebServer>> open(WebOptions options, WebHandler handler);
  virtual ~WebServer() = default;

  // Returns the URL with the actual port: "http://127.0.0.1:9885", "https://…".
  virtual std::string address() const = 0;
  // Handles requests until `stop` is requested; then closes all connections. May be called once.
  virtual void run(std::stop_token stop) = 0;

  // Publishes a server-sent event (WHATWG HTML, 9.2). From then on, a GET of `path` does not end; its clients
  // receive the last message first, and then each further one. A slow client misses messages, but never the
  // last one. Before the first message, the handler serves the path. Thread-safe.
  virtual void publish(std::string_view path, std::string message) = 0;
  // Returns the number of clients that read events, for all paths. Thread-safe.
  virtual std::size_t event_readers() const = 0;
};

}  // namespace railbed
