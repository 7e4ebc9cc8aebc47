#include "report/escape.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(Escape, PrintableKeepsTextAndDropsControl) {
  EXPECT_EQ(printable("38.5 Gb/s · 0.85 µs 漢字 🚂"), "38.5 Gb/s · 0.85 µs 漢字 🚂");
  EXPECT_EQ(printable("a\nb\tc\r"), "a b c ");
  EXPECT_EQ(printable("\033[31m"), "\xEF\xBF\xBD[31m");
  EXPECT_EQ(printable("a\xE2\x80\xAE"
                      "b"),
            "a\xEF\xBF\xBD"
            "b")
      << "right-to-left override";
}

TEST(Escape, PrintableReplacesWhatIsNotUtf8) {
  for (const char* bad : {"\xC0", "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xC0\xAF", "\x80"}) {
    const std::string result = printable(bad);
    EXPECT_EQ(result.find(bad), std::string::npos) << bad;
    EXPECT_NE(result.find("\xEF\xBF\xBD"), std::string::npos);
  }
}

TEST(Escape, MarkupIsInertInContentAndAttributes) {
  EXPECT_EQ(escape_markup("<script>alert('\"&\")</script>"),
            "&lt;script&gt;alert(&#39;&quot;&amp;&quot;)&lt;/script&gt;");
}

TEST(Escape, ShortensByColumnsNotBytes) {
  EXPECT_EQ(shortened("µµµµ", 4), "µµµµ");
  EXPECT_EQ(shortened("µµµµµ", 4), "µµµ…");
  EXPECT_EQ(columns("µ…x"), 3U);
}

}  // namespace
}  // namespace railbed
