#include "base/gzip.h"

#include <gtest/gtest.h>

#include "base/testing/gzip.h"

namespace railbed {
namespace {

TEST(Gzip, UnpacksWhatFitsAndNothingElse) {
  for (const std::string& text :
       {std::string(), std::string("CONFIG_INFINIBAND=m\n"), std::string(1 << 20, 'a')}) {
    const std::string packed = gzip(text);
    EXPECT_EQ(gunzip(packed, text.size()), text) << text.size();
    EXPECT_EQ(gunzip(packed, 8 << 20), text) << text.size();
  }
  EXPECT_FALSE(gunzip(gzip("1234"), 3));
  EXPECT_FALSE(gunzip(gzip(std::string(1 << 20, 'a')), (1 << 20) - 1));
}

TEST(Gzip, RefusesWhatIsNotWhole) {
  const std::string packed = gzip("a text that is cut off");
  EXPECT_FALSE(gunzip(packed.substr(0, packed.size() - 1), 100));
  EXPECT_FALSE(gunzip("", 100));
  EXPECT_FALSE(gunzip("no gzip at all", 100));
  std::string changed = packed;
  changed[packed.size() - 5] ^= 1;  // its checksum
  EXPECT_FALSE(gunzip(changed, 100));
}

}  // namespace
}  // namespace railbed
