#include "facts/file_content.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "facts/file_state.h"

namespace railbed {
namespace {

TEST(FileContent, ComesBackByteByByte) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  for (const std::string& bytes :
       {std::string(), std::string("a = 1\n\tb\r\n\x1b[2J\x01\n"), std::string("größe\n"), all}) {
    const FileStates sent = {{"/etc/x", {FileState{{bytes}, 0600}, "/etc/x"}}};
    const auto got = json::read<FileStates>(json::dump(json::encode(sent)));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->at("/etc/x")->content.bytes, bytes);
  }
}

TEST(FileContent, NonsenseIsNoContent) {
  for (const char* text : {"", "a", "xa", "xag", "x0G"}) EXPECT_FALSE(FileContent::parse(text)) << text;
}

}  // namespace
}  // namespace railbed
