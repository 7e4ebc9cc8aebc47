// A Reading is one fact: its value and where it was read, or why there is none and where we looked.
// "Could not look" is never mistaken for "fine": a rule has to ask before it can use the value.
#pragma once

#include <array>
#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace railbed {

enum class Missing {
  kAbsent,       // there is no such file, device or library
  kDenied,       // it is there, and we may not read it
  kUnsupported,  // it answered that it does not have this (EINVAL, EOPNOTSUPP, "N/A")
  kGarbled,      // it answered something that we could not understand
  kTimeout,      // it did not answer in time
  kUnknown,      // what we read from does not tell: a support report that lacks it
};
constexpr auto enum_names(Missing) {
  return std::array<std::string_view, 6>{"absent", "denied", "unsupported", "garbled", "timeout", "unknown"};
}

struct Miss {
  Missing missing = Missing::kAbsent;
  std::string why;  // the system's own words, e.g. "Permission denied"
  bool operator==(const Miss&) const = default;
};

const Miss& not_collected();  // what a reading is before anybody looked

// Where a reading is from, and why it has no value. Nobody changes one, so equal ones can be the same.
struct Origin {
  std::string from;
  std::optional<Miss> miss;
};
using SharedOrigin = std::shared_ptr<const Origin>;
SharedOrigin make_origin(std::string from, std::optional<Miss> miss);

// While one lives, readings that its thread makes share equal origins: the nodes of a fleet are read at the
// same few thousand places, whose names would be most of what is kept of them.
class OriginPool {
 public:
  OriginPool();
  OriginPool(const OriginPool&) = delete;
  OriginPool& operator=(const OriginPool&) = delete;
  ~OriginPool();
  SharedOrigin find_or_make(std::string from, std::optional<Miss> miss);

 private:
  std::unordered_map<std::string, SharedOrigin> origins_;
  OriginPool* before_;
};

template <class T>
class Reading {
 public:
  using Value = T;

  Reading() = default;  // absent: "not collected"
  Reading(T value, std::string from)
      : value_(std::move(value)), ok_(true), origin_(make_origin(std::move(from), std::nullopt)) {}
  Reading(Miss miss, std::string from) : origin_(make_origin(std::move(from), std::move(miss))) {}

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok(); }
  const T& value() const {
    assert(ok());
    return value_;
  }
  const T& operator*() const { return value(); }
  const T* operator->() const { return &value(); }
  T value_or(T fallback) const { return ok() ? value() : std::move(fallback); }
  const Miss& miss() const {
    assert(!ok());
    return origin_ && origin_->miss ? *origin_->miss : not_collected();
  }
  bool absent() const { return !ok() && miss().missing == Missing::kAbsent; }
  // Nobody looked, so that it may be there or not: no verdict rests on it.
  bool unknown() const { return !ok() && miss().missing == Missing::kUnknown; }

  // The path, command or library call: "/sys/class/net/ens6/mtu", "ip -j address show", "ibv_query_port".
  const std::string& from() const {
    static const std::string kNowhere;
    return origin_ ? origin_->from : kNowhere;
  }

  // Turns Reading<T> into Reading<U>. `parse` answers std::optional<U>; nothing means garbled.
  template <class Parse>
  auto parsed(Parse&& parse) const -> Reading<typename decltype(parse(std::declval<T>()))::value_type> {
    using U = typename decltype(parse(std::declval<T>()))::value_type;
    if (!ok()) return Reading<U>(miss(), from());
    if (auto parsed = parse(value())) return Reading<U>(std::move(*parsed), from());
    return Reading<U>(Miss{Missing::kGarbled, "not understood"}, from());
  }

  bool operator==(const Reading& other) const {
    return ok_ == other.ok_ && from() == other.from() &&
           (ok_ ? value_ == other.value_ : miss() == other.miss());
  }

 private:
  T value_{};
  bool ok_ = false;
  SharedOrigin origin_;
};

// What was read, or nothing to walk over. (value_or() would copy.)
template <class T>
const std::vector<T>& items(const Reading<std::vector<T>>& reading) {
  static const std::vector<T> kNone;
  return reading.ok() ? *reading : kNone;
}
template <class T>
const std::vector<T>& items(const Reading<std::vector<T>>&& gone_when_walked) = delete;

// "absent: No such file or directory (/sys/class/net/ens6/mtu)", for people.
std::string describe(const Miss& miss, std::string_view from);

}  // namespace railbed
