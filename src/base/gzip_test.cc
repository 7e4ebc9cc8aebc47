#include "base/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace railbed {
namespace {

std::string gzip(const std::string& text) {
  std::string packed(compressBound(text.size()) + 64, '\0');
  z_stream stream = {};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

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
