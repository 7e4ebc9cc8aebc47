#include <gtest/gtest.h>

#include "host/device_calls.h"

namespace railbed {
namespace {

TEST(DefaultRoutes, AreThoseToAnywhereThatLeadSomewhere) {
  EXPECT_EQ(default_routes_in(
                "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
                "*\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n"
                "eth1\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
                "eth0\t00000000\t010200C0\t0003\t0\t0\t9\t00000000\t0\t0\t0\n"
                "eth1\t00000000\t020200C0\t0003\t0\t0\t9\t00000000\t0\t0\t0\n"
                "eth2\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0\n"
                "eth2\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
                "cut\t00000000\t00\n"),
            (std::vector<std::string>{"eth1", "eth0"}));
  EXPECT_TRUE(default_routes_in("").empty());
}

}  // namespace
}  // namespace railbed
