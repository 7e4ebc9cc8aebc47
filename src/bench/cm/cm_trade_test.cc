// Both ends of a connection in one process, over a library and a device that hand messages to each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/cm/cm_end.h"
#include "bench/core/pattern.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTradeToken = "0123456789abcdef0123456789abcdef";
constexpr std::uint64_t kTradePatience = 20'000'000'000;

struct TradeChannel {
  CmChannel channel{eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC | EFD_NONBLOCK)};
  std::deque<CmEvent> events;
};

// An identifier with its device, queue pair and queue. The device and the queue pair point back to it.
struct TradeId {
  CmId id{};
  ibv_context device{};
  ibv_qp queue_pair{};
  ibv_cq queue{};
  TradeId* peer = nullptr;
  std::deque<ibv_sge> receives;
  std::deque<ibv_wc> done;
};

struct Trade {
  std::mutex mutex;
  std::vector<std::unique_ptr<TradeChannel>> channels;
  std::vector<std::unique_ptr<TradeId>> ids;
  TradeId* listener = nullptr;
  std::vector<std::byte> shown;           // private data of the request
  ibv_wc_status status = IBV_WC_SUCCESS;  // of what is sent
  ibv_device device{};
  ibv_pd pd{};
  ibv_mr mr{};
};
Trade* trade;

TradeId& with(const CmId* id) {
  return **std::ranges::find_if(trade->ids, [&](const auto& one) { return &one->id == id; });
}
TradeId& with(const ibv_qp* queue_pair) {
  return **std::ranges::find_if(trade->ids, [&](const auto& one) { return &one->queue_pair == queue_pair; });
}
TradeId& with(const ibv_context* device) {
  return **std::ranges::find_if(trade->ids, [&](const auto& one) { return &one->device == device; });
}

void announce(TradeId& to, CmEventType type, TradeId* about = nullptr) {
  const auto at =
      std::ranges::find_if(trade->channels, [&](const auto& one) { return &one->channel == to.id.channel; });
  CmEvent event{};
  event.id = about == nullptr ? &to.id : &about->id;
  event.event = type;
  if (type == CmEventType::kConnectRequest) {
    event.parameters.private_data = trade->shown.data();
    event.parameters.private_bytes = static_cast<std::uint8_t>(trade->shown.size());
  }
  (*at)->events.push_back(event);
  const std::uint64_t one = 1;
  EXPECT_EQ(write((*at)->channel.fd, &one, sizeof one), static_cast<ssize_t>(sizeof one));
}

TradeId& make_id(CmChannel* channel) {
  TradeId& made = *trade->ids.emplace_back(std::make_unique<TradeId>());
  made.id.channel = channel;
  made.device.device = &trade->device;
  made.device.ops.post_send = [](ibv_qp* queue_pair, ibv_send_wr* request, ibv_send_wr**) {
    const std::lock_guard lock(trade->mutex);
    TradeId& from = with(queue_pair);
    ibv_wc done{};
    done.wr_id = request->wr_id;
    done.status = trade->status;
    from.done.push_back(done);
    if (trade->status != IBV_WC_SUCCESS || from.peer->receives.empty()) return 0;
    const ibv_sge into = from.peer->receives.front();
    from.peer->receives.pop_front();
    std::memcpy(reinterpret_cast<void*>(into.addr), reinterpret_cast<const void*>(request->sg_list->addr),
                std::min(into.length, request->sg_list->length));
    done.wr_id = 1;  // of a receive
    from.peer->done.push_back(done);
    return 0;
  };
  made.device.ops.post_recv = [](ibv_qp* queue_pair, ibv_recv_wr* request, ibv_recv_wr**) {
    const std::lock_guard lock(trade->mutex);
    with(queue_pair).receives.push_back(*request->sg_list);
    return 0;
  };
  made.device.ops.poll_cq = [](ibv_cq* queue, int, ibv_wc* done) {
    const std::lock_guard lock(trade->mutex);
    TradeId& of = with(queue->context);
    if (of.done.empty()) return 0;
    *done = of.done.front();
    of.done.pop_front();
    return 1;
  };
  made.id.verbs = &made.device;
  made.queue_pair.context = &made.device;
  made.queue.context = &made.device;
  return made;
}

