// Reads ipmitool's outputs about a BMC as facts. People post them; railbed itself does not run ipmitool for facts. Texts
// are untrusted: every text results in data or in nothing, and no text in a result is longer than kMaxBmcText.
#pragma once

#include <optional>
#include <string_view>

#include "facts/bmc.h"

namespace railbed {

// Outputs of one BMC; null data if there is none. An empty text is an output that is empty.
struct IpmitoolTexts {
  std::string_view sensor = {};      // sensor
  std::string_view sdr = {};         // sdr, sdr elist
  std::string_view events = {};      // sel list, sel elist
  std::string_view log = {};         // sel info
  std::string_view inventory = {};   // fru print
  std::string_view lan = {};         // lan print
  std::string_view controller = {};  // mc info
  std::string_view chassis = {};     // chassis status
  // A filter or a choice left rows out: without anything out of order in it, such a text is a reading that is missing.
  bool sensors_in_part = false;
  bool events_in_part = false;
};

// Returns what the texts hold; nullopt if there is none. A text without the lines that its command prints is a
// reading that is missing, never an empty list.
std::optional<BmcFacts> parse_ipmitool(const IpmitoolTexts& texts);

}  // namespace railbed
