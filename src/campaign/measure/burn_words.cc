#include "campaign/measure/burn_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace railbed {

Result<BurnShare> parse_burn_share(const std::string& text) {
  const auto colon = std::min(text.find(':'), text.size());
  const auto names = enum_names(BurnPhase{});
  const auto name = std::ranges::find(names, std::string_view(text).substr(0, colon));
  const auto share = colon < text.size() ? parse_number<int>(std::string_view(text).substr(colon + 1)) : 1;
  if (name == names.end() || !share || *share < 1 || *share > 1000)
    return fail(ErrorKind::kBadInput,
                fmt::format("--phases {}: write {}, each with a share if you want: bf16:30,memory:10", text,
                            fmt::join(names, ", ")));
  return BurnShare{static_cast<BurnPhase>(name - names.begin()), *share};
}

Result<BurnDrill> parse_burn_drill(const std::string& text) {
  const std::string_view all = text;
  const auto first = all.find(':');
  const auto names = enum_names(BurnInjection{});
  const auto name = std::ranges::find(names, all.substr(0, first));
  if (first != std::string_view::npos && name != names.end()) {
    const auto kind = static_cast<BurnInjection>(name - names.begin());
    const bool slows = kind == BurnInjection::kSlow;
    const std::string_view rest = all.substr(first + 1);
    const auto second = rest.find(slows ? ':' : '@');
    if (second != std::string_view::npos) {
      const auto which = parse_number<int>(rest.substr(0, second));
      const auto amount = parse_real(std::string(rest.substr(second + 1)));
      if (which && *which >= 0 && amount && *amount >= 0 && (!slows || *amount <= 90))
        return BurnDrill{kind, *which, *amount};
    }
  }
  return fail(
      ErrorKind::kBadInput,
      fmt::format("--inject {}: write wrong-result:GPU@SECONDS, slow:GPU:PERCENT, wrong-cpu:CPU@SECONDS, "
                  "wrong-host-memory:CPU@SECONDS, wrong-drive:DRIVE@SECONDS or wrong-collective:GPU@SECONDS",
                  text));
}

}  // namespace railbed
