#include "base/json.h"
#include "base/fields.h"

#include <gtest/gtest.h>

#include <array>

#include "base/ip.h"
#include "base/text.h"

namespace railbed {
namespace {

enum class Color { kRed, kGreen };
constexpr auto enum_names(Color) { return std::array<std::string_view, 2>{"red", "green"}; }

struct Inner {
  int number = 7;
  Reading<std::uint64_t> count;
  FIELDS(Inner, number, count);
};

struct Outer {
  std::string name;
  std::vector<Inner> inner;
  std::map<std::string, double> map;
  std::optional<IpAddress> address;
  Color color = Color::kRed;
  BitRate rate;
  FIELDS(Outer, name, inner, map, address, color, rate);
};

TEST(Json, GoesBothWays) {
  Outer outer;
  outer.name = "gpu01";
  outer.inner.push_back({3, Reading<std::uint64_t>(18446744073709551615ULL, "/sys/x")});
  outer.inner.push_back({4, Reading<std::uint64_t>(Miss{Missing::kDenied, "Permission denied"}, "/sys/y")});
  outer.map["a"] = 0.5;
  outer.address = IpAddress::parse("10.0.0.1");
  outer.color = Color::kGreen;
  outer.rate = BitRate::gigabits(40);
  const std::string text = json::dump(json::encode(outer));
  EXPECT_EQ(text,
            R"({"name":"gpu01","inner":[{"number":3,"count":{"value":18446744073709551615,"from":"/sys/x"}},)"
            R"({"number":4,"count":{"missing":"denied","why":"Permission denied","from":"/sys/y"}}],)"
            R"("map":{"a":0.5},"address":"10.0.0.1","color":"green","rate":40000000000.0})");
  const auto back = json::read<Outer>(text);
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(json::dump(json::encode(*back)), text);
}

TEST(Json, NamesThePlaceOfAWrongType) {
  const auto bad = json::read<Outer>(R"({"inner":[{"number":1},{"number":"x"}]})");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().text, "inner[1].number: expected an integer in range");
  const auto word = json::read<Outer>(R"({"color":"blue"})");
  ASSERT_FALSE(word);
  EXPECT_EQ(word.error().text, "color: expected one of the known words");
}

TEST(Json, RefusesWhatIsOutOfRange) {
  EXPECT_FALSE(json::read<Inner>(R"({"number":99999999999})"));
  EXPECT_FALSE(json::read<Inner>(R"({"number":1.5})"));
}

TEST(Json, MissingFieldsKeepTheirDefaultAndUnknownOnesAreIgnored) {
  const auto inner = json::read<Inner>(R"({"later":1})");
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->number, 7);
  EXPECT_TRUE(inner->count.absent());
}

TEST(Json, RefusesDeepNestingAndTrailingText) {
  EXPECT_FALSE(json::parse(std::string(100, '[') + std::string(100, ']')));
  EXPECT_FALSE(json::parse("{} x"));
  EXPECT_TRUE(json::parse("[\"" + std::string(100, '[') + "\"]"));
}

TEST(Json, RefusesObjectsThatWouldTakeForEver) {
  const auto object = [](int members) {
    std::string text = "{";
    for (int i = 0; i < members; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":0";
    return text + "}";
  };
  EXPECT_TRUE(json::parse(object(4096)));
  EXPECT_FALSE(json::parse(object(4097)));
  EXPECT_TRUE(json::parse("[" + object(4096) + "," + object(4096) + "]"));
}

TEST(Json, OfMembersWithOneNameTheLastCountsAtThePlaceOfTheFirst) {
  EXPECT_EQ(json::dump(*json::parse(R"({"a":1,"b":2,"a":3,"c":{"x":1,"x":[2]},"a":4})")),
            R"({"a":4,"b":2,"c":{"x":[2]}})");
  EXPECT_EQ(json::dump(*json::parse(R"({"":1,"":2})")), R"({"":2})");
}

TEST(Json, ReadsWhatTheLibraryReads) {
  for (const char* text : {"1", "-1", "1.5", "true", "null", "\"a\"", "[]", "{}", "[[],{},[1,{\"a\":[2]}]]",
                           R"({"b":{"c":[1,2,{"d":null}]},"a":"\u00b5"})", "18446744073709551615"})
    EXPECT_EQ(*json::parse(text), json::Value::parse(text)) << text;
  for (const char* text : {"", "[", "{", "[1,]", "{\"a\"}", "{\"a\":}", "nul", "\"a", "1 2", "\"\xff\""})
    EXPECT_FALSE(json::parse(text)) << text;
}

TEST(Json, AnErrorQuotesNoMegabytes) {
  const auto cut = json::parse("\"" + std::string(1 << 20, 'a'));
  ASSERT_FALSE(cut);
  EXPECT_LT(cut.error().text.size(), 400u);
  const auto why =
      json::read<Inner>(R"({"count":{"missing":"denied","why":")" + std::string(1 << 20, 'a') + "\"}}");
  ASSERT_TRUE(why);
  EXPECT_LT(why->count.miss().why.size(), 400u);
}

