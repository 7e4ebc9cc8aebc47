// A password, asked of the person at the terminal.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed {

// Asks on /dev/tty, whatever the standard streams are, without echo; the terminal is as it was before when
// this returns, and when Ctrl-C, Ctrl-Z or a signal ends the question. An error where there is no terminal or
// nothing was typed. Never empty.
Result<std::string> ask_password(std::string_view question);

}  // namespace railbed
