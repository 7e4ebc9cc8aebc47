#include "facts/mask/mask.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ip.h"
#include "base/text.h"

namespace railbed {
namespace {

constexpr std::string_view kHex = "0123456789abcdefABCDEF";

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Returns true for `count` groups of `digits` hexadecimal digits with `separator` between them.
bool is_groups(std::string_view text, std::size_t count, std::size_t digits, char separator) {
  if (text.size() != count * (digits + 1) - 1) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = i % (digits + 1) == digits;
    if (between ? text[i] != separator : kHex.find(text[i]) == std::string_view::npos) return false;
  }
  return true;
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t value = 0;
  for (const char c : text)
    if (kHex.find(c) != std::string_view::npos)
      value = value << 4 | *parse_number<unsigned>(std::string_view(&c, 1), 16);
  return value;
}

// Returns the 64 bits in four groups, the notation of GUIDs and of the long form of GIDs.
std::string four_groups(std::uint64_t value) {
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", value >> 48, value >> 32 & 0xffff, value >> 16 & 0xffff,
                     value & 0xffff);
}

std::pair<std::uint64_t, std::uint64_t> halves(const IpAddress& address) {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    high = high << 8 | address.bytes()[i];
    low = low << 8 | address.bytes()[i + 8];
  }
  return {high, low};
}

std::string long_text(const IpAddress& address) {
  const auto [high, low] = halves(address);
  return four_groups(high) + ":" + four_groups(low);
}

std::string octets(std::uint64_t value, int count) {
  std::string text;
  for (int i = count - 1; i >= 0; --i)
    text += fmt::format("{}{:02x}", text.empty() ? "" : ":", value >> (8 * i) & 0xff);
  return text;
}

// Returns true for IPv4 addresses that do not reveal where a machine is: RFC 6890 and RFC 3927. The blocks for
// protocols and documentation (192.0.0.0, 192.0.2.0, 198.51.100.0, 203.0.113.0) are /24: their neighbors are public.
bool is_private(const std::array<std::uint8_t, 16>& bytes) {
  const auto a = bytes[12];
  const auto b = bytes[13];
  const auto c = bytes[14];
  return a == 0 || a == 10 || a == 127 || a >= 224 || (a == 172 && b >= 16 && b < 32) ||
         (a == 192 && b == 168) || (a == 169 && b == 254) || (a == 100 && b >= 64 && b < 128) ||
         (a == 198 && (b == 18 || b == 19)) || (a == 192 && b == 0 && (c == 0 || c == 2)) ||
         (a == 198 && b == 51 && c == 100) || (a == 203 && b == 0 && c == 113);
}

