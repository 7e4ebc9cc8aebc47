// Masks the identity and location of a machine in a capture and keeps its properties: a masked capture gives
// the same facts except for names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "host/tree.h"

namespace railbed {

// Names of fewer characters are not masked in texts: they occur inside too many other words.
inline constexpr std::size_t kShortestHidden = 3;

// Replaces names and addresses in texts by placeholders of the same shape.
//
// Masked are MAC addresses, GUIDs and the GIDs and IPv6 addresses made from them, UUIDs, public IP addresses,
// /home/NAME, values of keys that look like secrets, and the names passed to hide(). During the life of a
// Mask the same input gives the same placeholder, so equal values stay equal. Private addresses stay.
// Addresses of one public subnet (IPv4 up to /22, IPv6 up to /64) stay in one subnet.
//
// Not thread-safe.
class Mask {
 public:
  // Masks this name in all later texts. Ignored for "localhost" and for names shorter than kShortestHidden.
  void hide(std::string_view name);
  std::string operator()(std::string_view text);
  // Masks like operator() except for hidden names: in the kernel's messages a module may have the same name
  // as the host.
  std::string addresses(std::string_view text);
  // Returns a placeholder such as "switch3". Equal names of one kind get equal placeholders.
  std::string placeholder(std::string_view kind, std::string_view name);

 private:
  std::string replaced(std::string_view text, bool names);
  std::string token(std::string_view run);
  bool take_home(std::string_view text, std::size_t& at, std::string& out) const;
  bool take_address(std::string_view text, std::size_t& at, std::string& out);
  bool take_name(std::string_view text, std::size_t& at, std::string& out) const;
  std::string uuid(std::string_view text);
  std::string ipv4(std::string_view text);
  std::string ipv6(std::string_view text);
  std::uint64_t interface_id(std::uint64_t id);
  std::uint64_t mac_number(std::uint64_t mac);
  std::uint64_t numbered(std::string_view kind, const std::string& key);

  // Kind → key → its number.
  std::map<std::string, std::map<std::string, std::uint64_t>, std::less<>> numbers_;
  std::map<std::string, std::string, std::less<>> names_;
};

// Returns /proc/cmdline with every word replaced that is not a known setting of how the kernel treats
// hardware.
std::string masked_command_line(std::string_view line);

// Names that a tree contains in any case: its interfaces and RDMA devices, and the paths of its files.
using KnownNames = std::set<std::string, std::less<>>;

// Returns a value of an NCCL or UCX variable with its unknown pieces masked. Known are the names in `known`,
// numbers, addresses, names of the form of a device, and words of the documentation.
std::string masked_nccl_value(std::string_view value, const KnownNames& known, Mask& mask);
// Returns the lines of a file that set such variables, with their values masked in this way.
std::string masked_nccl_lines(std::string_view text, const KnownNames& known, Mask& mask);
// Masks the output of `systemctl show` with kShowEnvironment.
std::string masked_unit_environments(std::string_view output, const KnownNames& known, Mask& mask);

// Return the masked part of a program's output, or of the reply of Host::call(), that the collectors read;
// nullopt if no collector runs that command or makes that call.
std::optional<std::string> known_output(std::string_view command, const std::string& output, Mask& mask,
                                        const KnownNames& known);
std::optional<std::string> known_answer(std::string_view call, const std::string& answer, Mask& mask,
                                        const KnownNames& known);

// Returns the tree reduced to what the collectors use, with all free text in it masked. Only content that is
// known to be harmless stays.
Tree masked(const Tree& tree, Mask& mask);

}  // namespace railbed
