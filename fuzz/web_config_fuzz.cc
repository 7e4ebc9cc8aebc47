// Any bytes as a web configuration file: complaints, or a configuration that protects as it says.
//
// Rooms: monitor
#include <algorithm>
#include <cstdint>
#include <string>

#include "fuzz/require.h"
#include "monitor/web/web_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railbed;
  const auto config = parse_web_config(as_text(data, size), "web.yml");
  if (!config) {
    require(config.error().kind == ErrorKind::kBadInput && !config.error().text.empty());
    std::string shown = config.error().text;
    std::replace(shown.begin(), shown.end(), '\t', ' ');  // that the line has is under its caret, too
    require_printable(shown);
    return 0;
  }
  require(config->certificate.empty() == config->key.empty());
  require(config->client_authority.empty() || !config->certificate.empty());
  for (const auto& [user, hash] : config->users)
    require(!user.empty() && user.find(':') == std::string::npos && hash.size() == 60 &&
            hash.starts_with("$2"));
  for (const auto& [name, value] : config->headers)
    require(name.size() > 3 && value.find('\n') == std::string::npos);
  return 0;
}
