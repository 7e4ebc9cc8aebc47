// What NVIDIA's error numbers mean and ask for: Xid (a GPU's, in the kernel log as "NVRM: Xid") and SXid (an
// NVSwitch's). Each row with its source.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace railbed {

enum class XidAction {
  kReboot,       // restart the node
  kReset,        // drain and reset the GPU
  kIsolate,      // take the GPU out: hands or a replacement are needed
  kApplication,  // the program that used the GPU failed; the GPU is well
  kInformation,  // nothing to do by itself
  kDriverSays,   // the message names the action
};
constexpr auto enum_names(XidAction) {
  return std::array<std::string_view, 6>{"reboot",      "reset",       "isolate",
                                         "application", "information", "driver-says"};
}
// "Restart the node.", …: one sentence for people.
std::string_view advice(XidAction action);

struct Xid {
  int first;  // codes first…last mean the same of several engines
  int last;
  XidAction action;
  std::string_view meaning;
  std::string_view source;
};

std::span<const Xid> xids();
// Null: not in the table.
const Xid* find_xid(int code);

// What the driver's own words of Xid 154 ask for: "… changed from 0x0 (None) to 0x2 (Node Reboot Required)".
// Nothing when they are not understood.
std::optional<XidAction> action_of_xid_154(std::string_view text);

struct Sxid {
  std::string_view unit;  // of the NVSwitch that reports it
  bool always_fatal;      // for the whole fabric: the node has to restart. The message says so of others.
  std::string_view source;
};
// Nothing: no NVSwitch error has this number.
std::optional<Sxid> find_sxid(int code);

}  // namespace railbed