CmLibrary trade_library() {
  CmLibrary library;
  library.create_event_channel = [] {
    const std::lock_guard lock(trade->mutex);
    return &trade->channels.emplace_back(std::make_unique<TradeChannel>())->channel;
  };
  library.destroy_event_channel = [](CmChannel* channel) { close(channel->fd); };
  library.create_id = [](CmChannel* channel, CmId** id, void*, int) {
    const std::lock_guard lock(trade->mutex);
    *id = &make_id(channel).id;
    return 0;
  };
  library.destroy_id = [](CmId*) { return 0; };
  library.bind_addr = [](CmId*, sockaddr*) { return 0; };
  library.listen = [](CmId* id, int) {
    const std::lock_guard lock(trade->mutex);
    trade->listener = &with(id);
    return 0;
  };
  library.resolve_addr = [](CmId* id, sockaddr*, sockaddr*, int) {
    const std::lock_guard lock(trade->mutex);
    announce(with(id), CmEventType::kAddressResolved);
    return 0;
  };
  library.resolve_route = [](CmId* id, int) {
    const std::lock_guard lock(trade->mutex);
    announce(with(id), CmEventType::kRouteResolved);
    return 0;
  };
  library.create_qp = [](CmId* id, ibv_pd*, ibv_qp_init_attr*) {
    const std::lock_guard lock(trade->mutex);
    id->queue_pair = &with(id).queue_pair;
    return 0;
  };
  library.destroy_qp = [](CmId*) {};
  library.connect = [](CmId* id, CmParameters* parameters) {
    const std::lock_guard lock(trade->mutex);
    const auto* bytes = static_cast<const std::byte*>(parameters->private_data);
    trade->shown.assign(bytes, bytes + parameters->private_bytes);
    trade->shown.resize(56);  // as the kernel pads them
    TradeId& from = with(id);
    TradeId& child = make_id(trade->listener->id.channel);
    child.peer = &from;
    from.peer = &child;
    announce(*trade->listener, CmEventType::kConnectRequest, &child);
    return 0;
  };
  library.accept = [](CmId* id, CmParameters*) {
    const std::lock_guard lock(trade->mutex);
    TradeId& child = with(id);
    announce(child, CmEventType::kEstablished);
    announce(*child.peer, CmEventType::kEstablished);
    return 0;
  };
  library.reject = [](CmId* id, const void*, std::uint8_t) {
    const std::lock_guard lock(trade->mutex);
    announce(*with(id).peer, CmEventType::kRejected);
    return 0;
  };
  library.disconnect = [](CmId* id) {
    const std::lock_guard lock(trade->mutex);
    announce(with(id), CmEventType::kDisconnected);
    announce(*with(id).peer, CmEventType::kDisconnected);
    return 0;
  };
  library.get_cm_event = [](CmChannel* channel, CmEvent** event) {
    const std::lock_guard lock(trade->mutex);
    const auto at =
        std::ranges::find_if(trade->channels, [&](const auto& one) { return &one->channel == channel; });
    std::uint64_t one = 0;
    if ((*at)->events.empty() || read(channel->fd, &one, sizeof one) < 0) return -1;
    *event = new CmEvent((*at)->events.front());
    (*at)->events.pop_front();
    return 0;
  };
  library.ack_cm_event = [](CmEvent* event) {
    delete event;
    return 0;
  };
  return library;
}

VerbsLibrary trade_verbs() {
  VerbsLibrary verbs;
  verbs.get_device_name = [](ibv_device*) { return "rxe0"; };
  verbs.alloc_pd = [](ibv_context*) { return &trade->pd; };
  verbs.dealloc_pd = [](ibv_pd*) { return 0; };
  verbs.reg_mr = [](ibv_pd*, void*, std::size_t, int) { return &trade->mr; };
  verbs.dereg_mr = [](ibv_mr*) { return 0; };
  verbs.create_cq = [](ibv_context* device, int, void*, ibv_comp_channel*, int) {
    const std::lock_guard lock(trade->mutex);
    return &with(device).queue;
  };
  verbs.destroy_cq = [](ibv_cq*) { return 0; };
  return verbs;
}

