// The words of OpenSSH 9.2 as they come, and what is made of them.
#include "fleet/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed::fleet {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kOpenKey = R"(@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
Permissions 0644 for '/home/ops/.ssh/id_ed25519' are too open.
It is required that your private key files are NOT accessible by others.
This private key will be ignored.
Load key "/home/ops/.ssh/id_ed25519": bad permissions
)";

std::string diagnosed(const std::string& errors) {
  Target target;
  target.name = "gpu01";
  target.destination = "ops@gpu01";
  return diagnose(target, {.doing = "starting the agent", .errors = errors, .noise = "", .exit_code = 255})
      .error.text;
}

TEST(Diagnose, KeyThatOthersMayReadIsClosedHere) {
  const std::string said = diagnosed(std::string(kOpenKey) + "ops@gpu01: Permission denied (publickey).\n");
  EXPECT_THAT(said, HasSubstr("chmod 600 '/home/ops/.ssh/id_ed25519'"));
  EXPECT_THAT(said, HasSubstr("on this machine"));
  EXPECT_THAT(said, Not(HasSubstr("ssh-copy-id")));
}

TEST(Diagnose, KeyThatOthersMayReadIsNoMatterWhereAnotherWorked) {
  const std::string said = diagnosed(std::string(kOpenKey) + "cat: write error: No space left on device\n");
  EXPECT_THAT(said, HasSubstr("no space left"));
}

TEST(Diagnose, RefusedKeyIsToBeAdded) {
  EXPECT_THAT(diagnosed("ops@gpu01: Permission denied (publickey).\n"), HasSubstr("ssh-copy-id ops@gpu01"));
}

}  // namespace
}  // namespace railbed::fleet
