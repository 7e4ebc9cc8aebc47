#include "hardware/nvme_warning.h"

#include <string_view>
#include <utility>

namespace railbed {

std::string nvme_warning_text(int critical_warning) {
  static constexpr std::pair<int, std::string_view> kWarnings[] = {{1, "spare blocks are used up"},
                                                                   {kNvmeTooHot, "it is too hot"},
                                                                   {4, "its reliability is degraded"},
                                                                   {8, "it went read only"},
                                                                   {16, "its power backup failed"}};
  std::string text;
  for (const auto& [bit, words] : kWarnings)
    if ((critical_warning & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(words);
  return text;
}

}  // namespace railbed
