// Input of a password at the terminal.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed {

// Reads a password from /dev/tty, whatever the standard streams are, without echo. The terminal is restored
// before this returns, and also before Ctrl-C, Ctrl-Z or a signal takes effect. Fails without a terminal, on
// a signal, or if nothing was typed; so a result is never empty.
Result<std::string> ask_password(std::string_view question);

}  // namespace railbed
