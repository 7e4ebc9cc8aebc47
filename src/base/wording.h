// Wording that messages have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed {

// Returns a number of things: "1 path", "2 paths". `many` is the plural if that is not `one` with an "s".
std::string counted(std::size_t count, std::string_view one, std::string_view many = {});

// Returns a span of time in a unit that suits it: "90 s", "15 min", "2.5 h".
std::string short_time_text(double seconds);

// Returns the text of an error without the node's name that at_node() put before it: for a line that names the node.
std::string without_node(const Error& error);

// Returns `, did you mean "40 Gb/s"?` for a rate as people mistype it ("40GbE", "40gbps", "40"), to append
// to a message; empty if none is recognised. A number without a unit is taken as Gb/s. Of a rate in bytes ("40 GB/s") it
// names both readings.
std::string did_you_mean_rate(std::string_view text);

}  // namespace railbed
