// The web service of `railbed monitor` and `railbed watch`: one thread speaks with every reader, so that a
// thousand slow, silent or hostile ones cost memory of a bounded size and nobody's answer. What a page holds
// is made by the handler, beside it, on threads of its own.
//
// A reader that takes longer than its deadline, sends more than a request of ours can be, or is one too many
// is answered with an error or hung up on. Only GET and HEAD are known.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

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
};

// Called from several threads at once.
using WebHandler = std::function<WebAnswer(const WebRequest&)>;

struct WebOptions {
  std::string listen = "127.0.0.1:0";  // ADDRESS:PORT, [IPV6]:PORT; port 0: any that is free
  WebConfig config = {};               // TLS and who may read
  std::size_t most_readers = 2048;
};

class WebServer {
 public:
  // Listens; nobody is answered before run().
  static Result<std::unique_ptr<WebServer>> open(WebOptions options, WebHandler handler);
  virtual ~WebServer() = default;

  // Where it listens, with the port that was chosen: "http://127.0.0.1:9885", "https://…".
  virtual std::string address() const = 0;
  // Answers until it is told to stop; then every reader is hung up on.
  virtual void run(std::stop_token stop) = 0;

  // Server-sent events (WHATWG HTML, 9.2): GET of `path` then never ends, and every reader of it gets each
  // message that is published, the last one first. A reader who does not keep up misses messages, never the
  // last one. Callable from any thread.
  virtual void publish(std::string_view path, std::string message) = 0;
};

}  // namespace railbed
