// Messages of OpenSSH 9.2 and sudo 1.9.13, unchanged, and the diagnoses that follow.
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

TEST(Diagnose, NamesTheKeyOfClusterYamlThatExists) {
  const std::string said =
      diagnosed("Can't open user config file /srv/ssh_config: No such file or directory\n");
  EXPECT_THAT(said, HasSubstr("correct `config:` below `ssh:` in cluster.yaml"));
  EXPECT_THAT(said, Not(HasSubstr("`ssh_config:`")));
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

TEST(Diagnose, TheRemedyStandsByItself) {
  Target target;
  target.name = "gpu01";
  target.destination = "ops@gpu01";
  const auto remedy = [&](const std::string& errors) {
    return remedy_of(
        diagnose(target, {.doing = "starting the agent", .errors = errors, .noise = "", .exit_code = 255})
            .error,
        target);
  };
  EXPECT_THAT(remedy("Host key verification failed.\n"),
              HasSubstr("`railbed hostkeys cluster.yaml` shows it"));
  EXPECT_THAT(remedy("ops@gpu01: Permission denied (publickey).\n"), HasSubstr("ssh-copy-id ops@gpu01"));
  EXPECT_THAT(remedy("/etc/x: line 3: Bad configuration option: foo\n"), HasSubstr("Mend the file and line"));
  EXPECT_THAT(remedy("ssh: connect to host gpu01 port 22: Connection timed out\n"), HasSubstr("powered"));
  EXPECT_EQ(remedy("something nobody knows\n"), "");
}

TEST(Diagnose, RefusedKeyIsToBeAdded) {
  EXPECT_THAT(diagnosed("ops@gpu01: Permission denied (publickey).\n"), HasSubstr("ssh-copy-id ops@gpu01"));
}

TEST(Diagnose, WhatSudoSaysComesWithWhatToDo) {
  const std::pair<const char*, const char*> told[] = {
      {"sudo: a password is required\n", "--ask-sudo-password (-K)"},
      {"Sorry, try again.\n\nsudo: no password was provided\nsudo: 1 incorrect password attempt\n",
       "does not accept the password"},
      {"sudo: sorry, you must have a tty to run sudo\n", "!requiretty"},
      {"ops is not in the sudoers file.\n", "log in as root"},
      {"Sorry, user ops is not allowed to execute '/bin/sh -c set -f' as root on gpu01.\n", "log in as root"},
      {"Sorry, user ops may not run sudo on gpu01.\n", "log in as root"},
      {"sudo: effective uid is not 0, is /usr/bin/sudo on a file system with the 'nosuid' option set or an NFS "
       "file system without root privileges?\n",
       "without nosuid"},
      {"sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set\n", "owner and mode"},
      {"sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.\n",
       "NoNewPrivileges"},
      {"sudo: account validation failure, is your account locked?\n", "locked or has expired"},
      {"sudo: Account expired or PAM config lacks an \"account\" section for sudo, contact your system "
       "administrator\n",
       "locked or has expired"},
      {"sudo: Password expired, contact your system administrator\n", "set a new one"},
  };
  for (const auto& [said, remedy] : told) EXPECT_THAT(diagnosed(said), HasSubstr(remedy)) << said;
}

TEST(Diagnose, WhatTheScriptOfRootReportsComesWithWhatToDo) {
  const Target target = {"gpu01", "ops@gpu01", false};
  const auto told = [&](std::string word, std::string rest) {
    return diagnose(target, BootstrapLine{std::move(word), std::move(rest)}, "x86_64").text;
  };
  EXPECT_THAT(told("no-sudo", ""), HasSubstr("install sudo"));
  EXPECT_THAT(told("root-folder", "/opt (drwxrwxrwx {} root)"),
              HasSubstr("change /opt (drwxrwxrwx {} root)"));
  EXPECT_THAT(told("root-differs", "/home/ops\33[31m"), HasSubstr("(/home/ops)"));
  EXPECT_THAT(told("root-failed", "No space left on device"), HasSubstr("/opt/railbed/bin"));
}

TEST(Diagnose, SecondQuestionOfSudoSaysWhatCameBetween) {
  EXPECT_THAT(password_refused({"gpu01", "ops@gpu01", false}, "Sorry, try again.\n").text,
              HasSubstr("gpu01: sudo on ops@gpu01 does not accept the password"));
}

}  // namespace
}  // namespace railbed::fleet
