// Errors in a text that a person wrote. All are collected and reported at once, each as FILE:LINE:COLUMN, the
// line itself and a caret under the spot.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace railbed {

// A range of the text, in bytes.
struct Spot {
  std::size_t offset = 0;
  std::size_t length = 1;
};

class Complaints {
 public:
  // At most this many are rendered; the others are only counted.
  static constexpr std::size_t kShown = 20;

  // Keeps views: both must outlive this object. `file` is only the name to show; no file is opened.
  Complaints(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  void add(Spot spot, std::string message) { found_.push_back({spot, std::move(message)}); }
  bool empty() const { return found_.empty(); }
  std::size_t count() const { return found_.size(); }
  // Returns the number of the line that holds the spot, from 1: "first named on line 6".
  std::size_t line_of(Spot spot) const;
  // Returns the text at `spot` in quotes, made printable, for a message. It is taken from the text given to
  // the constructor, so whatever that text masks stays masked.
  std::string quoted(Spot spot) const;
  // Returns a kBadInput error, with `placed` set: the first kShown complaints in the order of the text, and
  // how many others there are.
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
