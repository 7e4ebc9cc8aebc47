// A file's bytes, exactly, on their way between nodes: other texts are cleaned as they are decoded
// (base/json.h), and a file that was cleaned is another file. Nobody shows `bytes` without printable().
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railbed {

struct FileContent {
  std::string bytes = {};

  // "t" and the text where it is UTF-8, else "x" and its bytes in hexadecimal digits.
  std::string to_text() const;
  static std::optional<FileContent> parse(std::string_view text);
  bool operator==(const FileContent&) const = default;
};

}  // namespace railbed
