#include "base/host_port.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(HostAndPort, BracketsOnlyWhatHasColons) {
  EXPECT_EQ(host_and_port("node4", 22), "node4:22");
  EXPECT_EQ(host_and_port("10.0.0.4", 9100), "10.0.0.4:9100");
  EXPECT_EQ(host_and_port("fd00::1", 9100), "[fd00::1]:9100");
}

}  // namespace
}  // namespace railbed
