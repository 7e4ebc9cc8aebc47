// Parses a request and formats the head of a response. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "monitor/web/web_server.h"

namespace railbed {

// Limit for the request line and all headers together. No request for this service needs more.
inline constexpr std::size_t kMostRequestBytes = 8 << 10;

// The user and the password of HTTP basic authentication.
struct WebCredentials {
  std::string user;
  std::string password;
};

// A parsed request.
struct WebQuestion {
  // HTTP status of the refusal; 0 if none. After a refusal, the rest of the connection cannot be parsed.
  int refused = 0;
  WebRequest request;
  bool only_head = false;
  bool keep_alive = false;
  std::optional<std::string> host;
  std::optional<WebCredentials> credentials;
};

// The result of cut_request().
struct WebCut {
  std::size_t bytes = 0;  // size of the request; 0 if it is incomplete
  int refused = 0;        // status of the refusal; more bytes would not help
};
// Finds the first request in the bytes received so far.
WebCut cut_request(std::string_view came);

// Parses the bytes that cut_request() found.
WebQuestion parse_request(std::string_view head);

// Returns whether a browser that uses this host name reaches the machine itself ("localhost:9885", "[::1]").
bool names_loopback(std::string_view host);

// Returns a short page for a status that reports an error.
WebAnswer web_refusal(int status);
// Returns the status line and the headers. Without a `length`, the response ends with the connection.
std::string answer_head(const WebAnswer& answer, bool keep_alive, std::optional<std::size_t> length);

// Returns a message as an event of a stream (WHATWG HTML, 9.2.6).
std::string event_text(std::string_view message);

}  // namespace railbed
