// The live page's script: it asks for the view, applies changes to it, and shows of it what changed.
#pragma once

#include <string_view>

namespace railbed {

std::string_view live_script();

}  // namespace railbed
