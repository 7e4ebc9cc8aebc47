// The meaning and the remedy of NVIDIA's error numbers: Xid (a GPU's, in the kernel log as "NVRM: Xid") and
// SXid (an NVSwitch's). Each row has its source.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace railbed {

enum class XidAction {
  kReboot,       // restart the node
  kReset,        // drain and reset the GPU
  kIsolate,      // remove the GPU: it needs a manual repair or a replacement
  kApplication,  // the program that used the GPU failed; the GPU is healthy
  kInformation,  // no action for this error alone
  kDriverSays,   // the message names the action
};
constexpr auto enum_names(XidAction) {
  return std::array<std::string_view, 6>{"reboot",      "reset",       "isolate",
                                         "application", "information", "driver-says"};
}
// Returns the action in one sentence for users.
std::string_view advice(XidAction action);

// A row of the table.
struct Xid {
  int first;  // codes first…last have the same meaning for several engines
  int last;
  XidAction action;
  std::string_view meaning;
  std::string_view source;
};

std::span<const Xid> xids();
// Returns the row of a code; null if the table does not have it.
const Xid* find_xid(int code);

// The place of the fault behind an Xid, as far as its number shows it.
enum class XidOrigin {
  kProgram,   // the program, as long as not several programs or only one GPU show it
  kHardware,  // memory, links, power or the chip itself
  kNode,      // the GPU, its firmware or its driver, and not the program
  kEither,    // a program or the GPU
  kNobody,    // no fault, or the consequence of another one
};
// Returns the origin of a code; kEither if the table does not have it.
XidOrigin origin_of_xid(int code);
// Returns whether the driver's line about this code shows that the GPU, a link of it or its driver failed: no program
// causes it, and it demands a reset, a restart or a repair, or it ends the program that met bad memory (94).
bool is_gpu_failure(int code, std::string_view line);

// Returns the action that the text of Xid 154 names: "… changed from 0x0 (None) to 0x2 (Node Reboot
// Required)". Nullopt if the text is not understood.
std::optional<XidAction> action_of_xid_154(std::string_view text);

// The meaning of an NVSwitch error.
struct Sxid {
  std::string_view unit;  // unit of the NVSwitch that reports it
  // Fatal for the whole fabric: the node has to restart. For other codes the message contains this.
  bool always_fatal;
  std::string_view source;
};
// Returns the meaning of an SXid; nullopt if no NVSwitch error has this number.
std::optional<Sxid> find_sxid(int code);

}  // namespace railbed
