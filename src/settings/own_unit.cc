#include "settings/own_unit.h"

#include <algorithm>

namespace railbed {

std::optional<bool> starts_at_boot(const Target& target, std::string_view unit) {
  const auto& units = target.facts().system.own_units_at_boot;
  if (!units.ok()) return std::nullopt;
  return std::ranges::find(*units, unit) != units->end();
}

// Before 244, systemd starts no one-shot unit again (RHEL 8 has 239).
std::string_view start_again(const Target& target) {
  const bool old =
      target.platform.family == OsFamily::kRhel && target.platform.major_version().value_or(9) < 9;
  return old ? "" : "Restart=on-failure\nRestartSec=10\n";
}

}  // namespace railbed
