// The TLS context from its files: certificate, key, and CAs of clients. It is read again if a file changes,
// so that a renewal needs no restart.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "monitor/web/web_config.h"

namespace railbed {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// See the head of this file. Not thread-safe.
class WebTls {
 public:
  // Reads the files. Fails if one cannot be used, or if others may read the key.
  static Result<WebTls> open(const WebConfig& config);

  // Returns the context for a new connection. If changed files cannot be used, reports it once and keeps the
  // previous context.
  TlsContext context(const std::function<void(std::string_view)>& note);

 private:
  explicit WebTls(const WebConfig& config) : config_(config) {}

  WebConfig config_;
  std::string stamp_;  // identifies the state of the files
  TlsContext context_;
};

}  // namespace railbed
