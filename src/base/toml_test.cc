#include "base/toml.h"

#include <gtest/gtest.h>

#include <string>

namespace railbed {
namespace {

std::string read(std::string_view text) {
  const auto value = parse_toml(text);
  return value ? json::dump(*value) : "line " + value.error().text.substr(5);
}

TEST(Toml, ReadsTablesAndQuotedKeys) {
  EXPECT_EQ(
      read(
          "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd] # x\n  default_runtime_name = \"runc\"\n"),
      R"({"version":2,"plugins":{"io.containerd.grpc.v1.cri":{"containerd":{"default_runtime_name":"runc"}}}})");
  EXPECT_EQ(read("[plugins.'io.containerd.cri.v1.runtime']\nenable_cdi = true\n[plugins]\n"),
            R"({"plugins":{"io.containerd.cri.v1.runtime":{"enable_cdi":true}}})");
  EXPECT_EQ(read("a.b.c = 1\na.d = 2\n"), R"({"a":{"b":{"c":1},"d":2}})");
  EXPECT_EQ(read("[[a]]\nb = 1\n[[a]]\nb = 2\n[a.c]\n"), R"({"a":[{"b":1},{"b":2,"c":{}}]})");
  EXPECT_EQ(read(""), "{}");
  EXPECT_EQ(read("\xEF\xBB\xBF"), "line 1: a key is missing");
}

TEST(Toml, ReadsEachKindOfValue) {
  EXPECT_EQ(read("a = [ 1, # one\n 2,\n]\nb = {c = 'd\\', \"e\" = []}\n"),
            R"({"a":[1,2],"b":{"c":"d\\","e":[]}})");
  EXPECT_EQ(read("a = \"\"\"\none \\\n   two\"\"\"\nb = '''x'y'''\n"), R"({"a":"one two","b":"x'y"})");
  EXPECT_EQ(read("a = \"\\u00e9\\t\\\"\"\n"), "{\"a\":\"é\\t\\\"\"}");
  EXPECT_EQ(read("a = 1_000\nb = 0xff\nc = -1.5e3\nd = +7\ne = inf\n"),
            R"({"a":1000,"b":255,"c":-1500.0,"d":7,"e":"inf"})");
  EXPECT_EQ(read("a = 1979-05-27 07:32:00Z\nb = 07:32:00\n"),
            R"({"a":"1979-05-27 07:32:00Z","b":"07:32:00"})");
  EXPECT_EQ(read("a = 1\r\nb = 2\r\n"), R"({"a":1,"b":2})");
}

TEST(Toml, RefusesWithTheLine) {
  EXPECT_EQ(read("a = 1\na = 2\n"), "line 2: a is given twice");
  EXPECT_EQ(read("a = 1\n[a]\n"), "line 2: a is a value and a table");
  EXPECT_EQ(read("a\n"), "line 1: a key without a value");
  EXPECT_EQ(read("a = \"b\n"), "line 1: a text does not end");
  EXPECT_EQ(read("a = 1 b = 2\n"), "line 1: there is more on the line");
  EXPECT_EQ(read("[a\n"), "line 1: a header does not end");
  EXPECT_EQ(read("a = maybe\n"), "line 1: a value is neither text, number, date, true nor false");
  EXPECT_EQ(read("a = \"\\ud800\"\n"), "line 1: an escape in a text is no character");
  EXPECT_EQ(read("a = [1 2]"), "line 1: a list does not end");
  EXPECT_EQ(read("a = {b = 1"), "line 1: a table in one line does not end");
  EXPECT_EQ(read("a = 9223372036854775808\n"),
            "line 1: a value is neither text, number, date, true nor false");
}

TEST(Toml, HasLimits) {
  std::string deep = "a = ";
  for (int i = 0; i < 100000; ++i) deep += '[';
  EXPECT_EQ(read(deep), "line 1: too deep");
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "k" + std::to_string(i) + " = 1\n";
  EXPECT_EQ(read(many), "line 1025: too many values");
  std::string list = "a = [";
  for (int i = 0; i < 30000; ++i) list += "1,";
  EXPECT_EQ(read(list), "line 1: too many values");
  EXPECT_EQ(parse_toml(std::string(2 << 20, ' ')).error().text, "larger than 1 MiB");
}

}  // namespace
}  // namespace railbed
