// The elements of a frame of `railbed top`. Widths are in characters, not bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "monitor/live/top_frame.h"

namespace railbed {

enum class TopLook { kPlain, kTitle, kGood, kWarn, kBad, kUnknown, kDim, kSelected };

// One line, and how to emphasize it.
struct TopLine {
  std::string text = {};
  TopLook look = TopLook::kPlain;
};

std::size_t length_of(std::string_view text);  // in characters
// Returns printable text, cut or padded with spaces to `width` characters.
std::string fitted(std::string_view text, std::size_t width);
// Returns `left` and `right`, with `right` at the right edge and `left` cut to fit. Leaves out `right` if
// fewer than 8 columns would remain.
std::string with_right(std::string_view left, std::string_view right, int width);
// Breaks text into printable lines, at spaces if possible.
std::vector<std::string> wrapped(std::string_view text, int width);
// Returns bytes per second in at most five characters: "12.3G", "440M".
std::string bytes_a_second(double value);
// Draws the last `count` samples in eighths of `full`, or of the largest sample if `full` is 0. A gap is a
// space.
std::string sparkline(const LiveSamples& samples, std::size_t count, double full, bool unicode);
// Returns the line for the terminal: cut to the width, in ASCII or with color codes as the style requires.
std::string draw(const TopLine& line, const TopStyle& style);

}  // namespace railbed
