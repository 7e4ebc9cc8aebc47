#include "base/iso9660.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "base/testing/temporary_folder.h"

namespace railbed {
namespace {

using testing::HasSubstr;

constexpr std::size_t kBlock = 2048;
constexpr unsigned kRegular = 0100644;
constexpr unsigned kSymlink = 0120777;

std::string little(std::uint32_t number) {
  std::string text;
  for (int i = 0; i < 4; ++i) text += static_cast<char>(number >> 8 * i & 255);
  return text;
}

struct Entry {
  std::string name;  // of ECMA-119
  std::uint32_t block = 0;
  std::uint32_t size = 0;
  bool folder = false;
  std::string ridge = "";  // Rock Ridge's name
  unsigned mode = kRegular;
};

std::string record(const Entry& entry) {
  std::string text = little(entry.block) + std::string(4, '\0') + little(entry.size) + std::string(11, '\0');
  text += entry.folder ? '\2' : '\0';
  text += std::string(6, '\0') + static_cast<char>(entry.name.size()) + entry.name;
  if (entry.name.size() % 2 == 0) text += '\0';
  if (!entry.ridge.empty()) {
    text += "PX\x24\x01" + little(entry.mode) + std::string(28, '\0');
    text += "NM" + std::string(1, static_cast<char>(5 + entry.ridge.size())) + "\x01" + std::string(1, '\0') +
            entry.ridge;
  }
  return static_cast<char>(text.size() + 2) + std::string(1, '\0') + text;
}

std::string padded(std::string text) {
  text.resize((text.size() + kBlock - 1) / kBlock * kBlock, '\0');
  return text;
}

class Iso9660 : public testing::Test {
 protected:
  // Writes an image whose root is block 17; the blocks behind it hold `folder`, then "hello".
  Result<IsoImage> image(const std::vector<Entry>& root, const std::vector<Entry>& folder = {}) {
    const auto block_of = [](const std::vector<Entry>& entries) {
      std::string text;
      for (const Entry& entry : entries) text += record(entry);
      text.resize(kBlock, '\0');
      return text;
    };
    std::string descriptor =
        "\x01"
        "CD001\x01" +
        std::string(33, '\0') + "A LABEL                         " + std::string(84, '\0');
    descriptor += record({std::string(1, '\0'), 17, kBlock, true});
    descriptor.resize(830, '\0');
    descriptor += "2024082709120300";
    descriptor.replace(80, 4, little(blocks_));
    descriptor.replace(128, 2, std::string("\0\x08", 2));
    std::ofstream(path()) << std::string(16 * kBlock, '\0') << padded(descriptor) << block_of(root)
                          << block_of(folder) << padded("hello");
    return IsoImage::open(path());
  }
  std::string path() const { return (folder_.path() / "x.iso").string(); }

  TemporaryFolder folder_;
  std::uint32_t blocks_ = 20;  // of the whole image, as its descriptor states
};

TEST_F(Iso9660, RefusesAnImageThatIsCutShort) {
  ASSERT_TRUE(image({{"A.;1", 19, 5}}));
  blocks_ = 21;
  const auto cut = image({{"A.;1", 19, 5}});
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().text, HasSubstr("is cut short: it has 40960 of 43008 bytes"));
  blocks_ = 20;
  const auto far = image({{"A.;1", 0xfffffff0U, 5}, {"B.;1", 19, 0xffffffffU}});
  ASSERT_TRUE(far);
  for (const char* name : {"/a", "/b"}) {
    const auto found = far->find(name);
    ASSERT_FALSE(found) << name;
    EXPECT_THAT(found.error().text, HasSubstr("lies behind its end"));
  }
}

TEST_F(Iso9660, ReadsAFileByEitherName) {
  const auto iso = image({{"BOOT", 18, kBlock, true, "Boot"}, {"README.TXT;1", 19, 5}},
                         {{"GRUB.CFG;1", 19, 5, false, "grub.cfg"}, {"EMPTY.;1", 19, 0}});
  ASSERT_TRUE(iso) << iso.error().text;
  EXPECT_EQ(iso->label(), "A LABEL");
  EXPECT_EQ(iso->modified(), "2024082709120300");
  EXPECT_EQ(iso->read("/Boot/grub.cfg", 5).value_or("?"), "hello");
  EXPECT_EQ(iso->read("readme.txt", 5).value_or("?"), "hello");
  EXPECT_EQ(iso->read("/Boot/empty", 5).value_or("?"), "");
  EXPECT_FALSE(iso->holds("/boot/grub.cfg"));  // Rock Ridge's names are exact
  EXPECT_FALSE(iso->holds("/Boot"));
  EXPECT_FALSE(iso->holds("/README.TXT/x"));
}

TEST_F(Iso9660, FollowsNoLinkAndReadsNoMoreThanAllowed) {
  const auto iso = image({{"A.;1", 19, 5, false, "link", kSymlink}, {"B.;1", 19, 5, false, "file"}});
  ASSERT_TRUE(iso);
  EXPECT_THAT(iso->find("/link").error().text, HasSubstr("not a regular file"));
  EXPECT_THAT(iso->read("/file", 4).error().text, HasSubstr("has 5 bytes, more than the 4"));
}

TEST_F(Iso9660, StopsAtTheEndOfTheImage) {
  const auto iso = image({{"A.;1", 19, 0xffffffff, false, "long"},
                          {"B.;1", 0xffffffff, 5, false, "far"},
                          {"C", 18, 0xfffff000, true, "wide"},
                          {"D", 17, kBlock, true, "self"}});
  ASSERT_TRUE(iso);
  EXPECT_THAT(iso->read("/long", std::size_t{1} << 40).error().text, HasSubstr("cut short"));
  EXPECT_THAT(iso->read("/far", 5).error().text, HasSubstr("cut short"));
  EXPECT_THAT(iso->find("/wide/x").error().text, HasSubstr("larger than railbed reads"));
  EXPECT_FALSE(iso->holds("/self/self/self/x"));
}

TEST_F(Iso9660, RefusesOtherFiles) {
  EXPECT_THAT(IsoImage::open(path()).error().text, HasSubstr("No such file"));
  EXPECT_THAT(IsoImage::open("/").error().text, HasSubstr("is not a file"));
  EXPECT_THAT(IsoImage::open("/dev/zero").error().text, HasSubstr("is not a file"));
  std::ofstream(path()) << "text";
  EXPECT_THAT(IsoImage::open(path()).error().text, HasSubstr("is no ISO 9660 image"));
}

}  // namespace
}  // namespace railbed