class CmTrade : public ::testing::Test {
 protected:
  CmTrade() { trade = &trade_; }

  CmFault connected(CmEnd& end, std::string_view token) {
    const IpAddress address = *IpAddress::parse("10.0.0.1");
    if (auto fault = end.open()) return fault;
    if (auto fault = end.resolve(address, address, 4711, {})) return fault;
    return end.connect(token, {});
  }

  Trade trade_;
  CmLibrary library_ = trade_library();
  VerbsLibrary verbs_ = trade_verbs();
};

TEST_F(CmTrade, MessagesComeBackAndBothDisconnect) {
  CmEnd server(library_, verbs_, "gpu01", 512);
  ASSERT_FALSE(server.open());
  ASSERT_FALSE(server.listen(*IpAddress::parse("10.0.0.1")));
  int served = 0;
  std::optional<Failure> of_server;
  std::thread serving([&] {
    of_server = server.accept(kTradeToken, 20, {});
    while (!of_server) {
      const CmEnd::Arrived arrived = server.await_message(kTradePatience, {});
      of_server = arrived.fault;
      if (arrived.fault || !arrived.message) break;
      ++served;
      std::ranges::copy(server.incoming(), server.outgoing().begin());
      of_server = server.send();
    }
    if (!of_server) of_server = server.disconnect({});
  });
  CmEnd client(library_, verbs_, "gpu02", 512);
  const CmFault fault = connected(client, kTradeToken);
  EXPECT_FALSE(fault) << fault->cause;
  for (std::uint64_t i = 0; i < 50 && !fault; ++i) {
    fill_pattern(client.outgoing(), i);
    std::ranges::fill(client.incoming(), std::byte{});
    ASSERT_FALSE(client.send());
    const CmEnd::Arrived arrived = client.await_message(kTradePatience, {});
    ASSERT_FALSE(arrived.fault) << arrived.fault->cause;
    ASSERT_TRUE(arrived.message);
    EXPECT_EQ(count_wrong(client.incoming(), client.outgoing()), 0u);
  }
  EXPECT_FALSE(client.disconnect({}));
  serving.join();
  EXPECT_FALSE(of_server) << of_server->cause;
  EXPECT_EQ(served, 50);
  EXPECT_EQ(client.device(), "rxe0");
  EXPECT_EQ(server.device(), "rxe0");
}

TEST_F(CmTrade, APeerWithoutTheTokenIsTold) {
  CmEnd server(library_, verbs_, "gpu01", 512);
  ASSERT_FALSE(server.open());
  ASSERT_FALSE(server.listen(*IpAddress::parse("10.0.0.1")));
  std::stop_source stop;
  std::thread serving([&] { (void)server.accept(kTradeToken, 20, stop.get_token()); });
  CmEnd client(library_, verbs_, "gpu02", 512);
  const CmFault fault = connected(client, "fedcba9876543210fedcba9876543210");
  stop.request_stop();
  serving.join();
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->cause, HasSubstr("rdma_connect to gpu02: RDMA_CM_EVENT_REJECTED"));
}

TEST_F(CmTrade, AMessageThatIsNotAcknowledgedNamesItsStatus) {
  CmEnd server(library_, verbs_, "gpu01", 512);
  ASSERT_FALSE(server.open());
  ASSERT_FALSE(server.listen(*IpAddress::parse("10.0.0.1")));
  std::thread serving([&] { (void)server.accept(kTradeToken, 20, {}); });
  CmEnd client(library_, verbs_, "gpu02", 512);
  const CmFault fault = connected(client, kTradeToken);
  serving.join();
  ASSERT_FALSE(fault) << fault->cause;
  trade_.status = IBV_WC_RETRY_EXC_ERR;
  ASSERT_FALSE(client.send());
  const CmEnd::Arrived arrived = client.await_message(kTradePatience, {});
  ASSERT_TRUE(arrived.fault);
  EXPECT_EQ(arrived.fault->cause, "message: IBV_WC_RETRY_EXC_ERR (vendor error 0), sending to gpu02");
}

}  // namespace
}  // namespace railbed
