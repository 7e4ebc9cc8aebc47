#include "bmc/event_severity.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "base/text.h"

namespace railbed {
namespace {

bool names_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

}  // namespace

BmcSeverity severity_of_message(std::string_view message, std::string_view code) {
  const std::string text = lower(message) + " " + lower(code);
  const bool back = (names_any(text, {"upper"}) && names_any(text, {"going low"})) ||
                    (names_any(text, {"lower"}) && names_any(text, {"going high"}));
  if (back || names_any(text, {"deassert", "restored", "redundancy regained", "fully redundant"}))
    return BmcSeverity::kNominal;
  if (names_any(text, {"non-critical", "noncritical"})) return BmcSeverity::kWarning;
  if (names_any(text, {"uncorrectable",
                       "non-recoverable",
                       "nonrecoverable",
                       "thermal trip",
                       "thermtrip",
                       "internal error",
                       "ierr",
                       "catastrophic",
                       "machine check",
                       "fatal",
                       "critical - going",
                       "critical going",
                       "failure detected",
                       "power supply failure",
                       "ac lost",
                       "input lost",
                       "redundancy lost",
                       "critical stop",
                       "drive fault",
                       "pci serr",
                       "pci perr"}))
    return BmcSeverity::kCritical;
  if (names_any(text, {"correctable", "predictive failure", "logging limit", "throttl", "degraded"}))
    return BmcSeverity::kWarning;
  return BmcSeverity::kUnknown;
}

}  // namespace railbed
