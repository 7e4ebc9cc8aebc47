// The meaning of errors that a PCI Express device reports (Advanced Error Reporting), by the kernel's names of them and by
// its line in the log.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace railbed {

enum class PcieTrouble {
  kLink,         // the link between two devices: its signal or its protocol
  kLinkLost,     // the link went away: a device died, lost its power, or somebody reset or removed it
  kUnanswered,   // a request got no answer
  kRefused,      // a request that the other end refuses, or an answer that nobody expects
  kPoisoned,     // data that its sender had marked as bad
  kInternal,     // the device's own inside
  kTransaction,  // the transaction layer: kLinkLost to kPoisoned
  kUnknown,
};

// Returns the trouble that a name of the kernel's counters means: "CmpltTO".
PcieTrouble trouble_of_pcie_error(std::string_view name);
// Returns the one that several names have in common; kUnknown without a name.
PcieTrouble trouble_of_pcie_errors(std::span<const std::string> names);
// Returns the trouble of the kernel's line: "…, type=Data Link Layer, (Receiver ID)".
PcieTrouble trouble_of_pcie_line(std::string_view line);

// Returns whether it lies in the transaction layer: the link carried what failed.
bool is_of_transaction_layer(PcieTrouble trouble);

// Whose fault it may be, as far as the error shows it.
enum class PcieOrigin { kHardware, kNode, kUndecided };
PcieOrigin origin_of(PcieTrouble trouble);
// Returns the same in words: "the link: the card, …".
std::string_view origin_text(PcieTrouble trouble);
// Returns what to do. No layer proves the card broken: a wrong request or a device that went away shows in the transaction
// layer, and a riser or slot in the link. `built_in`: the device is part of its board.
std::string_view remedy_of(PcieTrouble trouble, bool built_in);

}  // namespace railbed
