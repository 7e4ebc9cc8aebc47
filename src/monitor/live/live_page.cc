#include "monitor/live/live_page.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/sha256.h"
#include "report/page/page_sections.h"

namespace railbed {
namespace {

constexpr std::string_view kStyle =
#include "monitor/live/live.css.text"
    ;

constexpr std::string_view kBody =
#include "monitor/live/live.html.text"
    ;

// Data of a node is inserted by textContent, and by class names from a fixed list.
constexpr std::string_view kScript =
#include "monitor/live/live.js.text"
    ;

std::string sha256_bytes(std::string_view text) {
  const std::string hex = sha256_hex(text);
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

const std::string& policy() {
  static const std::string kPolicy = fmt::format(
      "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; connect-src 'self'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      base64_encoded(sha256_bytes(kScript)));
  return kPolicy;
}

}  // namespace

std::string live_page() {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      R"(<meta name="viewport" content="width=device-width, initial-scale=1">)"
      R"(<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">)"
      "<title>railbed</title>\n<style>{}{}</style></head>\n<body>{}<script>{}</script></body></html>\n",
      page_style(), kStyle, kBody, kScript);
}

std::vector<std::pair<std::string, std::string>> live_headers() {
  return {{"Content-Security-Policy", policy()},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"}};
}

}  // namespace railbed
