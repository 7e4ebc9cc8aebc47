// IP addresses and subnets as values.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace railbed {

// An IPv4 or IPv6 address. IPv4 is stored in IPv4-mapped form (::ffff:a.b.c.d), as in RoCE v2 GIDs.
class IpAddress {
 public:
  IpAddress() = default;
  explicit IpAddress(const std::array<std::uint8_t, 16>& bytes) : bytes_(bytes) {}
  // Parses "10.0.0.1", "fe80::1" or the sixteen-byte colon form of /sys/class/infiniband/*/ports/*/gids/*.
  static std::optional<IpAddress> parse(std::string_view text);

  bool is_v4() const;
  bool is_link_local() const;
  bool is_loopback() const;  // 127.0.0.0/8 and ::1
  bool is_zero() const;      // :: and 0.0.0.0
  // Returns the address `count` higher; nullopt past the end of its family.
  std::optional<IpAddress> plus(std::uint32_t count) const;
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  std::string to_text() const;
  auto operator<=>(const IpAddress&) const = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

class Subnet {
 public:
  // Returns the subnet that contains `address`. `prefix` counts from the start of the address family: 24 in
  // 10.0.0.0/24. Returns nullopt if it is out of range.
  static std::optional<Subnet> of(const IpAddress& address, int prefix);
  static std::optional<Subnet> parse(std::string_view text);  // "10.0.0.0/24"; host bits must be zero

  bool contains(const IpAddress& address) const;
  const IpAddress& network() const { return network_; }
  IpAddress last() const;  // on IPv4 the broadcast address
  int prefix() const { return prefix_; }
  std::string to_text() const;
  auto operator<=>(const Subnet&) const = default;

 private:
  IpAddress network_;
  int prefix_ = 0;
};

// An interface's address with the prefix length of its subnet: 10.0.0.1/24.
struct InterfaceAddress {
  IpAddress address;
  int prefix = 0;
  static std::optional<InterfaceAddress> parse(std::string_view text);
  FIELDS(InterfaceAddress, address, prefix);
  bool operator==(const InterfaceAddress&) const = default;
};
std::string to_text(const InterfaceAddress& address);

}  // namespace railbed
