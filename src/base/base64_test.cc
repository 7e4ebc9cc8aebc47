#include "base/base64.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

// RFC 4648, section 10.
TEST(Base64, IsAsTheStandardShowsIt) {
  for (const auto& [bytes, text] : {std::pair<std::string, std::string>{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"foobar", "Zm9vYmFy"},
                                    {std::string("\0\xff", 2), "AP8="}}) {
    EXPECT_EQ(base64_encoded(bytes), text);
    EXPECT_EQ(base64_decoded(text), bytes);
  }
}

TEST(Base64, ReadsNothingElse) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zh==", "Zg==\n", "Zm9v====", "Zm 9v", "Zm9v-_==", "=", "===="})
    EXPECT_FALSE(base64_decoded(text)) << text;
}

}  // namespace
}  // namespace railbed
