#include "base/kept_format.h"

#include <gtest/gtest.h>

#include "base/version.h"

namespace railbed {
namespace {

TEST(KeptFormat, ReadsEachVersionUpToItsOwn) {
  for (const Kept kind :
       {Kept::kWatch, Kept::kHistory, Kept::kRun, Kept::kApply, Kept::kWatched, Kept::kJob, Kept::kBurn}) {
    const KeptFormat& format = format_of(kind);
    for (int version = format.oldest; version <= format.written; ++version)
      EXPECT_TRUE(check_kept(kind, "a", {version, ""})) << version;
    EXPECT_FALSE(check_kept(kind, "a", {format.written + 1, ""}));
    EXPECT_FALSE(check_kept(kind, "a", {format.oldest - 1, ""}));
    EXPECT_FALSE(check_kept(kind, "a", {-2147483647, ""}));
  }
}

TEST(KeptFormat, ARefusalNamesFileVersionsAndWhatToDo) {
  const auto refused = check_kept(Kept::kWatch, "/var/lib/x/monitor.state", {7, "9.1.0"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kBadInput);
  EXPECT_EQ(
      refused.error().text,
      std::string(
          "/var/lib/x/monitor.state: what a monitor remembers of version 7, written by a newer railbed "
          "(9.1.0). This one, ") +
          railbed_version() +
          ", reads versions 1 to 2 and leaves the file as it is. Use railbed 9.1.0 or a newer one, or begin "
          "without it: --fresh-state renames the file and starts");
  const auto same = check_kept(Kept::kRun, "run", {2, railbed_version()});
  EXPECT_NE(same.error().text.find("Use a newer railbed"), std::string::npos)
      << "another build of one version";
}

TEST(KeptFormat, AHostileWriterIsOnePrintableLine) {
  const auto refused = check_kept(Kept::kRun, "run", {2, "\x1b[2J\n" + std::string(10'000, 'x')});
  EXPECT_LT(refused.error().text.size(), 600U);
  EXPECT_EQ(refused.error().text.find('\x1b'), std::string::npos);
  EXPECT_EQ(refused.error().text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace railbed
