#include "bench/cm/cm_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <deque>

namespace railbed {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

// A library whose calls fail, or are followed by an event, as the test chooses.
struct FakeCm {
  CmChannel channel{-1};
  CmId id{};
  std::deque<CmEvent> events;
  int channel_error = 0, bind_error = 0, resolve_error = 0, route_error = 0;
  CmEvent after_resolve{}, after_route{};
  int acknowledged = 0, rejected = 0, destroyed = 0;

  void push(CmEvent event) {
    event.id = &id;
    events.push_back(event);
    const std::uint64_t one = 1;
    EXPECT_EQ(write(channel.fd, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
};
FakeCm* fake;

CmEvent event_of(CmEventType type, int status = 0) {
  CmEvent event{};
  event.event = type;
  event.status = status;
  return event;
}

int result(int error) {
  errno = error;
  return error == 0 ? 0 : -1;
}

class CmSteps : public ::testing::Test {
 protected:
  CmSteps() {
    fake = &fake_;
    library_.create_event_channel = []() -> CmChannel* {
      if (result(fake->channel_error) != 0) return nullptr;
      fake->channel.fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
      return &fake->channel;
    };
    library_.destroy_event_channel = [](CmChannel* channel) { close(channel->fd); };
    library_.create_id = [](CmChannel*, CmId** id, void*, int) {
      *id = &fake->id;
      return 0;
    };
    library_.destroy_id = [](CmId*) {
      ++fake->destroyed;
      return 0;
    };
    library_.bind_addr = [](CmId*, sockaddr*) { return result(fake->bind_error); };
    library_.listen = [](CmId*, int) { return 0; };
    library_.resolve_addr = [](CmId*, sockaddr*, sockaddr*, int) {
      if (fake->resolve_error == 0) fake->push(fake->after_resolve);
      return result(fake->resolve_error);
    };
    library_.resolve_route = [](CmId*, int) {
      if (fake->route_error == 0) fake->push(fake->after_route);
      return result(fake->route_error);
    };
    library_.reject = [](CmId*, const void*, std::uint8_t) {
      ++fake->rejected;
      return 0;
    };
    library_.get_cm_event = [](CmChannel* channel, CmEvent** event) {
      std::uint64_t one = 0;
      if (fake->events.empty() || read(channel->fd, &one, sizeof one) < 0) return -1;
      *event = new CmEvent(fake->events.front());
      fake->events.pop_front();
      return 0;
    };
    library_.ack_cm_event = [](CmEvent* event) {
      ++fake->acknowledged;
      delete event;
      return 0;
    };
    fake_.after_resolve = event_of(CmEventType::kAddressResolved);
    fake_.after_route = event_of(CmEventType::kRouteResolved);
  }

  CmFault resolved() {
    CmEnd end(library_, verbs_, "gpu02", 64);
    if (auto fault = end.open()) return fault;
    return end.resolve(*IpAddress::parse("10.0.0.1"), *IpAddress::parse("10.0.0.2"), 4791, {});
  }
  CmFault listening() {
    CmEnd end(library_, verbs_, "gpu02", 64);
    if (auto fault = end.open()) return fault;
    return end.listen(*IpAddress::parse("10.0.0.1"));
  }

  FakeCm fake_;
  CmLibrary library_;
  VerbsLibrary verbs_;
};

TEST_F(CmSteps, NoConnectionManager) {
  fake_.channel_error = ENODEV;
  const CmFault fault = resolved();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->stage, "connect");
  EXPECT_EQ(fault->cause, "rdma_create_event_channel: No such device (ENODEV)");
  EXPECT_THAT(fault->remedy, HasSubstr("modprobe rdma_ucm"));
}

TEST_F(CmSteps, AnAddressOfNoDeviceAtTheSideThatAccepts) {
  fake_.bind_error = ENODEV;
  const CmFault fault = listening();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->cause, "rdma_bind_addr 10.0.0.1: No such device (ENODEV)");
  EXPECT_THAT(fault->remedy, HasSubstr("GID"));
}

TEST_F(CmSteps, AnAddressOfNoDeviceAtTheSideThatConnects) {
  fake_.resolve_error = ENODEV;
  const CmFault fault = resolved();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->stage, "connect");
  EXPECT_EQ(fault->cause, "rdma_resolve_addr 10.0.0.1 → 10.0.0.2: No such device (ENODEV)");
}

// Packets were sent, so that the path may be the cause.
TEST_F(CmSteps, AnAddressThatNobodyAnswersFor) {
  fake_.after_resolve = event_of(CmEventType::kAddressError, -ETIMEDOUT);
  const CmFault fault = resolved();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->stage, "run");
  EXPECT_EQ(fault->cause,
            "rdma_resolve_addr 10.0.0.1 → 10.0.0.2: RDMA_CM_EVENT_ADDR_ERROR, Connection timed out "
            "(ETIMEDOUT)");
  EXPECT_EQ(fake_.acknowledged, 1);
  EXPECT_EQ(fake_.destroyed, 1);
}

TEST_F(CmSteps, ARouteThatNobodyKnows) {
  fake_.after_route = event_of(CmEventType::kRouteError, -EINVAL);
  const CmFault fault = resolved();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->cause, "rdma_resolve_route: RDMA_CM_EVENT_ROUTE_ERROR, Invalid argument (EINVAL)");
  EXPECT_THAT(fault->remedy, HasSubstr("sminfo"));
  EXPECT_EQ(fake_.acknowledged, 2);
}

TEST_F(CmSteps, SoundOnesHaveNoFault) {
  EXPECT_FALSE(resolved());
  EXPECT_FALSE(listening());
}

TEST_F(CmSteps, AStrangerIsRefused) {
  CmEnd end(library_, verbs_, "gpu02", 64);
  ASSERT_FALSE(end.open());
  ASSERT_FALSE(end.listen(*IpAddress::parse("10.0.0.1")));
  CmEvent request = event_of(CmEventType::kConnectRequest);
  request.parameters.private_data = "fedcba9876543210fedcba9876543210";
  request.parameters.private_bytes = 32;
  fake_.push(request);
  request.parameters = {};
  fake_.push(request);
  const CmFault fault = end.accept(kToken, 0.05, {});
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->cause, AllOf(HasSubstr("no request for connection came from gpu02")));
  EXPECT_EQ(fake_.rejected, 2);
  EXPECT_EQ(fake_.acknowledged, 2);
}

}  // namespace
}  // namespace railbed
