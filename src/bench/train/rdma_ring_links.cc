// The links of a ring over RDMA sends: bytes are copied into the memory of one session, and out of the memory
// of the other.
#include <fmt/format.h>

#include <cstring>
#include <deque>

#include "bench/train/ring_links.h"
#include "bench/verbs/verbs_state.h"

namespace railbed {
namespace {

// The session to the next rank.
class Outlet {
 public:
  Outlet(const RdmaSession::State& state, const RdmaRun& run, std::stop_token stop)
      : state_(state),
        slots_(state.slots(state.outgoing(), run)),
        done_(state.queue_pairs.size()),
        completions_(state, state.lanes.front().sends, "sending to", std::move(stop), kNoLimit) {}

  // Takes as many bytes as there are free slots for, and returns their number. Returns nothing once the
  // connection has failed.
  std::optional<std::size_t> send(std::span<const std::byte> bytes) {
    if (posted_ > done_[0] && !completions_.poll(done_)) return std::nullopt;
    std::size_t taken = 0;
    while (taken < bytes.size() && posted_ - done_[0] < depth()) {
      const auto slot = slots_.slot(0, posted_);
      const auto part = bytes.subspan(taken, std::min(slot.size(), bytes.size() - taken));
      std::memcpy(slot.data(), part.data(), part.size());
      post(slot.first(part.size()));
      taken += part.size();
    }
    return taken;
  }
  bool wait() { return completions_.wait(); }
  Failure failure() const { return completions_.failure(); }
  const std::string& peer() const { return state_.peer; }

 private:
  std::uint64_t depth() const { return state_.receive_depth(slots_); }

  void post(std::span<const std::byte> message) {
    ibv_sge piece = state_.piece(message);
    ibv_send_wr request{};
    request.wr_id = work_id(0, ++posted_);
    request.sg_list = &piece;
    request.num_sge = 1;
    request.send_flags = IBV_SEND_SIGNALED;
    state_.address(request, RdmaOperation::kSend, 0, 0);
    // A request that cannot be posted never completes, so the ring's timeout ends the run.
    ibv_send_wr* bad = nullptr;
    ibv_post_send(state_.queue_pairs[0], &request, &bad);
  }

  const RdmaSession::State& state_;
  MessageSlots slots_;
  std::uint64_t posted_ = 0;
  std::vector<std::uint64_t> done_;
  Completions completions_;
};

// The session from the rank before.
class Inlet {
 public:
  Inlet(const RdmaSession::State& state, const RdmaRun& run, std::stop_token stop)
      : state_(state),
        slots_(state.slots(state.incoming(), run)),
        completions_(state, state.lanes.front().receives, "receiving from", std::move(stop), kNoLimit) {}

  // Copies received bytes and returns their number. A message may be taken in parts. Returns nothing once the
  // connection has failed.
  std::optional<std::size_t> receive(std::span<std::byte> bytes) {
    if (bytes.empty()) return 0;
    if (arrived_.empty() && !completions_.poll([this](const ibv_wc& completion) { note(completion); }))
      return std::nullopt;
    std::size_t filled = 0;
    while (filled < bytes.size() && !arrived_.empty()) {
      Message& message = arrived_.front();
      const auto part = slots_.slot(0, message.number).subspan(message.taken);
      const std::size_t size = std::min(message.bytes - message.taken, bytes.size() - filled);
      std::memcpy(bytes.data() + filled, part.data(), size);
      filled += size;
      message.taken += size;
      if (message.taken < message.bytes) break;
      state_.post_receives(slots_, 0, message.number + state_.receive_depth(slots_), 1);
      arrived_.pop_front();
    }
    return filled;
  }
  bool wait() { return completions_.wait(); }
  Failure failure() const { return completions_.failure(); }
  const std::string& peer() const { return state_.peer; }

 private:
  struct Message {
    std::uint64_t number = 0;
    std::size_t bytes = 0;
    std::size_t taken = 0;
  };
  void note(const ibv_wc& completion) {
    arrived_.push_back({completion.wr_id & 0xffff'ffff'ffff, completion.byte_len, 0});
  }

  const RdmaSession::State& state_;
  MessageSlots slots_;
  std::deque<Message> arrived_;
  Completions completions_;
};

class VerbsRingLinks : public RingLinks {
 public:
  VerbsRingLinks(std::shared_ptr<RdmaSession> to_next, std::shared_ptr<RdmaSession> from_previous,
                 const RdmaRun& run, const std::stop_token& stop)
      : to_next_(std::move(to_next)),
        from_previous_(std::move(from_previous)),
        out_(to_next_->state(), run, stop),
        in_(from_previous_->state(), run, stop) {}

  std::optional<Moved> move(std::span<const std::byte> send, std::span<std::byte> receive) override {
    const auto sent = out_.send(send);
    if (!sent) return broken(out_.failure());
    const auto received = in_.receive(receive);
    if (!received) return broken(in_.failure());
    if (*sent + *received > 0) return Moved{*sent, *received};
    // If there are bytes to receive, wait only for those: the ring moves as a whole, so soon there is also
    // room to send.
    if (receive.empty() ? !out_.wait() : !in_.wait())
      return broken(receive.empty() ? out_.failure() : in_.failure());
    return Moved{};
  }

  Failure broken() const override { return broken_; }

  Failure stalled(bool sending, std::chrono::milliseconds patience) const override {
    const double seconds = std::chrono::duration<double>(patience).count();
    if (sending)
      return {"run", fmt::format("{} took nothing for {:.3g} s", out_.peer(), seconds),
              fmt::format("see whether {} is overloaded or its railbed agent is stopped", out_.peer())};
    return {"run", fmt::format("no data from {} for {:.3g} s", in_.peer(), seconds),
            "look at both ends' link (rdma link, rdma statistic), cable and switch port"};
  }

 private:
  std::nullopt_t broken(Failure why) {
    broken_ = std::move(why);
    return std::nullopt;
  }

  std::shared_ptr<RdmaSession> to_next_;
  std::shared_ptr<RdmaSession> from_previous_;
  Outlet out_;
  Inlet in_;
  Failure broken_;
};

}  // namespace

std::unique_ptr<RingLinks> rdma_ring_links(std::shared_ptr<RdmaSession> to_next,
                                           std::shared_ptr<RdmaSession> from_previous, const RdmaRun& run,
                                           std::stop_token stop) {
  return std::make_unique<VerbsRingLinks>(std::move(to_next), std::move(from_previous), run, stop);
}

}  // namespace railbed
