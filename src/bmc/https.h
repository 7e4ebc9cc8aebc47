// A BMC's web service, asked over HTTPS through libcurl, which is opened when it is first needed. One
// connection serves all questions, since a BMC takes long to greet. What it answers is capped in size and
// time; redirections are not followed, proxies not used, and no certificate is taken on trust.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/reading.h"
#include "bmc/bmc.h"

namespace railbed {

enum class HttpMethod { kGet, kPost, kPatch };

struct HttpAnswer {
  int status = 0;
  std::string body = {};
  std::string etag = {};  // for If-Match
};

class HttpsClient {
 public:
  HttpsClient(const BmcTarget& target, const BmcOptions& options);
  HttpsClient(HttpsClient&&) noexcept;
  HttpsClient& operator=(HttpsClient&&) noexcept;
  ~HttpsClient();

  // `path` begins with "/"; `body` is JSON; `etag` may be empty. A miss says why there was no answer at all;
  // whatever status the service gave is an answer.
  Reading<HttpAnswer> ask(HttpMethod method, std::string_view path, const std::string& body,
                          const std::string& etag, std::chrono::steady_clock::time_point until);
  void set_password(const std::string& password);

 private:
  struct Session;
  std::unique_ptr<Session> session_;
};

}  // namespace railbed
