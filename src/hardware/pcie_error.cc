#include "hardware/pcie_error.h"

#include <algorithm>
#include <iterator>

namespace railbed {
namespace {

// Linux drivers/pci/pcie/aer.c, aer_correctable_error_string and aer_uncorrectable_error_string, today and in 4.19; PCI
// Express Base Specification 6.2.7.
struct PcieErrorName {
  std::string_view name;
  std::string_view old_name;
  PcieTrouble trouble;
};
constexpr PcieErrorName kPcieErrorNames[] = {
    {"RxErr", "Receiver Error", PcieTrouble::kLink},
    {"BadTLP", "Bad TLP", PcieTrouble::kLink},
    {"BadDLLP", "Bad DLLP", PcieTrouble::kLink},
    {"Rollover", "RELAY_NUM Rollover", PcieTrouble::kLink},
    {"Timeout", "Replay Timer Timeout", PcieTrouble::kLink},
    // An uncorrectable error that did no harm.
    {"NonFatalErr", "Advisory Non-Fatal", PcieTrouble::kTransaction},
    {"CorrIntErr", "Corrected Internal Error", PcieTrouble::kInternal},
    {"DLP", "Data Link Protocol", PcieTrouble::kLink},
    {"SDES", "Surprise Down Error", PcieTrouble::kLinkLost},
    {"TLP", "Poisoned TLP", PcieTrouble::kPoisoned},
    {"FCP", "Flow Control Protocol", PcieTrouble::kLink},
    {"CmpltTO", "Completion Timeout", PcieTrouble::kUnanswered},
    {"CmpltAbrt", "Completer Abort", PcieTrouble::kRefused},
    {"UnxCmplt", "Unexpected Completion", PcieTrouble::kRefused},
    {"RxOF", "Receiver Overflow", PcieTrouble::kTransaction},
    {"MalfTLP", "Malformed TLP", PcieTrouble::kTransaction},
    {"ECRC", "ECRC", PcieTrouble::kTransaction},
    {"UnsupReq", "Unsupported Request", PcieTrouble::kRefused},
    {"ACSViol", "ACS Violation", PcieTrouble::kRefused},
    {"UncorrIntErr", "Uncorrectable Internal Error", PcieTrouble::kInternal},
    {"BlockedTLP", "MC Blocked TLP", PcieTrouble::kRefused},
    {"AtomicOpBlocked", "AtomicOp Egress Blocked", PcieTrouble::kRefused},
    {"TLPBlockedErr", "TLP Prefix Blocked Error", PcieTrouble::kRefused},
    {"PoisonTLPBlocked", "Poisoned TLP Egress Blocked", PcieTrouble::kPoisoned},
};

}  // namespace

PcieTrouble trouble_of_pcie_error(std::string_view name) {
  const auto found = std::ranges::find_if(
      kPcieErrorNames, [&](const PcieErrorName& row) { return row.name == name || row.old_name == name; });
  return found == std::end(kPcieErrorNames) ? PcieTrouble::kUnknown : found->trouble;
}

PcieTrouble trouble_of_pcie_errors(std::span<const std::string> names) {
  if (names.empty()) return PcieTrouble::kUnknown;
  const PcieTrouble first = trouble_of_pcie_error(names.front());
  bool all_same = true;
  bool all_of_transactions = true;
  for (const std::string& name : names) {
    const PcieTrouble one = trouble_of_pcie_error(name);
    all_same = all_same && one == first;
    all_of_transactions = all_of_transactions && is_of_transaction_layer(one);
  }
  return all_same ? first : all_of_transactions ? PcieTrouble::kTransaction : PcieTrouble::kUnknown;
}

// The kernel chooses layer and agent by the bits that are set (AER_GET_LAYER_ERROR, AER_GET_AGENT). It puts a link that
// went away (SDES) into the transaction layer, and "(Requester ID)" stands for no answer and for a refused request alike.
PcieTrouble trouble_of_pcie_line(std::string_view line) {
  const auto has = [&](std::string_view words) { return line.find(words) != line.npos; };
  if (has("type=Physical Layer") || has("type=Data Link Layer")) return PcieTrouble::kLink;
  if (has("type=Transaction Layer"))
    return has("(Completer ID)") ? PcieTrouble::kRefused : PcieTrouble::kTransaction;
  return PcieTrouble::kUnknown;  // "type=Inaccessible, …"
}

bool is_of_transaction_layer(PcieTrouble trouble) {
  return trouble == PcieTrouble::kLinkLost || trouble == PcieTrouble::kUnanswered ||
         trouble == PcieTrouble::kRefused || trouble == PcieTrouble::kPoisoned ||
         trouble == PcieTrouble::kTransaction;
}

PcieOrigin origin_of(PcieTrouble trouble) {
  switch (trouble) {
    case PcieTrouble::kLink:
    case PcieTrouble::kPoisoned:
      return PcieOrigin::kHardware;
    case PcieTrouble::kInternal:
      return PcieOrigin::kNode;
    case PcieTrouble::kLinkLost:
    case PcieTrouble::kUnanswered:
    case PcieTrouble::kRefused:
    case PcieTrouble::kTransaction:
    case PcieTrouble::kUnknown:
      return PcieOrigin::kUndecided;
  }
  return PcieOrigin::kUndecided;
}

std::string_view origin_text(PcieTrouble trouble) {
  switch (trouble) {
    case PcieTrouble::kLink:
      return "its link: the card, its slot or riser, or how the firmware sets the link; not the job";
    case PcieTrouble::kLinkLost:
      return "its link went away: a card that died or lost its power, or somebody who reset or removed it";
    case PcieTrouble::kUnanswered:
      return "a request got no answer: a device that hung, was reset or is gone, or its driver; not the link by itself";
    case PcieTrouble::kRefused:
      return "the link carried a request that the other end refuses: a driver, a reset, the firmware, or a program that "
             "drives a device itself";
    case PcieTrouble::kPoisoned:
      return "data that its sender had marked as bad: memory of this node or of another device, not the job";
    case PcieTrouble::kInternal:
      return "the inside of the device or its firmware, not the job";
    case PcieTrouble::kTransaction:
      return "the link carried it, and what it carried was wrong, refused or not answered; what stands before it in the "
             "log may show why";
    case PcieTrouble::kUnknown:
      return "the link, a device at either end, or a driver: what was reported does not show which";
  }
  return {};
}

std::string_view remedy_of(PcieTrouble trouble, bool built_in) {
  if (trouble == PcieTrouble::kLinkLost)
    return built_in
               ? "Look for who reset the device, and at what stands before it in the log. If nobody did: update the "
                 "firmware; shut down and take AC power off for a minute."
               : "Look for who reset or removed the device, and at what stands before it in the log. If nobody did: "
                 "its power, its seat and its riser; then the device itself.";
  if (is_of_transaction_layer(trouble))
    return "The link carried it: a device did not answer, or asked for what the other end refuses. Look at what "
           "stands before it (a lost GPU, a failed firmware, a reset, a driver) and at the error's name "
           "(CmpltTO, UnsupReq, MalfTLP, TLP); update BIOS, firmware and driver. Swap hardware only if it follows "
           "the card into another slot.";
  if (built_in)
    return "The device is part of the board. Look at what stands before it in the log; update the firmware; "
           "shut down and take AC power off for a minute.";
  return "Look at what stands before it in the log. Reseat the card and its riser, clean the contacts; update BIOS "
         "and firmware. Replace what the error follows into another slot: the card, else the riser or board.";
}

}  // namespace railbed
