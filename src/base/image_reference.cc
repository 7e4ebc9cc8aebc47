#include "base/image_reference.h"

#include <algorithm>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::size_t kLongestName = 255;  // NameTotalLengthMax
constexpr std::size_t kLongestTag = 128;

bool is_small(char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); }
bool is_letter(char c) { return is_small(c) || (c >= 'A' && c <= 'Z'); }

// Lower-case letters and digits, separated by ".", "_", "__" or dashes.
bool is_path_part(std::string_view part) {
  if (part.empty() || !is_small(part.front()) || !is_small(part.back())) return false;
  std::string_view between;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (is_small(part[i])) {
      between = {};
      continue;
    }
    between = part.substr(i - between.size(), between.size() + 1);
    const bool dashes = between.find_first_not_of('-') == std::string_view::npos;
    if (!dashes && between != "." && between != "_" && between != "__") return false;
  }
  return true;
}

bool is_path(std::string_view path) { return std::ranges::all_of(split(path, '/'), is_path_part); }

// "nvcr.io", "localhost:5000"
bool is_registry(std::string_view text) {
  const auto colon = text.find(':');
  const auto host = text.substr(0, colon);
  const auto port = colon == std::string_view::npos ? "0" : text.substr(colon + 1);
  if (!is_digits(port) || !parse_number<std::uint16_t>(port)) return false;
  return std::ranges::all_of(split(host, '.'), [](std::string_view part) {
    return !part.empty() && is_letter(part.front()) && is_letter(part.back()) &&
           std::ranges::all_of(part, [](char c) { return is_letter(c) || c == '-'; });
  });
}

bool is_name(std::string_view name) {
  const auto slash = name.find('/');
  if (name.size() > kLongestName) return false;
  if (is_path(name)) return true;
  return slash != std::string_view::npos && is_registry(name.substr(0, slash)) &&
         is_path(name.substr(slash + 1));
}

bool is_tag(std::string_view tag) {
  return !tag.empty() && tag.size() <= kLongestTag && (is_letter(tag.front()) || tag.front() == '_') &&
         std::ranges::all_of(tag, [](char c) { return is_letter(c) || c == '_' || c == '.' || c == '-'; });
}

// The two digest algorithms of OCI images (image-spec, descriptor.md).
bool is_digest(std::string_view digest) {
  const auto colon = digest.find(':');
  const auto sum = colon == std::string_view::npos ? std::string_view() : digest.substr(colon + 1);
  const std::size_t wanted = digest.starts_with("sha256:") ? 64 : digest.starts_with("sha512:") ? 128 : 0;
  return wanted != 0 && sum.size() == wanted &&
         sum.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

bool is_image_reference(std::string_view text) {
  const auto at = text.find('@');
  if (at != std::string_view::npos && !is_digest(text.substr(at + 1))) return false;
  std::string_view name = text.substr(0, at);
  const auto colon = name.rfind(':');
  const bool tagged = colon != std::string_view::npos && name.find('/', colon) == std::string_view::npos;
  if (tagged && !is_tag(name.substr(colon + 1))) return false;
  return is_name(tagged ? name.substr(0, colon) : name);
}

}  // namespace railbed
