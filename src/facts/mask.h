// Hides who and where a machine is, and keeps what it is: a masked capture gives the same facts but for
// names.
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

// Shorter names stand within half of all words.
inline constexpr std::size_t kShortestHidden = 3;

// Replaces in any text: MAC addresses, GUIDs and the GIDs and IPv6 addresses made from them, UUIDs, public IP
// addresses, /home/NAME, values of keys that sound like secrets, and the names told to hide(). The same input
// gives the same placeholder of the same shape as long as the Mask lives, so equality survives; so do private
// addresses, and subnets of public ones (IPv4 up to /22, IPv6 up to /64).
class Mask {
 public:
  void hide(std::string_view name);
  std::string operator()(std::string_view text);
  // Likewise but for hidden names: in what the kernel prints, a module may be called as the host is.
  std::string addresses(std::string_view text);
  // "switch3": of things of a kind equal names get equal ones.
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

  std::map<std::string, std::map<std::string, std::uint64_t>, std::less<>>
      numbers_;  // kind → what → its number
  std::map<std::string, std::string, std::less<>> names_;
};

// /proc/cmdline with every word replaced that is not known to say how the kernel treats hardware.
std::string masked_command_line(std::string_view line);

// Names that a tree shows anyhow: its interfaces and RDMA devices, and the paths of its files.
using KnownNames = std::set<std::string, std::less<>>;

// A value of NCCL's or UCX's variables with every piece replaced that is neither known nor a number, an
// address or a device by its form.
std::string masked_nccl_value(std::string_view value, const KnownNames& known, Mask& mask);
// Of a file the lines that set such variables, and of what follows each name likewise.
std::string masked_nccl_lines(std::string_view text, const KnownNames& known, Mask& mask);
// Of `systemctl show` with kShowEnvironment.
std::string masked_unit_environments(std::string_view output, const KnownNames& known, Mask& mask);

// What the collectors read of a program's output, and of an answer of Host::call(); nothing of one that no
// collector asks.
std::optional<std::string> known_output(std::string_view command, const std::string& output, Mask& mask,
                                        const KnownNames& known);
std::optional<std::string> known_answer(std::string_view call, const std::string& answer, Mask& mask,
                                        const KnownNames& known);

// Everything is cut down to what the collectors use, and of that what may be anybody's words is replaced:
// what is not known to be harmless is not kept.
Tree masked(const Tree& tree, Mask& mask);

}  // namespace railbed
