// Addresses and connections in another network namespace, read from /proc/PID/net alone.
#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "base/text.h"
#include "host/process_text.h"

namespace railbed {
namespace {

constexpr std::size_t kMostInterfaces = 256;
constexpr std::string_view kEstablished = "01";  // include/net/tcp_states.h

// Parses "0100007F": four bytes in this processor's byte order, as the kernel prints a __be32 with %08X.
std::optional<std::array<std::uint8_t, 4>> native_bytes(std::string_view hex) {
  const auto number = hex.size() == 8 ? parse_number<std::uint32_t>(hex, 16) : std::nullopt;
  if (!number) return std::nullopt;
  std::array<std::uint8_t, 4> bytes;
  for (int i = 0; i < 4; ++i)
    bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(*number >> (8 * i));
  return bytes;
}

// Parses "0100007F:0016", or 32 digits before the colon.
std::optional<IpAddress> socket_address(std::string_view text) {
  const std::string_view hex = text.substr(0, text.find(':'));
  if (hex.size() != 8 && hex.size() != 32) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  for (std::size_t word = 0; word * 8 < hex.size(); ++word) {
    const auto four = native_bytes(hex.substr(word * 8, 8));
    if (!four) return std::nullopt;
    std::ranges::copy(*four, bytes.begin() + (hex.size() == 8 ? 12 : static_cast<long>(word) * 4));
  }
  return IpAddress(bytes);
}

std::optional<IpAddress> plain_hex_address(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  std::array<std::uint8_t, 16> bytes;
  for (std::size_t i = 0; i < 16; ++i) {
    const auto byte = parse_number<std::uint8_t>(hex.substr(2 * i, 2), 16);
    if (!byte) return std::nullopt;
    bytes[i] = *byte;
  }
  return IpAddress(bytes);
}

struct OnLink {
  std::string interface;
  Subnet subnet;
};

// Returns the subnets without a gateway: "eth0 0002A8C0 00000000 0001 0 0 0 00FFFFFF …".
std::vector<OnLink> subnets_on_link(std::string_view route) {
  std::vector<OnLink> found;
  for (const auto line : lines(route)) {
    const auto columns = words(line);
    if (columns.size() < 8 || columns[2] != "00000000" || found.size() >= kMostInterfaces) continue;
    const auto network = socket_address(columns[1]);
    const auto mask = native_bytes(columns[7]);
    if (!network || !mask) continue;
    int prefix = 0;
    for (const std::uint8_t byte : *mask) prefix += __builtin_popcount(byte);
    const auto subnet = Subnet::of(*network, prefix);
    if (subnet && prefix > 0) found.push_back({std::string(columns[0]), *subnet});
  }
  std::ranges::stable_sort(found, std::ranges::greater(),
                           [](const OnLink& link) { return link.subnet.prefix(); });
  return found;
}

// Returns the addresses in lines "|-- 10.0.0.1" that are followed by "/32 host LOCAL".
std::vector<IpAddress> local_addresses(std::string_view fib_trie) {
  std::vector<IpAddress> found;
  std::optional<IpAddress> last;
  for (const auto line : lines(fib_trie)) {
    const auto text = trim(line);
    if (text.starts_with("|-- ")) last = IpAddress::parse(text.substr(4));
    const bool here = last && text == "/32 host LOCAL" && found.size() < 4 * kMostInterfaces;
    if (here && std::ranges::find(found, *last) == found.end()) found.push_back(*last);
  }
  return found;
}

SeenInterface* named(std::vector<SeenInterface>& interfaces, std::string_view name) {
  const auto found = std::ranges::find(interfaces, name, &SeenInterface::name);
  return found == interfaces.end() ? nullptr : &*found;
}

void add_address(std::vector<SeenInterface>& all, std::string_view name, const IpAddress& address,
                 int prefix) {
  SeenInterface* const interface = named(all, name);
  if (interface != nullptr && interface->addresses.size() < 64)
    interface->addresses.push_back(fmt::format("{}/{}", address.to_text(), prefix));
}

std::vector<SeenInterface> names_in(std::string_view dev) {
  std::vector<SeenInterface> found;
  for (const auto line : lines(dev)) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || found.size() >= kMostInterfaces) continue;
    const std::string name(trim(line.substr(0, colon)));
    if (is_plain_word(name, 15) && name.find('/') == std::string::npos) found.push_back({name, {}});
  }
  return found;
}

// Returns the only interface other than the loopback: pods often have an address that is in no subnet.
std::string only_one(const std::vector<SeenInterface>& interfaces) {
  std::string only;
  for (const SeenInterface& interface : interfaces) {
    if (interface.name == "lo") continue;
    if (!only.empty()) return "";
    only = interface.name;
  }
  return only;
}

}  // namespace

std::vector<SeenInterface> interfaces_of(const NetFiles& files) {
  std::vector<SeenInterface> found = names_in(files.dev);
  const auto subnets = subnets_on_link(files.route);
  const std::string only = only_one(found);
  for (const IpAddress& address : local_addresses(files.fib_trie)) {
    const bool loopback = address.bytes()[12] == 127;
    const auto on =
        std::ranges::find_if(subnets, [&](const OnLink& link) { return link.subnet.contains(address); });
    if (loopback)
      add_address(found, "lo", address, 8);
    else if (on != subnets.end())
      add_address(found, on->interface, address, on->subnet.prefix());
    else if (!only.empty())
      add_address(found, only, address, 32);
  }
  for (const auto line : lines(files.if_inet6)) {  // "fe80…01 02 40 20 80 eth0"
    const auto columns = words(line);
    const auto address = columns.size() == 6 ? plain_hex_address(columns[0]) : std::nullopt;
    const auto prefix = address ? parse_number<int>(columns[2], 16) : std::nullopt;
    if (prefix) add_address(found, columns[5], *address, *prefix);
  }
  return found;
}

std::vector<TcpFlow> flows_of(std::string_view tcp, const std::set<std::uint64_t>& inodes) {
  std::vector<TcpFlow> found;
  while (!tcp.empty()) {
    const std::string_view line = tcp.substr(0, tcp.find('\n'));
    tcp.remove_prefix(std::min(line.size() + 1, tcp.size()));
    const auto columns = words(line);
    if (columns.size() < 10 || columns[3] != kEstablished) continue;
    const auto inode = parse_number<std::uint64_t>(columns[9]);
    const auto local = socket_address(columns[1]);
    const auto remote = socket_address(columns[2]);
    if (!inode || !local || !remote || !inodes.contains(*inode)) continue;
    const std::string here = local->to_text(), there = remote->to_text();
    const auto same = [&](const TcpFlow& flow) { return flow.local == here && flow.remote == there; };
    auto flow = std::ranges::find_if(found, same);
    if (flow == found.end() && found.size() >= kMostFlows) continue;
    if (flow == found.end()) flow = found.insert(found.end(), TcpFlow{here, there, "", 0});
    ++flow->connections;
    if (flow->sockets.size() < kMostSockets) flow->sockets.push_back(*inode);
  }
  return found;
}

void name_interfaces(std::vector<TcpFlow>& flows, const std::vector<SeenInterface>& interfaces) {
  for (TcpFlow& flow : flows)
    for (const SeenInterface& interface : interfaces)
      for (const std::string& address : interface.addresses)
        if (address.substr(0, address.find('/')) == flow.local) flow.interface = interface.name;
}

}  // namespace railbed
