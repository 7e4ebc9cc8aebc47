// HTTPS client for a BMC's web service, through libcurl, which is opened when it is first needed. One
// connection serves all requests, since a BMC takes long to set one up. Responses are limited in size and
// time. Redirects are not followed, proxies are not used, and no certificate is trusted unchecked.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/reading.h"
#include "bmc/bmc.h"

namespace railbed {

enum class HttpMethod { kGet, kPost, kPatch, kDelete };

// The response to a request, whatever its status.
struct HttpAnswer {
  int status = 0;
  std::string body = {};
  std::string etag = {};      // for If-Match
  std::string location = {};  // where a new session or a task is
  std::string token = {};     // X-Auth-Token of a new session
  std::optional<std::chrono::seconds> retry_after = {};
  bool offers_basic = false;  // a 401 says that user and password are accepted with each request
};

class HttpsClient {
 public:
  HttpsClient(const BmcTarget& target, const BmcOptions& options);
  HttpsClient(HttpsClient&&) noexcept;
  HttpsClient& operator=(HttpsClient&&) noexcept;
  ~HttpsClient();

  // Sends a request and returns the response with any HTTP status; a miss gives the reason why there was
  // none. `path` begins with "/"; `body` is JSON; a non-empty `etag` is sent as If-Match. The request ends at
  // `until`, or earlier where the limits in BmcOptions are shorter.
  Reading<HttpAnswer> ask(HttpMethod method, std::string_view path, const std::string& body,
                          const std::string& etag, std::chrono::steady_clock::time_point until);
  // Uses this password from the next request on, over a new connection.
  void set_password(const std::string& password);
  // Sends this token of a session instead of user and password from the next request on; empty: those again.
  void use_token(const std::string& token);

 private:
  struct Session;
  std::unique_ptr<Session> session_;
};

}  // namespace railbed
