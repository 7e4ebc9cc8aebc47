#include "monitor/live/live_change.h"

#include <algorithm>
#include <string>

namespace railbed {
namespace {

using json::Value;

Value replaced_by(const Value& now) { return Value{{"=", now}}; }

// Recognizes an array that has one more element at its end, with or without the loss of its first: samples
// move like this. Arrays of objects or arrays are compared by element instead.
std::optional<Value> moved_on(const Value& before, const Value& now) {
  if (now.empty() || now.back().is_structured()) return std::nullopt;
  for (const std::size_t left : {std::size_t{0}, std::size_t{1}}) {
    if (before.size() < left || before.size() - left + 1 != now.size()) continue;
    if (!std::equal(before.begin() + static_cast<std::ptrdiff_t>(left), before.end(), now.begin())) continue;
    return Value{{"+", Value::array({now.back()})}, {"-", left}};
  }
  return std::nullopt;
}

std::optional<Value> members_between(const Value& before, const Value& now) {
  Value members = Value::object();
  for (const auto& [key, value] : now.items()) {
    const auto known = before.find(key);
    if (known == before.end()) return replaced_by(now);
    if (auto change = change_between(*known, value)) members[key] = std::move(*change);
  }
  if (members.empty()) return std::nullopt;
  return Value{{"*", std::move(members)}};
}

std::optional<Value> elements_between(const Value& before, const Value& now) {
  if (before == now) return std::nullopt;
  if (auto moved = moved_on(before, now)) return moved;
  if (before.size() != now.size()) return replaced_by(now);
  Value elements = Value::object();
  for (std::size_t i = 0; i < now.size(); ++i)
    if (auto change = change_between(before[i], now[i])) elements[std::to_string(i)] = std::move(*change);
  return Value{{"*", std::move(elements)}};
}

}  // namespace

std::optional<Value> change_between(const Value& before, const Value& now) {
  if (before.is_object() && now.is_object() && before.size() == now.size())
    return members_between(before, now);
  if (before.is_array() && now.is_array()) return elements_between(before, now);
  if (before == now) return std::nullopt;
  return replaced_by(now);
}

}  // namespace railbed
