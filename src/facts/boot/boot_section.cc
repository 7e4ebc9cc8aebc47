#include "facts/boot/boot_section.h"

#include <fnmatch.h>

#include <algorithm>
#include <bit>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::ptrdiff_t kMostWildcards = 4;  // bounds the cost of a match
constexpr std::size_t kMostIniPairs = 1024;
constexpr std::size_t kMostBootAddresses = 64;

bool matches_any(const std::vector<std::string>& globs, const std::string& name) {
  return std::ranges::any_of(globs, [&](const std::string& glob) {
    return std::ranges::count(glob, '*') <= kMostWildcards && fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  });
}

}  // namespace

Fits fits(const BootSection& section, const NetInterface& interface) {
  if (!section.names.empty() && !matches_any(section.names, interface.name)) return Fits::kNo;
  const std::string mac = lower(interface.mac.value_or(""));
  if (!section.macs.empty() &&
      std::ranges::none_of(section.macs, [&](const std::string& one) { return lower(one) == mac; }))
    return Fits::kNo;
  if (!section.drivers.empty() && !matches_any(section.drivers, interface.driver.value_or("")))
    return Fits::kNo;
  const bool any = section.names.empty() && section.macs.empty() && section.drivers.empty();
  if (!any && !section.undecided) return Fits::kYes;
  return any && !interface.pci_address.ok() ? Fits::kNo : Fits::kPerhaps;
}

void add_address(std::string_view text, BootProfile& says) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos || says.addresses.size() >= kMostBootAddresses) return;
  const auto address = IpAddress::parse(trim(text.substr(0, slash)));
  const auto prefix = parse_number<int>(text.substr(slash + 1));
  if (address && prefix && Subnet::of(*address, *prefix)) says.addresses.push_back({*address, *prefix});
}

int prefix_of_netmask(std::string_view text) {
  if (const auto number = parse_number<int>(text)) return *number;
  const auto mask = IpAddress::parse(text);
  if (!mask || !mask->is_v4()) return -1;
  int bits = 0;
  for (std::size_t i = 12; i < 16; ++i) bits += std::popcount(mask->bytes()[i]);
  return bits;
}

int mtu_of(std::string_view text) {
  const int mtu = parse_number<int>(text).value_or(0);
  return mtu >= 68 && mtu <= 65'536 ? mtu : 0;  // limits of interfaces: linux/if_ether.h, loopback
}

std::vector<IniPair> ini_pairs(std::string_view text) {
  std::vector<IniPair> pairs;
  std::string_view section;
  for (auto line : lines(text)) {
    line = trim(line);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[' && line.back() == ']') {
      section = line.substr(1, line.size() - 2);
      continue;
    }
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || pairs.size() >= kMostIniPairs) continue;
    pairs.push_back({section, trim(line.substr(0, equals)), trim(line.substr(equals + 1))});
  }
  return pairs;
}

}  // namespace railbed
