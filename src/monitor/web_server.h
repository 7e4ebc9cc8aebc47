// The web service of `railbed monitor` and `railbed watch`: one thread speaks with every reader, so that a
// thousand slow, silent or hostile ones cost memory of a bounded size and nobody's answer. What a page holds
// is made by the handler, beside it, on threads of its own (docs/decisions/0013).
//
// A reader that takes longer than its deadline, sends more than a request of ours can be, or is one too many
// is answered with an error or hung up on. Only GET and HEAD are known. A service on loopback answers only
// requests for it by such a name, so that no page of a stranger's can read it through the user's browser.
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
#include "monitor/web_config.h"

namespace railbed {

struct WebRequest {
  std::string path;   // "/metrics", decoded
  std::string query;  // what follows the "?", as it came
};

struct WebAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  // Beside those that every answer has: a page's Content-Security-Policy.
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// Called from several threads at once. What it throws is a 500; run() waits for those that are at work.
using WebHandler = std::function<WebAnswer(const WebRequest&)>;

struct WebDeadlines {
  std::chrono::milliseconds request{10'000};  // for a whole one, however it trickles
  std::chrono::milliseconds idle{75'000};     // between two of them
  std::chrono::milliseconds making{10'000};   // until a thread is free to make the answer
  std::chrono::milliseconds taking{30'000};   // for each 64 KiB of it to be taken
};

struct WebOptions {
  std::string listen = "127.0.0.1:0";  // ADDRESS:PORT, [IPV6]:PORT, :PORT (all); port 0: any that is free
  WebConfig config = {};               // TLS and who may read
  std::size_t most_readers = 1024;     // fewer where the process may not open so many files
  std::size_t most_greeting = 512;     // of them in a handshake of TLS that has not ended
  std::size_t most_streams = 64;       // of them readers of events
  std::chrono::milliseconds comment_every{15'000};  // to readers of events, so that proxies stay awake
  WebDeadlines deadlines = {};
  // Hears what an administrator should know, such as a renewed certificate that cannot be used; from run()'s
  // thread.
  std::function<void(std::string_view)> note = {};
};

// Whether this is a place to listen at: ADDRESS:PORT, [IPV6]:PORT or :PORT.
Result<void> check_listen(std::string_view listen);
// Whether only this machine can reach what listens there. False for what is no address, too.
bool is_loopback(std::string_view listen);

class WebServer {
 public:
  // Listens; nobody is answered before run().
  static Result<std::unique_ptr<WebServer>> open(WebOptions options, WebHandler handler);
  virtual ~WebServer() = default;

  // Where it listens, with the port that was chosen: "http://127.0.0.1:9885", "https://…".
  virtual std::string address() const = 0;
  // Answers until it is told to stop; then every reader is hung up on. Once only.
  virtual void run(std::stop_token stop) = 0;

  // Server-sent events (WHATWG HTML, 9.2): GET of `path` then never ends, and every reader of it gets each
  // message that is published, the last one first. A reader who does not keep up misses messages, never the
  // last one. Callable from any thread. What nothing was published of yet is the handler's.
  virtual void publish(std::string_view path, std::string message) = 0;
  // How many read events now, of whichever path. Callable from any thread.
  virtual std::size_t event_readers() const = 0;
};

}  // namespace railbed
