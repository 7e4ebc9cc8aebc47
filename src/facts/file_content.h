// The exact bytes of a file in transit between nodes. Other texts are cleaned when they are decoded
// (base/json.h), which would change a file's content. Pass `bytes` through printable() before showing them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railbed {

struct FileContent {
  std::string bytes = {};

  // Returns "t" and the text if the bytes are UTF-8, else "x" and the bytes in hexadecimal digits.
  std::string to_text() const;
  // Parses the form of to_text(); nullopt if the text has another form.
  static std::optional<FileContent> parse(std::string_view text);
  bool operator==(const FileContent&) const = default;
};

}  // namespace railbed
