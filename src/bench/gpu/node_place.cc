#include "bench/gpu/node_place.h"

#include <algorithm>
#include <cctype>

namespace railbed {
namespace {

constexpr std::size_t kLongestDeviceName = 64;

// A comma would begin the next entry of a list of NCCL's.
bool is_device_name(const std::string& text) {
  return text.size() <= kLongestDeviceName && std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == ':' || c == '@';
         });
}

}  // namespace

Result<void> check_place(const NodePlace& place) {
  if (place.ranks < 0 || place.ranks > kMostNcclRanks || place.first_rank < 0 ||
      place.first_rank > place.ranks)
    return fail(ErrorKind::kBadInput, "ranks: out of range");
  if (!is_device_name(place.network.adapter) || !is_device_name(place.network.interface))
    return fail(ErrorKind::kBadInput, "network: no name of a device");
  return {};
}

}  // namespace railbed
