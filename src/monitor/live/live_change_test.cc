#include "monitor/live/live_change.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

using json::Value;

Value parsed(std::string_view text) { return *json::parse(text); }

// Applies a change as the page's script does.
void apply(Value& value, const Value& change) {
  if (change.contains("=")) {
    value = change["="];
  } else if (change.contains("+")) {
    for (std::size_t i = 0; i < change["-"].get<std::size_t>(); ++i) value.erase(0);
    for (const Value& one : change["+"]) value.push_back(one);
  } else {
    for (const auto& [key, inner] : change["*"].items())
      apply(value.is_array() ? value[std::stoul(key)] : value[key], inner);
  }
}

std::string change_text(std::string_view before, std::string_view now) {
  Value value = parsed(before);
  const auto change = change_between(value, parsed(now));
  if (!change) return "";
  apply(value, *change);
  EXPECT_EQ(value, parsed(now));
  return json::dump(*change);
}

TEST(LiveChange, SaysOnlyWhatDiffers) {
  EXPECT_EQ(change_text(R"({"a":1,"b":[{"c":2},{"c":3}]})", R"({"a":1,"b":[{"c":2},{"c":3}]})"), "");
  EXPECT_EQ(change_text(R"({"a":1,"b":[{"c":2},{"c":3}]})", R"({"a":1,"b":[{"c":2},{"c":4}]})"),
            R"({"*":{"b":{"*":{"1":{"*":{"c":{"=":4}}}}}}})");
}

TEST(LiveChange, OfAnObjectThatIsAloneItsMembersAreLookedAt) {
  EXPECT_EQ(change_text(R"([{"c":2,"d":3}])", R"([{"c":4,"d":3}])"), R"({"*":{"0":{"*":{"c":{"=":4}}}}})");
}

TEST(LiveChange, SamplesMoveOn) {
  EXPECT_EQ(change_text("[1,2,3]", "[2,3,4]"), R"({"+":[4],"-":1})");
  EXPECT_EQ(change_text("[1,null]", "[1,null,4]"), R"({"+":[4],"-":0})");
  EXPECT_EQ(change_text("[]", "[null]"), R"({"+":[null],"-":0})");
}

TEST(LiveChange, WhatHasAnotherShapeIsReplaced) {
  EXPECT_EQ(change_text(R"({"a":1})", R"({"b":1})"), R"({"=":{"b":1}})");
  EXPECT_EQ(change_text(R"({"a":1})", R"([1])"), R"({"=":[1]})");
  EXPECT_EQ(change_text("[1,2,3]", "[]"), R"({"=":[]})");
  EXPECT_EQ(change_text("null", R"("x")"), R"({"=":"x"})");
}

}  // namespace
}  // namespace railbed
