// Splits a program's output into lines as it arrives.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace railbed {

// Buffers at most one incomplete line. A carriage return ends a line as a newline does, because progress bars
// overwrite theirs. A line longer than kLongest is split. Escape sequences, such as colors, are removed.
class OutputLines {
 public:
  static constexpr std::size_t kLongest = 8 << 10;

  // Appends the lines that are complete now to `lines`, each with a newline.
  void take(std::string_view bytes, std::string& lines);
  // Appends the incomplete line, if any, as the last one.
  void end(std::string& lines);

 private:
  void finish(std::string& lines);
  void cut(std::string& lines);

  std::string line_;
  bool returned_ = false;  // the previous line ended with a carriage return
};

}  // namespace railbed
