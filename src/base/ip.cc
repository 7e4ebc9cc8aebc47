#include "base/ip.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// Clears all but the first `bits` bits of the sixteen bytes.
IpAddress masked(const IpAddress& address, int bits) {
  auto bytes = address.bytes();
  for (int i = 0; i < 16; ++i) {
    const int keep = std::clamp(bits - i * 8, 0, 8);
    bytes[static_cast<std::size_t>(i)] &= static_cast<std::uint8_t>(0xff00 >> keep);
  }
  return IpAddress(bytes);
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string terminated(trim(text));
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(AF_INET6, terminated.c_str(), bytes.data()) == 1) return IpAddress(bytes);
  std::copy(kMapped.begin(), kMapped.end(), bytes.begin());
  if (inet_pton(AF_INET, terminated.c_str(), bytes.data() + 12) == 1) return IpAddress(bytes);
  return std::nullopt;
}

bool IpAddress::is_v4() const { return std::equal(kMapped.begin(), kMapped.end(), bytes_.begin()); }

bool IpAddress::is_link_local() const {
  if (is_v4()) return bytes_[12] == 169 && bytes_[13] == 254;
  return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
}

bool IpAddress::is_loopback() const {
  if (is_v4()) return bytes_[12] == 127;
  return bytes_[15] == 1 &&
         std::all_of(bytes_.begin(), bytes_.begin() + 15, [](std::uint8_t byte) { return byte == 0; });
}

bool IpAddress::is_zero() const {
  const auto first = is_v4() ? bytes_.begin() + 12 : bytes_.begin();
  return std::all_of(first, bytes_.end(), [](std::uint8_t byte) { return byte == 0; });
}

std::optional<IpAddress> IpAddress::plus(std::uint32_t count) const {
  auto bytes = bytes_;
  std::uint32_t carry = count;
  for (std::size_t i = 16; i > (is_v4() ? 12u : 0u) && carry != 0; --i) {
    const std::uint64_t sum = std::uint64_t{bytes[i - 1]} + carry;
    bytes[i - 1] = static_cast<std::uint8_t>(sum & 0xff);
    carry = static_cast<std::uint32_t>(sum >> 8);
  }
  if (carry != 0) return std::nullopt;
  return IpAddress(bytes);
}

std::string IpAddress::to_text() const {
  char buffer[INET6_ADDRSTRLEN] = {};
  if (is_v4())
    inet_ntop(AF_INET, bytes_.data() + 12, buffer, sizeof buffer);
  else
    inet_ntop(AF_INET6, bytes_.data(), buffer, sizeof buffer);
  return buffer;
}

std::optional<Subnet> Subnet::of(const IpAddress& address, int prefix) {
  if (prefix < 0 || prefix > (address.is_v4() ? 32 : 128)) return std::nullopt;
  Subnet subnet;
  subnet.network_ = masked(address, prefix + (address.is_v4() ? 96 : 0));
  subnet.prefix_ = prefix;
  return subnet;
}

std::optional<Subnet> Subnet::parse(std::string_view text) {
  const auto parts = key_value(text, '/');
  if (!parts) return std::nullopt;
  const auto address = IpAddress::parse(parts->first);
  const auto prefix = parse_number<int>(parts->second);
  if (!address || !prefix) return std::nullopt;
  const auto subnet = of(*address, *prefix);
  if (!subnet || subnet->network_ != *address) return std::nullopt;
  return subnet;
}

bool Subnet::contains(const IpAddress& address) const {
  return address.is_v4() == network_.is_v4() &&
         masked(address, prefix_ + (network_.is_v4() ? 96 : 0)) == network_;
}

IpAddress Subnet::last() const {
  const int fixed = prefix_ + (network_.is_v4() ? 96 : 0);
  auto bytes = network_.bytes();
  for (int i = 0; i < 16; ++i) {
    const int keep = std::clamp(fixed - i * 8, 0, 8);
    bytes[static_cast<std::size_t>(i)] |= static_cast<std::uint8_t>(0xff >> keep);
  }
  return IpAddress(bytes);
}

std::string Subnet::to_text() const { return network_.to_text() + "/" + std::to_string(prefix_); }

std::optional<InterfaceAddress> InterfaceAddress::parse(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = IpAddress::parse(text.substr(0, slash));
  const auto prefix = parse_number<int>(text.substr(slash + 1));
  if (!address || !prefix || !Subnet::of(*address, *prefix)) return std::nullopt;
  return InterfaceAddress{*address, *prefix};
}

std::string to_text(const InterfaceAddress& address) {
  return address.address.to_text() + "/" + std::to_string(address.prefix);
}

}  // namespace railbed
