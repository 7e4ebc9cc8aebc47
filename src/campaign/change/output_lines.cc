#include "campaign/change/output_lines.h"

#include <algorithm>

#include "fleet/frame.h"

namespace railbed {

void OutputLines::take(std::string_view bytes, std::string& lines) {
  while (!bytes.empty()) {
    const auto end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    const auto taken = std::min(end, kLongest - line_.size());
    line_ += bytes.substr(0, taken);
    if (taken > 0) returned_ = false;
    bytes.remove_prefix(taken);
    if (taken < end) {
      cut(lines);
      continue;
    }
    if (bytes.empty()) return;
    const bool newline = bytes.front() == '\n';
    bytes.remove_prefix(1);
    // Text before a carriage return already has its line; an empty line shows nothing.
    if (!line_.empty() || (newline && !returned_)) {
      finish(lines);
      returned_ = !newline;
    } else if (newline) {
      returned_ = false;
    }
  }
}

void OutputLines::end(std::string& lines) {
  if (!line_.empty()) finish(lines);
}

void OutputLines::finish(std::string& lines) {
  lines += fleet::without_escape_sequences(line_);
  lines += '\n';
  line_.clear();
}

// Ends the line here, but not inside a UTF-8 character: an incomplete one at its end moves to the next line.
void OutputLines::cut(std::string& lines) {
  std::size_t whole = line_.size();
  while (whole > line_.size() - 4 && (static_cast<unsigned char>(line_[whole - 1]) & 0xC0) == 0x80) --whole;
  if ((static_cast<unsigned char>(line_[whole - 1]) & 0xC0) == 0xC0) --whole;
  std::string rest = line_.substr(whole);
  line_.resize(whole);
  finish(lines);
  line_ = std::move(rest);
}

}  // namespace railbed
