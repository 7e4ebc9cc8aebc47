// One thread for each rail listens, and sleeps except when a client connects. Each connection has one more
// thread; at most kMostVisits are open. The requests of a connection are handled in order in its own thread,
// because an echo that started a thread would also measure that.
#include "monitor/probe/probe_responder.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <thread>

#include "campaign/measure/probe_rdma.h"
#include "fleet/frame.h"
#include "os/socket.h"
#include "os/wait.h"

namespace railbed {
namespace {

using ProbeClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDoorSlice{1000};
constexpr std::chrono::seconds kBetweenTries{5};  // interval of attempts while an address does not exist
constexpr std::chrono::seconds kLongestVisit{60};
constexpr std::chrono::seconds kLongestSilence{25};  // for a client that sets up its own end of RDMA
constexpr int kMostRequests = 256;
constexpr int kMostVisits = 32;
constexpr std::size_t kLargestProbeRequest = 64 << 10;
constexpr std::chrono::seconds kGateFresh{10};
constexpr std::chrono::seconds kLeavingPatience{2};

fleet::Frame answer_frame(std::uint32_t id, Result<std::string> answer) {
  if (!answer) return {fleet::FrameKind::kError, id, fleet::encode_error(answer.error())};
  return {fleet::FrameKind::kAnswer, id, std::move(*answer)};
}

Result<std::string> echo(std::string_view params, std::stop_token) {
  if (params.size() > kMostEchoed) return fail(ErrorKind::kBadInput, "too long to be echoed");
  return std::string(params);
}

}  // namespace

struct ProbeResponder::Shared {
  Shared(ProberOptions its_options, std::shared_ptr<Host> its_host, std::shared_ptr<JobGate> its_gate,
         Hear its_note)
      : options(std::move(its_options)),
        host(std::move(its_host)),
        gate(std::move(its_gate)),
        note(std::move(its_note)) {}

  const ProberOptions options;
  const std::shared_ptr<Host> host;
  const std::shared_ptr<JobGate> gate;
  const Hear note;
  std::mutex mutex;
  std::condition_variable left;
  int visits_now = 0;
  ProbeService service;

  bool is_full() {
    const std::lock_guard lock(mutex);
    return visits_now >= kMostVisits;
  }
  void begin_visit() {
    const std::lock_guard lock(mutex);
    ++visits_now;
    ++service.visits;
  }
  void end_visit() {
    const std::lock_guard lock(mutex);
    --visits_now;
    left.notify_all();
  }
  // Records why a rail's responder cannot listen; an empty text clears it.
  void set_trouble(const std::string& rail, const std::string& why) {
    {
      const std::lock_guard lock(mutex);
      auto& known = service.trouble[rail];
      if (known == why) return;
      known = why;
    }
    if (!why.empty()) note(fmt::format("probes of {} are not answered: {}", rail, why));
  }
};

namespace {

// One connection, from its first request to its last.
template <class Shared>
class Visit {
 public:
  Visit(std::shared_ptr<Shared> shared, const ProbeRail& rail, Fd socket, std::stop_token stop)
      : shared_(std::move(shared)),
        rail_(rail),
        socket_(std::move(socket)),
        stop_(std::move(stop)),
        handlers_(served_rdma_handlers(shared_->host, {rail.interface})) {
    handlers_.emplace(kProbeEcho, echo);
    handlers_.emplace(kProbeCounts, [this](std::string_view, std::stop_token) -> Result<std::string> {
      return json::dump(json::encode(read_priority_counts(*shared_->host, rail_.counted)));
    });
  }
  ~Visit() { shared_->end_visit(); }

  void run() {
    const auto end = ProbeClock::now() + kLongestVisit;
    for (int left = kMostRequests; left > 0;) {
      auto frame = decoder_.next();
      if (!frame) return;
      if (!*frame) {
        if (!receive(end)) return;
        continue;
      }
      --left;
      if ((*frame)->kind == fleet::FrameKind::kRequest && !reply(**frame, end)) return;
    }
  }

