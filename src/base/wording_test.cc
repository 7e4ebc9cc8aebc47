#include "base/wording.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(Wording, CountsThings) {
  EXPECT_EQ(counted(0, "path"), "0 paths");
  EXPECT_EQ(counted(1, "path"), "1 path");
  EXPECT_EQ(counted(2, "path"), "2 paths");
  EXPECT_EQ(counted(1, "switch", "switches"), "1 switch");
  EXPECT_EQ(counted(3, "switch", "switches"), "3 switches");
}

TEST(Wording, NamesANodeOnce) {
  EXPECT_EQ(without_node(at_node("gpu01", {ErrorKind::kTimeout, "no answer"})), "no answer");
  EXPECT_EQ(without_node({ErrorKind::kTimeout, "gpu01: no answer"}), "gpu01: no answer");  // of no node
}

TEST(Wording, GuessesTheRateThatWasMeant) {
  for (const char* const meant : {"40GbE", "40gbps", "40GE", "40 gig", "40", " 40G/s "})
    EXPECT_EQ(did_you_mean_rate(meant), ", did you mean \"40 Gb/s\"?") << meant;
  EXPECT_EQ(did_you_mean_rate("100GBASE-SR4"), ", did you mean \"100 Gb/s\"?");
  EXPECT_EQ(did_you_mean_rate("2.5GbE"), ", did you mean \"2.5 Gb/s\"?");
  for (const char* const bytes : {"40 GB/s", "40GB/s", "40GB", "40 GiB/s", "40 GBps", "40 gbytes/s"})
    EXPECT_EQ(did_you_mean_rate(bytes),
              "; a rate is in bits: did you mean \"40 Gb/s\", or that many bytes, which are \"320 Gb/s\"?")
        << bytes;
  for (const char* const none : {"", "fast", "1.2.3 Gb/s", "40 parsecs", "-4G"})
    EXPECT_EQ(did_you_mean_rate(none), "") << none;
}

}  // namespace
}  // namespace railbed
