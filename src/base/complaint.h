// Complaints about a text that a person wrote: each with its place, the line and a caret; all in one go.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace railbed {

// A stretch of the text, in bytes.
struct Spot {
  std::size_t offset = 0;
  std::size_t length = 1;
};

class Complaints {
 public:
  // More than this are counted, not shown.
  static constexpr std::size_t kShown = 20;

  // Both must outlive this. `file` is only the name to show.
  Complaints(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  void add(Spot spot, std::string message) { found_.push_back({spot, std::move(message)}); }
  bool empty() const { return found_.empty(); }
  std::size_t count() const { return found_.size(); }
  // The number of the line that holds the spot, from 1: "first named on line 6".
  std::size_t line_of(Spot spot) const;
  // What stands there, for a message: what the text given here hides, stays hidden.
  std::string quoted(Spot spot) const;
  // kBadInput with every complaint, in the order of the text.
  Error to_error() const;

 private:
  struct Complaint {
    Spot spot;
    std::string message;
  };
  std::string rendered(const Complaint& complaint) const;

  std::string_view text_;
  std::string_view file_;
  std::vector<Complaint> found_;
};

}  // namespace railbed
