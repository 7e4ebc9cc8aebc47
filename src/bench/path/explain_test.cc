// The agents' handlers and the controller's requests together, on this machine's loopback.
#include "bench/path/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/core/local_peer.h"
#include "bench/path/path_handlers.h"
#include "host/open.h"

namespace railbed {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Handlers own_handlers() {
  AgentSide side(open_this_machine(), {});
  return path_handlers(side);
}

TEST(PathExplainer, FindsNothingOnASoundPathAndKeepsTheFailure) {
  LocalPeer a("a", own_handlers());
  LocalPeer b("b", own_handlers());
  const auto loopback = IpAddress::parse("127.0.0.1");
  const PairEnd end_a{&a, "lo", loopback, nullptr};
  const PairEnd end_b{&b, "lo", loopback, nullptr};
  Failure failure{"run", "no data", "try again"};
  PathExplainer(end_a, end_b).explain(Engine::kTcp, failure, {});
  EXPECT_EQ(failure.cause, "no data");
  EXPECT_EQ(failure.remedy, "try again");
  ASSERT_TRUE(failure.root);
  EXPECT_EQ(failure.root->layer, PathLayer::kNone);
  EXPECT_THAT(failure.root->seen, Contains(StartsWith("a → b: route by lo")));
  EXPECT_THAT(failure.root->seen, Contains(HasSubstr("UDP answered; TCP answered")));
}

TEST(PathExplainer, PutsARootFirstAndRemembersIt) {
  LocalPeer a("a", own_handlers());
  LocalPeer b("b", own_handlers());
  const PairEnd end_a{&a, "lo", IpAddress::parse("127.0.0.1"), nullptr};
  const PairEnd end_b{&b, "lo", IpAddress::parse("192.0.2.7"), nullptr};
  PathExplainer explainer(end_a, end_b);
  for (int i = 0; i < 2; ++i) {
    Failure failure{"connect", "cannot listen", ""};
    explainer.explain(Engine::kTcp, failure, {});
    ASSERT_TRUE(failure.root);
    EXPECT_EQ(failure.root->layer, PathLayer::kAddress);
    EXPECT_EQ(failure.cause, "b: lo does not have 192.0.2.7; cannot listen");
    EXPECT_EQ(failure.remedy, "on b: give it its address back: ip address add 192.0.2.7/8 dev lo");
  }
}

TEST(PathExplainer, LeavesDamagedDataAndStopsAlone) {
  LocalPeer mute("a", {});
  const PairEnd end{&mute, "lo", {}, nullptr};
  for (Failure failure : {Failure{"verify", "data arrived changed", ""}, stopped_failure()}) {
    PathExplainer(end, end).explain(Engine::kTcp, failure, {});
    EXPECT_FALSE(failure.root);
  }
}

}  // namespace
}  // namespace railbed
