// Sessions in GPU memory, which are opened in a process of their own: the requests that this agent forwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/core/local_peer.h"
#include "bench/core/typed.h"
#include "bench/verbs/rdma.h"
#include "bench/verbs/rdma_engine.h"
#include "host/open.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A fake of the process that records its requests.
struct ChildProcess {
  std::vector<std::string> asked;
  bool hangs = false;
  int living = 0;

  class Process : public Peer {
   public:
    explicit Process(ChildProcess& whole) : whole_(whole) { ++whole_.living; }
    ~Process() override { --whole_.living; }
    const std::string& node() const override { return name_; }
    Result<std::string> call(std::string_view method, std::string params, std::chrono::milliseconds,
                             std::stop_token) override {
      if (whole_.hangs) return fail(ErrorKind::kTimeout, "it did not answer in time");
      if (method == kRdmaOpen) {
        whole_.asked.push_back(json::read<RdmaOpen>(params)->here ? "open here" : "open");
        RdmaOpened opened;
        opened.session = "inner";
        opened.route = MemoryRoute::kDmaBuf;
        return json::dump(json::encode(opened));
      }
      whole_.asked.push_back(std::string(method) + " " + json::read<RdmaSessionName>(params)->session);
      return json::dump(json::encode(RdmaCounters{12, 0, 3, {}}));
    }

   private:
    ChildProcess& whole_;
    std::string name_ = "the process";
  };
};

class RdmaInChildProcess : public ::testing::Test {
 protected:
  Result<RdmaOpened> open(const std::string& gpu) {
    RdmaOpen request;
    request.interface = "no-such-interface";
    request.half_bytes = 1 << 20;
    request.gpu = gpu;
    return ask<RdmaOpened>(peer_, kRdmaOpen, request, kPatience, {});
  }
  static constexpr std::chrono::seconds kPatience{20};
  ChildProcess child_;
  AgentSide side_{open_this_machine(), nvidia_libraries(),
                  [this] { return std::make_shared<ChildProcess::Process>(child_); }};
  LocalPeer peer_{"here", rdma_handlers(side_)};
};

TEST_F(RdmaInChildProcess, EachStepIsHandedOnUnderTheNameThere) {
  const auto opened = open("0000:1b:00.0");
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->route, MemoryRoute::kDmaBuf);
  EXPECT_NE(opened->session, "inner");
  const auto counted =
      ask<RdmaCounters>(peer_, kRdmaCounters, RdmaSessionName{opened->session}, kPatience, {});
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->lost, 3U);
  EXPECT_THAT(child_.asked, ElementsAre("open here", "bench.rdma.counters inner"));
}

TEST_F(RdmaInChildProcess, TheProcessEndsWithItsSession) {
  const auto opened = open("0000:1b:00.0");
  ASSERT_TRUE(opened);
  EXPECT_EQ(child_.living, 1);
  ASSERT_TRUE(ask<RdmaDone>(peer_, kRdmaClose, RdmaSessionName{opened->session}, kPatience, {}));
  EXPECT_EQ(child_.living, 0);
}

TEST_F(RdmaInChildProcess, ADriverThatHangsIsSaidAndLeavesNothing) {
  child_.hangs = true;
  const auto opened = open("0000:1b:00.0");
  ASSERT_TRUE(opened);
  ASSERT_TRUE(opened->failure);
  EXPECT_THAT(opened->failure->cause, HasSubstr("opening GPU 0000:1b:00.0 and registering its memory"));
  EXPECT_EQ(child_.living, 0);
}

TEST_F(RdmaInChildProcess, HostMemoryNeedsNoProcess) {
  const auto opened = open("");
  ASSERT_TRUE(opened);
  EXPECT_THAT(opened->failure->cause, HasSubstr("no-such-interface has no RDMA device"));
  EXPECT_EQ(child_.living, 0);
  EXPECT_TRUE(child_.asked.empty());
}

}  // namespace
}  // namespace railbed
