// Findings in the order in which people read them. They stay where the rules put them, and this container
// sorts pointers only: a large fleet has millions, and moving them into one array costs more than finding
// them.
#pragma once

#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

#include "verify/finding.h"

namespace railbed {

// Number of findings by status.
struct StatusCounts {
  std::size_t pass = 0, warn = 0, fail = 0, unknown = 0, not_applicable = 0;
  void add(Status status);
  void add(const StatusCounts& others);
  std::size_t all() const { return pass + warn + fail + unknown + not_applicable; }
  // In the order of a document.
  static void fields(auto&& field) {
    field("fail", &StatusCounts::fail);
    field("warn", &StatusCounts::warn);
    field("unknown", &StatusCounts::unknown);
    field("pass", &StatusCounts::pass);
    field("n/a", &StatusCounts::not_applicable);
  }
};

// Selects the findings that are stored. A thousand nodes have a million findings that report a sound state,
// half a gigabyte; a caller that needs only their number passes kUnsound.
enum class Keep { kAll, kUnsound };

// A list of findings with random access. Owns them in blocks; a copy puts each finding into a block of its
// own.
class Findings {
 public:
  using Blocks = std::vector<std::vector<Finding>>;

  template <class Item>
  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Finding;
    using difference_type = std::ptrdiff_t;
    using pointer = Item*;
    using reference = Item&;

    Iterator() = default;
    explicit Iterator(Finding* const* at) : at_(at) {}
    reference operator*() const { return **at_; }
    pointer operator->() const { return *at_; }
    reference operator[](difference_type n) const { return *at_[n]; }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this -= 1; }
    Iterator operator++(int) { return Iterator(at_++); }
    Iterator operator--(int) { return Iterator(at_--); }
    Iterator& operator+=(difference_type n) {
      at_ += n;
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    friend Iterator operator+(Iterator it, difference_type n) { return it += n; }
    friend Iterator operator+(difference_type n, Iterator it) { return it += n; }
    friend Iterator operator-(Iterator it, difference_type n) { return it -= n; }
    friend difference_type operator-(Iterator a, Iterator b) { return a.at_ - b.at_; }
    auto operator<=>(const Iterator&) const = default;

   private:
    Finding* const* at_ = nullptr;
  };
  using iterator = Iterator<Finding>;
  using const_iterator = Iterator<const Finding>;

  Findings() = default;
  Findings(std::initializer_list<Finding> list) {
    for (const Finding& finding : list) push_back(finding);
  }
  // Takes ownership of the blocks. `order` must point to each finding in them exactly once. `left_out` counts
  // the findings that were not stored.
  Findings(Blocks blocks, std::vector<Finding*> order, StatusCounts left_out = {})
      : blocks_(std::move(blocks)), order_(std::move(order)), left_out_(left_out) {}
  Findings(const Findings& other) : left_out_(other.left_out_) {
    for (const Finding& finding : other) push_back(finding);
  }
  Findings(Findings&&) noexcept = default;
  Findings& operator=(Findings other) noexcept {
    blocks_.swap(other.blocks_);
    order_.swap(other.order_);
    left_out_ = other.left_out_;
    return *this;
  }
  ~Findings() = default;

  void push_back(Finding finding) {
    blocks_.emplace_back().push_back(std::move(finding));
    order_.push_back(&blocks_.back().front());
  }

  // Returns the number of findings by status, including those that were counted but not stored (Keep).
  StatusCounts counts() const;

  std::size_t size() const { return order_.size(); }
  bool empty() const { return order_.empty(); }
  Finding& operator[](std::size_t i) { return *order_[i]; }
  const Finding& operator[](std::size_t i) const { return *order_[i]; }
  const Finding& front() const { return *order_.front(); }
  Finding& back() { return *order_.back(); }
  iterator begin() { return iterator(order_.data()); }
  iterator end() { return iterator(order_.data() + order_.size()); }
  const_iterator begin() const { return const_iterator(order_.data()); }
  const_iterator end() const { return const_iterator(order_.data() + order_.size()); }

 private:
  Blocks blocks_;
  std::vector<Finding*> order_;
  StatusCounts left_out_;
};

}  // namespace railbed
