#include "base/json.h"

#include <gtest/gtest.h>

#include "base/ip.h"

namespace railbed {
namespace {

enum class Color { kRed, kGreen };
constexpr auto enum_names(Color) { return std::array<std::string_view, 2>{"red", "green"}; }

struct Inner {
  int number = 7;
  Reading<std::uint64_t> count;
  static void fields(auto&& field) {
    field("number", &Inner::number);
    field("count", &Inner::count);
  }
};

struct Outer {
  std::string name;
  std::vector<Inner> inner;
  std::map<std::string, double> map;
  std::optional<IpAddress> address;
  Color color = Color::kRed;
  BitRate rate;
  static void fields(auto&& field) {
    field("name", &Outer::name);
    field("inner", &Outer::inner);
    field("map", &Outer::map);
    field("address", &Outer::address);
    field("color", &Outer::color);
    field("rate", &Outer::rate);
  }
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

TEST(Json, DumpsBytesThatAreNotUtf8) { EXPECT_EQ(json::dump(json::Value("a\xff")), "\"a\xEF\xBF\xBD\""); }

}  // namespace
}  // namespace railbed