 private:
  bool receive(ProbeClock::time_point end) {
    if (wait_readable(socket_.get(), std::min(end, ProbeClock::now() + kLongestSilence), stop_) !=
        Waited::kReady)
      return false;
    char bytes[4096];
    const ssize_t count = recv(socket_.get(), bytes, sizeof bytes, 0);
    if (count > 0) decoder_.feed({bytes, static_cast<std::size_t>(count)});
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
  }
  // Sends a small response. If it does not fit into the socket's buffer, the client does not read, and the
  // connection ends.
  bool reply(const fleet::Frame& request, ProbeClock::time_point end) {
    const std::string bytes = fleet::encode_frame(answer_frame(request.id, answer(request.body)));
    return ProbeClock::now() < end && ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                                          static_cast<ssize_t>(bytes.size());
  }
  Result<std::string> answer(std::string_view body) {
    ASSIGN_OR_RETURN(const auto request, fleet::decode_request(body));
    if (request.method == kProbeBegin) return begin();
    const auto handler = handlers_.find(request.method);
    if (!begun_ || handler == handlers_.end())
      return fail(ErrorKind::kBadInput, "a monitor does not answer that");
    return handler->second(request.params, stop_);
  }
  Result<std::string> begin() {
    const ProbePause pause = shared_->gate->ask(kGateFresh);
    begun_ = !pause;
    return json::dump(json::encode(pause));
  }

  std::shared_ptr<Shared> shared_;
  const ProbeRail& rail_;  // owned by *shared_
  Fd socket_;
  std::stop_token stop_;
  Handlers handlers_;
  fleet::FrameDecoder decoder_{kLargestProbeRequest};
  bool begun_ = false;
};

// Returns the listener; on failure an empty Fd, with errno set.
Fd open_door(const ProbeRail& rail, int port) {
  Fd fd = listening_socket(socket_address(rail.address, port), kBacklog);
  if (fd) keep_on_rail(fd.get(), rail.interface);
  return fd;
}

template <class Shared>
fleet::SecretDoor::Keeper keeper_of(const std::shared_ptr<Shared>& shared, const ProbeRail& rail,
                                    const std::stop_token& stop) {
  return {.refusal = [shared, &rail](const fleet::PeerIntroduction& who) -> std::string {
            if (who.to != shared->options.plan.node || who.place != rail.name)
              return "this is another node, or another rail";
            if (std::ranges::find(rail.others, who.from, &ProbePeer::node) == rail.others.end())
              return "the rail has no such node";
            return shared->is_full() ? "too many are here already" : "";
          },
          .enter =
              [shared, &rail, stop](const fleet::PeerIntroduction&, Fd socket) {
                shared->begin_visit();
                std::thread([shared, &rail, stop, fd = std::move(socket)]() mutable {
                  Visit<Shared>(shared, rail, std::move(fd), stop).run();
                }).detach();
              },
          .turned_away =
              [shared] {
                const std::lock_guard lock(shared->mutex);
                ++shared->service.turned_away;
              }};
}

template <class Shared>
void keep_door(const std::shared_ptr<Shared>& shared, const ProbeRail& rail, const std::stop_token& stop) {
  Fd listener;
  for (auto next = ProbeClock::now(); !listener && !stop.stop_requested();) {
    if (ProbeClock::now() < next) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      continue;
    }
    listener = open_door(rail, shared->options.port);
    if (!listener)
      shared->set_trouble(rail.name, fmt::format("listen at {} port {}: {}", rail.address.to_text(),
                                                 shared->options.port, std::strerror(errno)));
    next = ProbeClock::now() + kBetweenTries;
  }
  shared->set_trouble(rail.name, "");
  fleet::SecretDoor door(listener.get(), {shared->options.secret, std::string(kProbePurpose)},
                         keeper_of(shared, rail, stop));
  while (!stop.stop_requested()) door.serve_slice(kDoorSlice);
}

}  // namespace

ProbeResponder::ProbeResponder(ProberOptions options, std::shared_ptr<Host> host,
                               std::shared_ptr<JobGate> gate, Hear note)
    : shared_(
          std::make_shared<Shared>(std::move(options), std::move(host), std::move(gate), std::move(note))) {
  for (const ProbeRail& rail : shared_->options.plan.rails)
    doors_.emplace_back(
        [shared = shared_, &rail, stop = stop_.get_token()] { keep_door(shared, rail, stop); });
}

ProbeResponder::~ProbeResponder() {
  stop_.request_stop();
  doors_.clear();
  std::unique_lock lock(shared_->mutex);
  shared_->left.wait_for(lock, kLeavingPatience, [&] { return shared_->visits_now == 0; });
}

ProbeService ProbeResponder::service() const {
  const std::lock_guard lock(shared_->mutex);
  ProbeService service = shared_->service;
  std::erase_if(service.trouble, [](const auto& one) { return one.second.empty(); });
  return service;
}

}  // namespace railbed
