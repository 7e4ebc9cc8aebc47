#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/random.h"
#include "bench/core/clock.h"
#include "bench/core/pattern.h"
#include "bench/verbs/rdma_session.h"
#include "bench/verbs/verbs_state.h"

namespace railbed {
namespace {

// A packet is sent again after 4.096 µs × 2^16 = 0.27 s, and the seventh timeout is an error: a dead path is
// detected in two seconds (the specification lets adapters take up to four times as long). The number of
// retries must not be 7, which rxe takes as infinite.
constexpr std::uint8_t kAckTimeout = 16;
constexpr std::uint8_t kRetries = 6;
// 7 waits without limit for a receiver that has posted no receives; the engines' own timeouts end the wait.
constexpr std::uint8_t kReceiverRetries = 7;
constexpr std::uint8_t kRnrTimer = 12;
constexpr int kMostReads = 16;
constexpr std::uint32_t kQueueKey = 0x7261696c;
constexpr std::uint8_t kHopLimit = 255;
constexpr std::uint32_t kWantedInline = 220;

Result<void> open_device(RdmaSession::State& state) {
  int count = 0;
  ibv_device** devices = state.verbs->get_device_list(&count);
  if (devices == nullptr) return failed("ibv_get_device_list", errno);
  ibv_device* found = nullptr;
  for (int i = 0; i < count; ++i)
    if (state.set_up.device == state.verbs->get_device_name(devices[i])) found = devices[i];
  errno = 0;
  if (found != nullptr) state.context = state.verbs->open_device(found);
  const int error = errno;
  state.verbs->free_device_list(devices);
  if (found == nullptr)
    return fail(ErrorKind::kUnavailable,
                fmt::format("libibverbs does not list {}: is its provider installed (ibverbs-providers) "
                            "and ib_uverbs loaded?",
                            state.set_up.device));
  if (state.context == nullptr) return failed("ibv_open_device " + state.set_up.device, error);
  // Two engines of a session may request events at the same time. The second one must not block.
  fcntl(state.context->async_fd, F_SETFL, fcntl(state.context->async_fd, F_GETFL) | O_NONBLOCK);
  ibv_device_attr attributes{};
  if (state.verbs->query_device(state.context, &attributes) == 0)
    state.reads =
        std::clamp(std::min(attributes.max_qp_rd_atom, attributes.max_qp_init_rd_atom), 1, kMostReads);
  return {};
}

// Creates a queue pair with the largest inline size that the adapter accepts. Adapters differ in that, so it
// tries smaller sizes until one succeeds. Returns null if none does.
ibv_qp* create_queue_pair(RdmaSession::State& state) {
  for (std::uint32_t wanted = kWantedInline;; wanted = wanted > 16 ? wanted / 2 : 0) {
    ibv_qp_init_attr attributes{};
    const Lane& lane = state.lanes[state.queue_pairs.size() % state.lanes.size()];
    attributes.send_cq = lane.sends.cq;
    attributes.recv_cq = lane.receives.cq;
    attributes.qp_type = state.set_up.datagrams ? IBV_QPT_UD : IBV_QPT_RC;
    attributes.cap.max_send_wr = static_cast<std::uint32_t>(state.set_up.depth) + 1;
    attributes.cap.max_recv_wr = static_cast<std::uint32_t>(state.set_up.depth) + 1;
    attributes.cap.max_send_sge = 1;
    attributes.cap.max_recv_sge = state.set_up.datagrams ? 2 : 1;  // the network header, the message
    attributes.cap.max_inline_data = wanted;
    if (ibv_qp* queue_pair = state.verbs->create_qp(state.pd, &attributes)) {
      state.inline_bytes = attributes.cap.max_inline_data;
      return queue_pair;
    }
    if (wanted == 0) return nullptr;
  }
}

Result<void> create_completion_queue(RdmaSession::State& state, CompletionQueue& queue) {
  const int queue_pairs = (state.set_up.queue_pairs + state.set_up.threads - 1) / state.set_up.threads;
  const int completions = queue_pairs * (state.set_up.depth + 1);
  queue.channel = state.verbs->create_comp_channel(state.context);
  if (queue.channel == nullptr) return failed("ibv_create_comp_channel", errno);
  fcntl(queue.channel->fd, F_SETFL, fcntl(queue.channel->fd, F_GETFL) | O_NONBLOCK);
  queue.cq = state.verbs->create_cq(state.context, completions, nullptr, queue.channel, 0);
  if (queue.cq == nullptr) return failed("ibv_create_cq", errno);
  return {};
}

Result<void> create_queues(RdmaSession::State& state) {
  state.lanes.resize(static_cast<std::size_t>(state.set_up.threads));
  for (Lane& lane : state.lanes)
    for (CompletionQueue* queue : {&lane.sends, &lane.receives})
      if (auto made = create_completion_queue(state, *queue); !made) return made;
  for (int i = 0; i < state.set_up.queue_pairs; ++i) {
    ibv_qp* queue_pair = create_queue_pair(state);
    if (queue_pair == nullptr) return failed("ibv_create_qp", errno);
    state.queue_pairs.push_back(queue_pair);
    state.psns.push_back(static_cast<std::uint32_t>(random_seed() & 0xffffff));
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = static_cast<std::uint8_t>(state.set_up.port);
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    attributes.qkey = kQueueKey;
    const int last = state.set_up.datagrams ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    if (const int error = state.verbs->modify_qp(queue_pair, &attributes,
                                                 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | last))
      return failed("queue pair to INIT", error);
  }
  return {};
}

ibv_mtu mtu_code(int bytes) {
  int code = IBV_MTU_256;
  while (code < IBV_MTU_4096 && (128 << (code + 1)) <= bytes) ++code;
  return static_cast<ibv_mtu>(code);
}

// Returns element `index` modulo the size of the list; `otherwise` if the list is empty. connect() has
// checked the lists.
int in_turn(const std::vector<int>& list, std::size_t index, int otherwise) {
  return list.empty() ? otherwise : list[index % list.size()];
}

ibv_ah_attr way_to(const RdmaSession::State& state, std::size_t index, const RdmaConnect& request) {
  ibv_ah_attr way{};
  way.port_num = static_cast<std::uint8_t>(state.set_up.port);
  way.dlid = static_cast<std::uint16_t>(request.end.lid);
  if (request.gid_index < 0) return way;
  way.is_global = 1;
  std::memcpy(way.grh.dgid.raw, request.gid.bytes().data(), 16);
  way.grh.sgid_index = static_cast<std::uint8_t>(request.gid_index);
  way.grh.hop_limit = kHopLimit;
  way.grh.traffic_class = static_cast<std::uint8_t>(in_turn(request.traffic_classes, index, 0));
  // A flow label that differs by queue pair, so that switches spread queue pairs over equal paths.
  const auto own = static_cast<int>(scramble(request.end.queue_pairs[index].number) & 0xfffff);
  way.grh.flow_label = static_cast<std::uint32_t>(in_turn(request.flow_labels, index, own));
  return way;
}

Result<void> connect_datagrams(RdmaSession::State& state, std::size_t index, const RdmaConnect& request) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  ibv_qp* queue_pair = state.queue_pairs[index];
  if (const int error = state.verbs->modify_qp(queue_pair, &attributes, IBV_QP_STATE))
    return failed("queue pair to RTR", error);
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = state.psns[index];
  if (const int error = state.verbs->modify_qp(queue_pair, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN))
    return failed("queue pair to RTS", error);
  ibv_ah_attr way = way_to(state, index, request);
  state.ways.push_back(state.verbs->create_ah(state.pd, &way));
  if (state.ways.back() != nullptr) return {};
  state.ways.pop_back();
  return failed(fmt::format("ibv_create_ah, towards {} of {}", request.gid.to_text(), request.peer), errno);
}

Result<void> connect_one(RdmaSession::State& state, std::size_t index, const RdmaConnect& request) {
  if (state.set_up.datagrams) return connect_datagrams(state, index, request);
  const QueuePairName& other = request.end.queue_pairs[index];
  const auto reads = static_cast<std::uint8_t>(std::clamp(request.end.reads, 1, state.reads));
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = mtu_code(request.mtu);
  attributes.dest_qp_num = other.number;
  attributes.rq_psn = other.psn;
  attributes.max_dest_rd_atomic = reads;
  attributes.min_rnr_timer = kRnrTimer;
  attributes.ah_attr = way_to(state, index, request);
  ibv_qp* queue_pair = state.queue_pairs[index];
  if (const int error =
          state.verbs->modify_qp(queue_pair, &attributes,
                                 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
    return failed(fmt::format("queue pair to RTR, towards {} of {}", request.gid.to_text(), request.peer),
                  error);
  attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = state.psns[index];
  attributes.timeout = kAckTimeout;
  attributes.retry_cnt = kRetries;
  attributes.rnr_retry = kReceiverRetries;
  attributes.max_rd_atomic = reads;
  if (const int error =
          state.verbs->modify_qp(queue_pair, &attributes,
                                 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
    return failed("queue pair to RTS", error);
  return {};
}

}  // namespace

RdmaSession::State::~State() {
  for (ibv_qp* queue_pair : queue_pairs) verbs->destroy_qp(queue_pair);
  for (ibv_ah* way : ways) verbs->destroy_ah(way);
  for (const Lane& lane : lanes)
    for (const CompletionQueue& queue : {lane.sends, lane.receives}) {
      if (queue.cq != nullptr) verbs->destroy_cq(queue.cq);
      if (queue.channel != nullptr) verbs->destroy_comp_channel(queue.channel);
    }
  if (mr != nullptr) verbs->dereg_mr(mr);
  gpu.reset();  // before its image
  if (pd != nullptr) verbs->dealloc_pd(pd);
  if (context != nullptr) verbs->close_device(context);
}

void RdmaSession::State::address(ibv_send_wr& request, RdmaOperation operation, std::size_t queue_pair,
                                 std::size_t offset) const {
  switch (operation) {
    case RdmaOperation::kWrite:
      request.opcode = IBV_WR_RDMA_WRITE;
      request.wr.rdma.remote_addr = remote.address + offset;
      request.wr.rdma.rkey = remote.key;
      return;
    case RdmaOperation::kRead:
      request.opcode = IBV_WR_RDMA_READ;
      request.wr.rdma.remote_addr = remote.source + offset;
      request.wr.rdma.rkey = remote.key;
      return;
    case RdmaOperation::kDatagram:
      request.wr.ud.ah = ways[queue_pair];
      request.wr.ud.remote_qpn = remote.queue_pairs[queue_pair].number;
      request.wr.ud.remote_qkey = kQueueKey;
      [[fallthrough]];
    case RdmaOperation::kSend:
      request.opcode = IBV_WR_SEND;
  }
}

void RdmaSession::State::post_receives(const MessageSlots& slots, std::size_t queue_pair, std::uint64_t first,
                                       std::uint64_t count) const {
  constexpr std::size_t kChain = 16;
  const int header = set_up.datagrams ? 1 : 0;
  for (const std::uint64_t end = first + count; first < end;) {
    std::array<ibv_recv_wr, kChain> requests{};
    std::array<std::array<ibv_sge, 2>, kChain> pieces{};
    const std::size_t chain = std::min<std::uint64_t>(end - first, kChain);
    for (std::size_t i = 0; i < chain; ++i, ++first) {
      const auto slot = slots.slot(static_cast<int>(queue_pair), first);
      pieces[i][0] = {reinterpret_cast<std::uint64_t>(header_room().data()), kGlobalHeader, mr->lkey};
      pieces[i][static_cast<std::size_t>(header)] = piece(slot);
      requests[i].wr_id = work_id(queue_pair, first);
      requests[i].next = i + 1 < chain ? &requests[i + 1] : nullptr;
      requests[i].sg_list = pieces[i].data();
      requests[i].num_sge = header + 1;
    }
    ibv_recv_wr* bad = nullptr;
    ibv_post_recv(queue_pairs[queue_pair], requests.data(), &bad);
  }
}

RdmaSession::RdmaSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
RdmaSession::~RdmaSession() = default;

Result<std::shared_ptr<RdmaSession>> RdmaSession::open(const RdmaSetUp& set_up) {
  ASSIGN_OR_RETURN(const auto verbs, verbs_library());
  auto state = std::make_unique<State>();
  state->verbs = verbs;
  state->set_up = set_up;
  pin_to(set_up.cpus);  // the first touch of memory decides its NUMA node
  RETURN_IF_ERROR(open_device(*state));
  state->pd = state->verbs->alloc_pd(state->context);
  if (state->pd == nullptr) return failed("ibv_alloc_pd", errno);
  RETURN_IF_ERROR(register_memory(*state));
  RETURN_IF_ERROR(create_queues(*state));
  return std::shared_ptr<RdmaSession>(new RdmaSession(std::move(state)));
}

RdmaEnd RdmaSession::end() const {
  RdmaEnd end;
  for (std::size_t i = 0; i < state_->queue_pairs.size(); ++i)
    end.queue_pairs.push_back({state_->queue_pairs[i]->qp_num, state_->psns[i]});
  end.address = state_->address_of(state_->incoming());
  end.source = state_->address_of(state_->outgoing());
  end.key = state_->mr->rkey;
  end.reads = state_->reads;
  return end;
}

int RdmaSession::inline_bytes() const { return static_cast<int>(state_->inline_bytes); }
bool RdmaSession::huge_pages() const { return state_->memory.huge(); }
MemoryRoute RdmaSession::route() const { return state_->route; }
const std::vector<std::string>& RdmaSession::refusals() const { return state_->refusals; }

Result<void> RdmaSession::connect(const RdmaConnect& request) {
  if (request.end.queue_pairs.size() != state_->queue_pairs.size())
    return fail(ErrorKind::kBadInput, "both ends need as many queue pairs");
  if (request.mtu < 256 || request.mtu > 4096 || request.gid_index > 255)
    return fail(ErrorKind::kBadInput, "MTU 256 to 4096, GID index at most 255");
  const auto beyond = [](const std::vector<int>& list, int most) {
    return std::any_of(list.begin(), list.end(), [most](int one) { return one < 0 || one > most; });
  };
  if (beyond(request.traffic_classes, 0xff) || beyond(request.flow_labels, 0xfffff))
    return fail(ErrorKind::kBadInput, "traffic classes 0 to 255, flow labels 0 to 1048575");
  for (std::size_t i = 0; i < state_->queue_pairs.size(); ++i)
    RETURN_IF_ERROR(connect_one(*state_, i, request));
  state_->remote = request.end;
  state_->peer = request.peer;
  state_->mtu = request.mtu;
  return {};
}

Result<void> RdmaSession::prepare(const RdmaRun& run) {
  if (run.message_bytes < 1 || !(run.warmup >= 0 && run.seconds > 0 && run.warmup + run.seconds <= 3600))
    return fail(ErrorKind::kBadInput, "a message of at least one byte, more than 0 and at most 3600 s");
  if (state_->mtu == 0) return fail(ErrorKind::kBadInput, "the session is not connected");
  if ((run.operation == RdmaOperation::kDatagram) != state_->set_up.datagrams)
    return fail(ErrorKind::kBadInput, "datagrams and connections need sessions of their own");
  if (state_->set_up.datagrams && run.message_bytes > static_cast<std::uint64_t>(state_->mtu))
    return fail(ErrorKind::kUnavailable,
                fmt::format("a datagram carries at most the path MTU, {} bytes", state_->mtu));
  if (run.message_bytes > state_->set_up.half_bytes || state_->slots(state_->outgoing(), run).count() == 0)
    return fail(ErrorKind::kBadInput,
                fmt::format("messages of {} bytes do not fit in the session's {} each way; lower --sizes",
                            run.message_bytes, state_->set_up.half_bytes));
  if (auto can = allowed_by_route(*state_, run.operation); !can) return can;
  const MessageSlots incoming = state_->slots(state_->incoming(), run);
  state_->slots(state_->outgoing(), run).fill();
  incoming.poison();
  state_->incoming()[run.message_bytes - 1] = std::byte{0};  // the byte on which a ping by write spins
  if (state_->gpu)
    if (auto copied = fill_gpu(*state_); !copied) return copied;
  if (has_receiver(run.operation)) {
    if (std::exchange(state_->receives_posted, true))
      return fail(ErrorKind::kBadInput, "the session has posted its receives");
    for (std::size_t qp = 0; qp < state_->queue_pairs.size(); ++qp)
      state_->post_receives(incoming, qp, 0, state_->receive_depth(incoming));
  }
  while (adapter_trouble(*state_, 0)) {
  }  // drop the events from before this run
  state_->finished = false;
  state_->prepared = run;
  return {};
}

bool RdmaSession::is_prepared_for(const RdmaRun& run) const {
  const RdmaRun& prepared = state_->prepared;
  return run.message_bytes > 0 && run.operation == prepared.operation &&
         run.message_bytes == prepared.message_bytes && run.seed == prepared.seed &&
         run.warmup == prepared.warmup && run.seconds == prepared.seconds;
}

RdmaChecked RdmaSession::check(const RdmaCheck& check) const {
  // Poison the image first, so that bytes which the copy back does not change count as wrong.
  if (state_->gpu) {
    state_->slots(state_->incoming(), check.run).poison();
    state_->gpu->bring(state_->incoming());
    state_->gpu->wait_brought();
  }
  // Messages in GPU memory are not numbered, because the processor would have to write the numbers.
  const bool as_filled = check.run.operation == RdmaOperation::kRead || !state_->in_host_memory();
  const auto found = state_->slots(state_->incoming(), check.run).check(check.messages, as_filled);
  return {found.checked, found.wrong};
}

std::optional<Failure> adapter_trouble(const RdmaSession::State& state, int wait_ms) {
  pollfd waiting{state.context->async_fd, POLLIN, 0};
  while (poll(&waiting, 1, wait_ms) > 0) {
    ibv_async_event event{};
    if (state.verbs->get_async_event(state.context, &event) != 0) return std::nullopt;
    state.verbs->ack_async_event(&event);
    if (event.event_type == IBV_EVENT_PORT_ERR)
      return Failure{"run", fmt::format("port {}/{} went down", state.set_up.device, state.set_up.port),
                     "look at the cable, the switch port and `ip link` of its interface"};
    if (event.event_type == IBV_EVENT_DEVICE_FATAL)
      return Failure{"run", fmt::format("{} failed (IBV_EVENT_DEVICE_FATAL)", state.set_up.device),
                     "the adapter or its driver failed: see dmesg"};
  }
  return std::nullopt;
}

RdmaDone RdmaSession::watch(std::stop_token stop) const {
  while (!stop.stop_requested())
    if (auto trouble = adapter_trouble(*state_, 50)) return {std::move(trouble)};
  return {};
}

void pin_to(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus)
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace railbed
