// Words as a POSIX shell has to read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace railbed {

// One word for a POSIX shell, between single quotes.
std::string shell_quote(std::string_view text);

// Likewise, without quotes where no shell needs them: for people to read.
std::string shell_word(std::string_view text);

// A command as a person would type it.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace railbed
