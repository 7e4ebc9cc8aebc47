#include "monitor/web_config.h"

#include "base/files.h"

namespace railbed {

Result<WebConfig> read_web_config(const std::string& path) {
  auto text = read_file(path, 1 << 20);
  if (!text) return fail(text.error());
  return parse_web_config(*text, path);
}

Result<WebConfig> parse_web_config(std::string_view, const std::string& path) {
  return fail(ErrorKind::kInternal, path + ": not read yet");
}

}  // namespace railbed
