#include "fleet/marked_line.h"

#include "base/text.h"

namespace railbed::fleet {

std::vector<std::string_view> marked_fields(std::string_view line, std::string_view nonce,
                                            std::size_t count) {
  std::vector<std::string_view> fields;
  if (!line.starts_with(nonce) || line.substr(nonce.size(), 1) != "|") return fields;
  line.remove_prefix(nonce.size() + 1);
  while (fields.size() + 1 < count) {
    const std::size_t bar = line.find('|');
    if (bar == std::string_view::npos) return {};
    fields.push_back(trim(line.substr(0, bar)));
    line.remove_prefix(bar + 1);
  }
  fields.push_back(trim(line));
  return fields;
}

}  // namespace railbed::fleet
