#include "nccl/version.h"

#include <fmt/format.h>

#include <charconv>

namespace railbed::nccl {

std::optional<Version> Version::parse(std::string_view text) {
  Version version;
  int* const parts[] = {&version.major, &version.minor, &version.patch};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < 3; ++i) {
    const auto [next, error] = std::from_chars(at, end, *parts[i]);
    if (error != std::errc() || *parts[i] < 0) return std::nullopt;
    at = next;
    if (at == end || *at != '.') return i == 0 ? std::nullopt : std::optional(version);
    ++at;
  }
  return version;
}

std::string Version::to_text() const {
  return patch == 0 ? fmt::format("{}.{}", major, minor) : fmt::format("{}.{}.{}", major, minor, patch);
}

}  // namespace railbed::nccl
