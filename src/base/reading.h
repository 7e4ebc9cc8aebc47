// A Reading is one fact: its value and source, or the reason why there is no value and where we looked.
// "Could not look" is never mistaken for "fine": a rule must check ok() before it can use the value.
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
  kDenied,       // it exists, but we may not read it
  kUnsupported,  // the source does not provide this (EINVAL, EOPNOTSUPP, "N/A")
  kGarbled,      // the source returned something that we could not parse
  kTimeout,      // the source did not respond in time
  kUnknown,      // the source does not cover this: a support report that lacks it
};
constexpr auto enum_names(Missing) {
  return std::array<std::string_view, 6>{"absent", "denied", "unsupported", "garbled", "timeout", "unknown"};
}

struct Miss {
  Missing missing = Missing::kAbsent;
  std::string why;  // the system's own message, e.g. "Permission denied"
  bool operator==(const Miss&) const = default;
};

const Miss& not_collected();  // the state of a reading before collection

// The source of a reading and, if it has no value, the reason. Immutable, so equal origins can be shared.
struct Origin {
  std::string from;
  std::optional<Miss> miss;
};
using SharedOrigin = std::shared_ptr<const Origin>;
SharedOrigin make_origin(std::string from, std::optional<Miss> miss);

// While a pool exists, the readings that its thread makes share equal origins. The nodes of a fleet are read
// from the same few thousand sources, whose names would otherwise take most of the memory of their facts.
// Pools nest: the latest one on a thread is used. Not thread-safe; destroy it on the thread that made it.
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
  std::optional<T> to_optional() const { return ok() ? std::optional(value_) : std::nullopt; }
  const Miss& miss() const {
    assert(!ok());
    return origin_ && origin_->miss ? *origin_->miss : not_collected();
  }
  bool absent() const { return !ok() && miss().missing == Missing::kAbsent; }
  // True if the source does not cover this fact: it may be there or not, so no verdict may rest on it.
  bool unknown() const { return !ok() && miss().missing == Missing::kUnknown; }

  // Returns the source: a path, command or library call ("/sys/class/net/ens6/mtu", "ip -j address show",
  // "ibv_query_port").
  const std::string& from() const {
    static const std::string kNowhere;
    return origin_ ? origin_->from : kNowhere;
  }

  // Turns Reading<T> into Reading<U>. `parse` returns std::optional<U>; nullopt becomes a kGarbled miss.
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

// Returns the elements of a reading, or an empty list if it has no value. (value_or() would copy.)
template <class T>
const std::vector<T>& items(const Reading<std::vector<T>>& reading) {
  static const std::vector<T> kNone;
  return reading.ok() ? *reading : kNone;
}
template <class T>
const std::vector<T>& items(const Reading<std::vector<T>>&& gone_when_walked) = delete;

// Formats a miss for people: "absent: No such file or directory (/sys/class/net/ens6/mtu)".
std::string describe(const Miss& miss, std::string_view from);

}  // namespace railbed
