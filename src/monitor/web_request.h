// One request as it came over the wire, and the head of its answer. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "monitor/web_server.h"

namespace railbed {

// The request line and all headers; nothing we answer needs more.
inline constexpr std::size_t kMostRequestBytes = 8 << 10;

struct WebCredentials {
  std::string user;
  std::string password;
};

struct WebQuestion {
  // Not 0: it is not a request that we answer; what follows it on the connection cannot be told.
  int refused = 0;
  WebRequest request;
  bool only_head = false;
  bool keep_alive = false;
  std::optional<std::string> host;
  std::optional<WebCredentials> credentials;
};

struct WebCut {
  std::size_t bytes = 0;  // that belong to the request; 0: there is more to come
  int refused = 0;        // more to come would be no request either
};
// The first request of what has come so far.
WebCut cut_request(std::string_view came);

// `head`: what cut_request() cut off.
WebQuestion parse_request(std::string_view head);

// Whether a browser that names this host means this machine itself ("localhost:9885", "[::1]").
bool names_loopback(std::string_view host);

// A short page about a status that is no success.
WebAnswer web_refusal(int status);
// Status line and headers. `length` empty: the answer ends where the connection does.
std::string answer_head(const WebAnswer& answer, bool keep_alive, std::optional<std::size_t> length);

// A message as the event of a stream (WHATWG HTML, 9.2.6).
std::string event_text(std::string_view message);

}  // namespace railbed
