// A program's output, cut into lines as they come.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace railbed {

// Holds at most one line that is not yet whole. A carriage return ends a line as a newline does: progress
// bars write over theirs. One that is too long is cut. Escape sequences, such as colours, are left out.
class OutputLines {
 public:
  static constexpr std::size_t kLongest = 8 << 10;

  // Adds the lines that are whole now to `lines`, each with a newline.
  void take(std::string_view bytes, std::string& lines);
  // Adds what is left as the last line.
  void end(std::string& lines);

 private:
  void finish(std::string& lines);
  void cut(std::string& lines);

  std::string line_;
  bool returned_ = false;  // the line before ended with a carriage return
};

}  // namespace railbed
