// The words and strokes that a frame of `railbed top` is made of. Widths are in characters, not bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "monitor/top_frame.h"

namespace railbed {

enum class TopLook { kPlain, kTitle, kGood, kWarn, kBad, kUnknown, kDim, kSelected };

struct TopLine {
  std::string text = {};
  TopLook look = TopLook::kPlain;
};

// Cut or filled up with spaces to so many characters; harmless.
std::string fitted(std::string_view text, std::size_t width);
// `right` at the right edge; the left text gives way.
std::string with_right(std::string_view left, std::string_view right, int width);
// At spaces where that can be; harmless lines.
std::vector<std::string> wrapped(std::string_view text, int width);
// "12.3G", "440M": bytes a second, in five characters at most.
std::string bytes_a_second(double value);
// The last `count` samples, by eighths of `full`, or of the largest where that is 0; a space for a gap.
std::string sparkline(const LiveSamples& samples, std::size_t count, double full, bool unicode);
// As it goes to the terminal: cut to the width, in ASCII or colour where that is wanted.
std::string draw(const TopLine& line, const TopStyle& style);

}  // namespace railbed
