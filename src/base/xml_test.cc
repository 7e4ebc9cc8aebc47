#include "base/xml.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(Xml, ReturnsTagsWithAttributesAndTheTextBefore) {
  XmlReader reader(
      "<?xml version=\"1.0\"?>\n<!-- <not a=\"tag\"> -->\n<a x=\"1 > 0\"\n  y='&lt;2&gt;'>text<b/></a>");
  const auto a = reader.next();
  ASSERT_TRUE(a);
  EXPECT_EQ(a->name, "a");
  EXPECT_EQ(a->attribute("x"), "1 > 0");
  EXPECT_EQ(xml_plain(a->attribute("y").value_or("")), "<2>");
  EXPECT_EQ(a->attribute("z"), std::nullopt);
  const auto b = reader.next();
  ASSERT_TRUE(b);
  EXPECT_EQ(b->kind, XmlTag::Kind::kAlone);
  EXPECT_EQ(b->before, "text");
  const auto close = reader.next();
  ASSERT_TRUE(close);
  EXPECT_EQ(close->kind, XmlTag::Kind::kClose);
  EXPECT_EQ(close->before, "");
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.is_cut());
}

TEST(Xml, NoticesATagOrACommentThatDoesNotEnd) {
  for (const char* text : {"<a x=\"1", "<!-- a", "<a x=\"1>"}) {
    XmlReader reader(text);
    EXPECT_FALSE(reader.next()) << text;
    EXPECT_TRUE(reader.is_cut()) << text;
  }
}

TEST(Xml, LeavesAttributesThatAreNone) {
  for (const char* text : {"<a x>", "<a x=1>", "<a =>", "<a x=\"1\"y>"}) {
    XmlReader reader(text);
    const auto tag = reader.next();
    ASSERT_TRUE(tag) << text;
    EXPECT_EQ(tag->attribute("y"), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace railbed
