#include "facts/log/kernel_console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SerialConsoles, OfAPortThatIsNamedTwiceTheFirstCounts) {
  EXPECT_THAT(serial_consoles("ro console=tty0 console=ttyS1,9600n8 console=ttyS0 console=ttyS1,115200"),
              ElementsAre("ttyS1,9600n8", "ttyS0"));
  EXPECT_THAT(serial_consoles("console=ttyAMA0,115200 console=hvc0 quiet"),
              ElementsAre("ttyAMA0,115200", "hvc0"));
  EXPECT_THAT(serial_consoles("quiet console=tty0 console=tty console= nconsole=ttyS0"), IsEmpty());
}

TEST(SerialConsoles, APortWithoutARateHasItsDriversOwn) {
  EXPECT_EQ(console_rate("ttyS1,9600n8"), 9600);
  EXPECT_EQ(console_rate("ttyS1,115200"), 115200);
  EXPECT_EQ(console_rate("ttyS1"), 9600);
  EXPECT_EQ(console_rate("ttyAMA0"), std::nullopt);
  EXPECT_EQ(console_port("ttyS1,9600n8"), "ttyS1");
}

TEST(SerialConsoles, OnlyANameOfAPortMayStandInACommand) {
  for (const char* port : {"ttyS1", "ttyAMA0", "hvc0"}) EXPECT_TRUE(is_serial_port(port)) << port;
  for (const char* other : {"", "uart8250", "ttyS", "ttyS1;x", "$(x)0", "-1", "../ttyS1", "ttySSSSSSSSSSSS1"})
    EXPECT_FALSE(is_serial_port(other)) << other;
}

}  // namespace
}  // namespace railbed
