// The severity of a complaint or problem.
#pragma once

#include <array>
#include <string_view>

namespace railbed::nccl {

enum class Severity { kNote, kWarning, kError };
constexpr auto enum_names(Severity) { return std::array<std::string_view, 3>{"note", "warning", "error"}; }

}  // namespace railbed::nccl