bool sounds_secret(std::string_view key) {
  const std::string name = lower(key);
  for (const std::string_view part :
       {"passw", "secret", "token", "apikey", "credential", "auth", "cookie", "bearer", "_key", "session"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

// Replaces VALUE in "…password=VALUE…", up to the next space or quote.
std::string without_secrets(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(" \t\n\"'"), text.size());
    const auto word = text.substr(0, end);
    const auto equals = word.find('=');
    const bool secret = equals != std::string_view::npos && sounds_secret(word.substr(0, equals));
    result += secret ? std::string(word.substr(0, equals)) + "=masked" : std::string(word);
    if (end < text.size()) result.push_back(text[end]);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace

std::uint64_t Mask::numbered(std::string_view kind, const std::string& key) {
  auto& known = numbers_[std::string(kind)];
  return known.emplace(key, known.size() + 1).first->second;
}

void Mask::hide(std::string_view name) {
  if (name.size() < kShortestHidden || name == "localhost" || names_.contains(name)) return;
  names_.emplace(name, fmt::format("host{}", names_.size() + 1));
}

std::string Mask::placeholder(std::string_view kind, std::string_view name) {
  return fmt::format("{}{}", kind, numbered(kind, std::string(name)));
}

// Returns a locally administered address with the number of this MAC address.
std::uint64_t Mask::mac_number(std::uint64_t mac) {
  if (mac == 0 || mac == 0xffffffffffff) return mac;
  return 0x020000000000 | numbered("mac", fmt::format("{:012x}", mac));
}

// Masks the lower half of an IPv6 address, or a GUID. An EUI-64 that was made from a MAC address becomes that
// of the masked MAC address. Small numbers stay, because administrators choose them.
std::uint64_t Mask::interface_id(std::uint64_t id) {
  constexpr std::uint64_t kUniversal = 0x0200000000000000;
  if (id >> 16 == 0) return id;
  if ((id >> 24 & 0xffff) == 0xfffe) {
    const std::uint64_t flipped = id ^ kUniversal;
    const std::uint64_t masked = mac_number((flipped >> 40) << 24 | (flipped & 0xffffff));
    return ((masked >> 24) << 40 | 0xfffe000000 | (masked & 0xffffff)) ^ kUniversal;
  }
  return 0x0200000100000000 | numbered("guid", fmt::format("{:016x}", id));
}

std::string Mask::uuid(std::string_view text) {
  return fmt::format("00000000-0000-4000-8000-{:012x}", numbered("uuid", lower(text)));
}

// Keeps the lowest 10 bits and replaces the network above them by its number. 198.18.0.0/15 has 128 such
// networks; if there are more, two networks share one.
std::string Mask::ipv4(std::string_view text) {
  auto bytes = IpAddress::parse(text)->bytes();
  if (is_private(bytes)) return std::string(text);
  const std::uint32_t address = static_cast<std::uint32_t>(bytes[12]) << 24 |
                                static_cast<std::uint32_t>(bytes[13]) << 16 |
                                static_cast<std::uint32_t>(bytes[14]) << 8 | bytes[15];
  const auto network = static_cast<std::uint32_t>(numbered("ipv4", std::to_string(address >> 10)) % 128);
  const std::uint32_t hidden =
      198U << 24 | 18U << 16 | network << 10 | (address & 0x3ff);  // RFC 2544's range
  return fmt::format("{}.{}.{}.{}", hidden >> 24, hidden >> 16 & 0xff, hidden >> 8 & 0xff, hidden & 0xff);
}

// Masks the two halves of an address on their own: the prefix if it is global unicast, and the interface ID.
// The result is in long form if the input was, as GIDs are.
std::string Mask::ipv6(std::string_view text) {
  const IpAddress address = *IpAddress::parse(text);
  const bool long_form = is_groups(text, 8, 4, ':');
  if (address.is_v4()) {
    const auto hidden = *IpAddress::parse(ipv4(address.to_text()));
    return long_form ? long_text(hidden) : "::ffff:" + hidden.to_text();
  }
  auto [prefix, id] = halves(address);
  if (prefix == 0) return std::string(text);
  // Global unicast is 2000::/3; 2001:db8::/32 is for documentation.
  if (prefix >> 61 == 1 && prefix >> 32 != 0x20010db8)
    prefix = 0x20010db800000000 | numbered("ipv6", fmt::format("{:016x}", prefix));
  const IpAddress hidden = *IpAddress::parse(four_groups(prefix) + ":" + four_groups(interface_id(id)));
  return long_form ? long_text(hidden) : hidden.to_text();
}

// Masks a run of hexadecimal digits, colons, dots and dashes according to its form.
std::string Mask::token(std::string_view run) {
  if (is_groups(run, 6, 2, ':')) return octets(mac_number(number_of(run)), 6);
  if (is_groups(run, 20, 2, ':')) {
    // IPoIB: queue pair, subnet prefix, then the port's GUID; RFC 4391.
    return std::string(run.substr(0, 36)) + octets(interface_id(number_of(run.substr(36))), 8);
  }
  if (is_groups(run, 8, 2, ':')) return octets(interface_id(number_of(run)), 8);
  if (is_groups(run, 4, 4, ':')) return four_groups(interface_id(number_of(run)));
  if (run.size() == 36 && is_groups(run.substr(0, 8), 1, 8, '-') && is_groups(run.substr(9, 14), 3, 4, '-') &&
      run[8] == '-' && run[23] == '-' && is_groups(run.substr(24), 1, 12, '-'))
    return uuid(run);
  const auto address = IpAddress::parse(run);
  if (!address) return std::string(run);
  return run.find(':') == std::string_view::npos ? ipv4(run) : ipv6(run);
}

// Copies /home/NAME at `at` as "/home/user" and advances `at`; false if the text has something else there.
// The two functions below work in the same way.
bool Mask::take_home(std::string_view text, std::size_t& at, std::string& out) const {
  constexpr std::string_view kHome = "/home/";
  if (!text.substr(at).starts_with(kHome)) return false;
  out += "/home/user";
  at = std::min(text.find_first_of("/ \t\n\"':;,", at + kHome.size()), text.size());
  return true;
}

// Takes a run of the characters of addresses, unless it is part of something longer.
bool Mask::take_address(std::string_view text, std::size_t& at, std::string& out) {
  if (at > 0 && (is_word(text[at - 1]) || text[at - 1] == ':' || text[at - 1] == '.')) return false;
  const auto end = std::min(text.find_first_not_of("0123456789abcdefABCDEF:.-", at), text.size());
  if (end < text.size() && is_word(text[end])) return false;
  auto run = text.substr(at, end - at);
  while (run.ends_with('.') || run.ends_with('-') || (run.ends_with(':') && !run.ends_with("::")))
    run.remove_suffix(1);
  if (run.size() < 3) return false;
  out += token(run);
  at += run.size();
  return true;
}

// Takes a hidden name, whole or up to its first dot.
bool Mask::take_name(std::string_view text, std::size_t& at, std::string& out) const {
  auto end = at;
  while (end < text.size() && (is_word(text[end]) || text[end] == '-' || text[end] == '.')) ++end;
  const auto dotted = text.substr(at, end - at);
  for (const auto name : {dotted, dotted.substr(0, dotted.find('.'))}) {
    const auto found = names_.find(name);
    if (found == names_.end()) continue;
    out += found->second;
    at += name.size();
    return true;
  }
  return false;
}

// Blanks the values of keys that look like secrets, then walks the text once. Where a word starts it tries,
// in this order: /home/NAME, an address, a hidden name. An address is a run of hexadecimal digits, colons,
// dots and dashes that is not part of a longer word. token() recognizes it by its groups of digits: 6 × 2 is
// a MAC address, 20 × 2 an IPoIB hardware address, 8 × 2 or 4 × 4 a GUID, 8-4-4-4-12 a UUID; any other run is
// an IP address or stays as it is.
//
// numbered() counts the distinct values of each kind, and the number becomes part of the placeholder.
// Placeholders are from ranges that are never public: locally administered MAC addresses, IPv4 addresses of
// 198.18.0.0/15 (RFC 2544), and IPv6 prefixes of 2001:db8::/32. An interface ID that was made from a MAC
// address is made again from the masked one, so both still belong together.
std::string Mask::replaced(std::string_view whole, bool names) {
  const std::string text = without_secrets(whole);
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const bool starts = at == 0 || !is_word(text[at - 1]);
    const bool taken = starts && (take_home(text, at, out) || take_address(text, at, out) ||
                                  (names && take_name(text, at, out)));
    if (!taken) out.push_back(text[at++]);
  }
  return out;
}

std::string Mask::operator()(std::string_view text) { return replaced(text, true); }

std::string Mask::addresses(std::string_view text) { return replaced(text, false); }

}  // namespace railbed
