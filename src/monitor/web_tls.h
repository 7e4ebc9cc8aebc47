// What TLS needs of files: certificate, key and the authority of readers, read again when they change, so
// that a renewal needs no restart.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "monitor/web_config.h"

namespace railbed {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

class WebTls {
 public:
  static Result<WebTls> open(const WebConfig& config);

  // For a new connection. What has changed and cannot be used is said once, and what was there before stays.
  TlsContext context(const std::function<void(std::string_view)>& note);

 private:
  explicit WebTls(const WebConfig& config) : config_(config) {}

  WebConfig config_;
  std::string stamp_;  // tells one state of the files from another
  TlsContext context_;
};

}  // namespace railbed
