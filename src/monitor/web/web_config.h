// Reads Prometheus' web configuration file (github.com/prometheus/exporter-toolkit,
// docs/web-configuration.md). The same file serves node_exporter and railbed.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed {

// The contents of the file.
struct WebConfig {
  std::string certificate = {};  // path; empty for no TLS
  std::string key = {};          // path
  // Path of the CAs that must have signed a client's certificate; empty if clients need none.
  std::string client_authority = {};
  bool only_tls13 = false;
  // name → bcrypt hash of the password; empty if no password is needed
  std::map<std::string, std::string> users = {};
  std::map<std::string, std::string> headers = {};  // sent with every response
};

// Reads and checks a file. Paths in it are relative to the folder of the configuration. An unknown key is an
// error, because its author expects protection from it. Errors show no value, because a value may be a
// password.
Result<WebConfig> read_web_config(const std::string& path);
Result<WebConfig> parse_web_config(std::string_view text, const std::string& path);

}  // namespace railbed
