#include "fleet/hashed_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/sha256.h"
#include "base/testing/temporary_folder.h"

namespace railbed::fleet {
namespace {

namespace fs = std::filesystem;

class HashedFileTest : public testing::Test {
 protected:
  std::string written(const std::string& text) {
    std::ofstream(program_, std::ios::binary) << text;
    return program_;
  }

  TemporaryFolder folder_;
  const std::string program_ = folder_.path() / "program";
  const std::string memory_ = folder_.path() / "cache/railbed/hashes.json";
};

TEST_F(HashedFileTest, KnownFileIsNotReadAgain) {
  const auto first = hash_file(written("one"), {});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->hash, sha256_hex("one"));
  EXPECT_EQ(first->size, 3);
  HashedFile marked = *first;
  marked.hash = std::string(64, 'a');
  EXPECT_EQ(hash_file(program_, {{program_, marked}})->hash, marked.hash);
}

TEST_F(HashedFileTest, ChangedFileIsHashedAnew) {
  HashedFile before = *hash_file(written("one"), {});
  // The file has the same size, and may be written within the same clock tick, so the size alone would not
  // show the change.
  written("two");
  fs::last_write_time(program_, fs::file_time_type::clock::now() + std::chrono::seconds(1));
  EXPECT_EQ(hash_file(program_, {{program_, before}})->hash, sha256_hex("two"));
  fs::remove(program_);
  EXPECT_FALSE(hash_file(program_, {{program_, before}}));
}

TEST_F(HashedFileTest, OnlyFilesThatCameToRestAreKept) {
  HashedFile old = *hash_file(written("one"), {});
  keep_hashed_files({{program_, old}}, memory_);
  EXPECT_TRUE(read_hashed_files(memory_).empty());
  old.modified_ns = old.changed_ns = 1'000'000'000;
  keep_hashed_files({{program_, old}}, memory_);
  EXPECT_EQ(read_hashed_files(memory_), (HashedFiles{{program_, old}}));
  EXPECT_EQ(fs::status(memory_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(fs::path(memory_).parent_path()).permissions(), fs::perms::owner_all);
}

TEST_F(HashedFileTest, NonsenseIsNothing) {
  constexpr const char* kNoHash =
      R"({"x": {"device": 1, "inode": 1, "size": 1, "modified_ns": 1, "changed_ns": 1, "hash": "; reboot"}})";
  fs::create_directories(fs::path(memory_).parent_path());
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string(100'000, ' '), std::string(kNoHash)}) {
    std::ofstream(memory_, std::ios::binary | std::ios::trunc) << text;
    EXPECT_TRUE(read_hashed_files(memory_).empty()) << text.substr(0, 100);
  }
  EXPECT_TRUE(read_hashed_files("").empty());
  keep_hashed_files({}, "/proc/nowhere/hashes.json");  // a cache that cannot be written is no error
}

}  // namespace
}  // namespace railbed::fleet
