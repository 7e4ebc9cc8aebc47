#include "verify/error_rate.h"

#include <fmt/format.h>

#include <algorithm>

namespace railbed {

std::optional<ErrorSpan> error_span(Case& verdict, const Facts& facts,
                                    const Reading<std::uint64_t>& packets) {
  constexpr double kSecondsADay = 86400;
  const double* uptime = verdict.read(facts.system.kernel.uptime_seconds);
  if (uptime == nullptr) return std::nullopt;
  ErrorSpan span{std::max(1.0, *uptime / kSecondsADay), std::nullopt};
  if (packets && *packets > 0) span.packets = *packets;
  return span;
}

bool exceeds(std::uint64_t errors, const ErrorSpan& span, const ErrorLimit& limit) {
  constexpr std::uint64_t kFewest = 3;
  const auto count = static_cast<double>(errors);
  if (errors < kFewest || count / span.days <= limit.a_day) return false;
  return limit.of_packets == 0 || !span.packets ||
         count / static_cast<double>(*span.packets) > limit.of_packets;
}

std::string rate_text(std::uint64_t errors, const ErrorSpan& span) {
  if (errors == 0) return "0";
  std::string text = fmt::format("{} in {:.1f} days", errors, span.days);
  if (span.packets)
    text += fmt::format(", {:.2g} of the packets received",
                        static_cast<double>(errors) / static_cast<double>(*span.packets));
  return text;
}

std::string limit_text(const ErrorLimit& limit) {
  std::string text = fmt::format("at most {:g} a day", limit.a_day);
  if (limit.of_packets > 0) text += fmt::format(", or {:g} of the packets", limit.of_packets);
  return text;
}

}  // namespace railbed