struct Large {
  std::array<char, 1 << 16> bytes{};
  static void fields(auto&&) {}
};
struct Many {
  std::vector<Large> all;
  std::map<std::string, Large> named;
  FIELDS(Many, all, named);
};

TEST(Json, DecodesNoMoreThanADocumentOfOursHolds) {
  const auto document = [](int count) {
    std::string text = R"({"all":[)";
    for (int i = 0; i < count; ++i) text += i > 0 ? ",{}" : "{}";
    return text + R"(],"named":{"a":{}}})";
  };
  EXPECT_TRUE(json::read<Many>(document(100)));
  const auto refused = json::read<Many>(document(511));  // 32 MiB hold 512, and less than that with names
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("32 MiB"), std::string::npos);
}

TEST(Json, DumpsBytesThatAreNotUtf8) { EXPECT_EQ(json::dump(json::Value("a\xff")), "\"a\xEF\xBF\xBD\""); }

struct Limits {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  std::uint64_t largest = 0;
  std::int8_t small = 0;
  std::uint32_t positive = 0;
  FIELDS(Limits, lowest, highest, largest, small, positive);
};

TEST(Json, IntegersKeepTheirLimits) {
  constexpr const char* kText =
      R"({"lowest":-9223372036854775808,"highest":9223372036854775807,"largest":18446744073709551615,)"
      R"("small":-128,"positive":4294967295})";
  const auto limits = json::read<Limits>(kText);
  ASSERT_TRUE(limits) << limits.error().text;
  EXPECT_EQ(limits->lowest, INT64_MIN);
  EXPECT_EQ(limits->highest, INT64_MAX);
  EXPECT_EQ(limits->largest, UINT64_MAX);
  EXPECT_EQ(json::dump(json::encode(*limits)), kText);
  for (const char* beyond : {R"({"highest":9223372036854775808})", R"({"lowest":-9223372036854775809})",
                             R"({"largest":-1})", R"({"largest":18446744073709551616})", R"({"small":128})",
                             R"({"small":-129})", R"({"positive":-1})", R"({"positive":4294967296})"})
    EXPECT_FALSE(json::read<Limits>(beyond)) << beyond;
}

TEST(Json, NamesThePlaceWithinNestedValues) {
  const auto why = [](const char* text) {
    const auto outer = json::read<Outer>(text);
    return outer ? "no error" : outer.error().text;
  };
  EXPECT_EQ(why("[]"), "document: expected an object");
  EXPECT_EQ(why(R"({"inner":{}})"), "inner: expected an array");
  EXPECT_EQ(why(R"({"inner":[1]})"), "inner[0]: expected an object");
  EXPECT_EQ(why(R"({"inner":[{"count":7}]})"), "inner[0].count: expected a reading");
  EXPECT_EQ(why(R"({"inner":[{},{"count":{"value":-1}}]})"),
            "inner[1].count.value: expected an integer in range");
  EXPECT_EQ(why(R"({"inner":[{"count":{}}]})"), "inner[0].count: expected a reading with value or missing");
  EXPECT_EQ(why(R"({"inner":[{"count":{"missing":"lost"}}]})"),
            "inner[0].count.missing: expected one of the known words");
  EXPECT_EQ(why(R"({"map":{"a":1,"b":"x"}})"), "map.b: expected a number");
  EXPECT_EQ(why(R"({"address":"10.0.0"})"), "address: expected an address");
  EXPECT_EQ(why(R"({"address":null})"), "no error");
  // After the first wrong member the others are skipped.
  EXPECT_EQ(why(R"({"color":1,"name":1})"), "name: expected a string");
}

TEST(Json, OfTwoMembersOfOneNameTheLastCounts) {
  const auto inner = json::read<Inner>(R"({"number":1,"number":2})");
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->number, 2);
}

TEST(Json, DumpsNothingThatATerminalObeys) {
  const std::string text =
      "\x7F\xC2\x9B"
      "2J \xE2\x80\xAE \xC2\xB5s \xE2\x86\x92 \x1B";
  const std::string dumped = json::dump(json::Value(text));
  EXPECT_EQ(dumped, "\"\\u007f\\u009b2J \\u202e \xC2\xB5s \xE2\x86\x92 \\u001b\"");
  EXPECT_EQ(json::parse(dumped)->get<std::string>(), text);
}

// Errors quote the document and are shown on terminals.
TEST(Json, ErrorsQuoteNothingThatATerminalObeys) {
  for (const std::string_view text : {"{\"a\xf3\x9b\": 1}", "{\"\x1b[2J", "[1] \x1b]0;x\x07"}) {
    const auto parsed = json::parse(text);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(printable(parsed.error().text), parsed.error().text);
  }
  const auto value = json::parse(R"({"\u001b[2J": "no number"})");
  ASSERT_TRUE(value);
  const auto decoded = json::decode<std::map<std::string, int>>(*value);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(printable(decoded.error().text), decoded.error().text);
}

}  // namespace
}  // namespace railbed
