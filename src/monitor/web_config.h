// Prometheus' own web configuration file (github.com/prometheus/exporter-toolkit, docs/web-configuration.md):
// the same file serves node_exporter and railbed.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed {

struct WebConfig {
  std::string certificate = {};  // file; empty: no TLS
  std::string key = {};          // file
  // File of the authorities that readers' certificates must be signed by; empty: readers need to show none.
  std::string client_authority = {};
  bool only_tls13 = false;
  std::map<std::string, std::string> users = {};  // name → bcrypt of the password; empty: everyone may read
  std::map<std::string, std::string> headers = {};  // that every answer gets
};

// Files are named relative to the configuration's own folder. What this program does not know is an error:
// who writes a line there means to be protected by it. No error shows a value: it may be a password.
Result<WebConfig> read_web_config(const std::string& path);
Result<WebConfig> parse_web_config(std::string_view text, const std::string& path);

}  // namespace railbed
