#include "fleet/shared_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/testing/temporary_folder.h"

namespace railbed::fleet {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SharedConnection : public testing::Test {
 protected:
  Environment environment() const { return {{"HOME", root_}, {"XDG_RUNTIME_DIR", root_}}; }

  TemporaryFolder temporary_;
  fs::path root_ = temporary_.path();
  FleetOptions options_;
};

TEST(SharedConnectionText, TheUsersOwnConfigurationComesFirst) {
  const auto text = sharing_text({}, "/run/user/7/railbed");
  ASSERT_TRUE(text);
  const std::size_t own = text->find("Include ~/.ssh/config"),
                    system = text->find("Include /etc/ssh/ssh_config");
  EXPECT_LT(own, system);
  EXPECT_LT(system, text->find("ControlPath /run/user/7/railbed/"));
  FleetOptions options;
  options.ssh_config = "/srv/ssh_config";
  EXPECT_THAT(*sharing_text(options, "/run"), HasSubstr("Include /srv/ssh_config\n"));
  EXPECT_THAT(*sharing_text(options, "/run"), Not(HasSubstr("~/.ssh")));
}

TEST(SharedConnectionText, OtherWaysToANodeHaveOtherSockets) {
  FleetOptions one, other, file;
  other.ssh_options = {"-o", "ProxyJump=gate"};
  file.ssh_config = "/srv/ssh_config";
  EXPECT_EQ(*sharing_text(one, "/run"), *sharing_text(one, "/run"));
  EXPECT_NE(*sharing_text(one, "/run"), *sharing_text(other, "/run"));
  EXPECT_NE(*sharing_text(one, "/run"), *sharing_text(file, "/run"));
}

TEST(SharedConnectionText, PathsThatSshWouldTakeForSomethingElseAreNotShared) {
  for (const char* folder : {"/run/a b", "/run/%h", "/run/\"", "run", "/run/\n", "/run/${HOME}"})
    EXPECT_FALSE(sharing_text({}, folder)) << folder;
  EXPECT_FALSE(sharing_text({}, "/" + std::string(40, 'x'))) << "a socket's name would not fit";
  EXPECT_TRUE(sharing_text({}, "/" + std::string(39, 'x')));
  FleetOptions options;
  options.ssh_config = "/srv/ssh*config";
  EXPECT_FALSE(sharing_text(options, "/run"));
}

TEST_F(SharedConnection, TheFileIsTheUsersAlone) {
  const auto path = sharing_config(options_, environment());
  ASSERT_TRUE(path);
  EXPECT_THAT(*path, StartsWith((root_ / "railbed/").string()));
  EXPECT_EQ(fs::status(*path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(root_ / "railbed").permissions(), fs::perms::owner_all);
  EXPECT_EQ(*railbed::read_file(*path), *sharing_text(options_, root_ / "railbed"));
  EXPECT_EQ(sharing_config(options_, environment()), path);
}

TEST_F(SharedConnection, AFolderThatOthersCanEnterIsNotUsed) {
  fs::create_directory(root_ / "railbed");
  fs::permissions(root_ / "railbed", fs::perms::owner_all | fs::perms::others_exec);
  EXPECT_FALSE(sharing_config(options_, environment()));
  fs::remove(root_ / "railbed");
  fs::create_directory(root_ / "elsewhere");
  fs::permissions(root_ / "elsewhere", fs::perms::owner_all);
  fs::create_symlink(root_ / "elsewhere", root_ / "railbed");
  EXPECT_FALSE(sharing_config(options_, environment()));
}

TEST_F(SharedConnection, WhatSshRefusesToReadIsNotIncluded) {
  fs::create_directory(root_ / ".ssh");
  std::ofstream(root_ / ".ssh/config") << "Host *\n";
  EXPECT_TRUE(sharing_config(options_, environment()));
  fs::permissions(root_ / ".ssh/config", fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(sharing_config(options_, environment()));
  options_.ssh_config = root_ / "own";
  EXPECT_TRUE(sharing_config(options_, environment()))
      << "ssh does not look at the permissions of a file given by -F";
}

}  // namespace
}  // namespace railbed::fleet
