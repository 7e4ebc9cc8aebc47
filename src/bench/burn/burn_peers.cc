// All GPUs copy at the same time, in rounds of about a tenth of a second: each to the one that stands `shift` places
// after it, so each sends and receives. The shift changes with each round: all pairs have their turn. A round's data are
// new numbers of each sender, and the receiver compares all of them after the last copy.
#include "bench/burn/burn_peers.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

#include "base/json.h"
#include "bench/burn/burn_kernels.h"
#include "bench/core/clock.h"

namespace railbed {
namespace {

constexpr std::uint64_t kMostOfACopy = std::uint64_t{128} << 20;  // bytes
constexpr std::uint64_t kGrainOfACopy = std::uint64_t{64} << 10;  // bytes of which a copy is a multiple
constexpr double kRoundSeconds = 0.1;
constexpr int kMostCopies = 4096;                    // of a GPU in one round
constexpr std::size_t kMostPeers = 8;                // that CUDA connects a GPU with over PCI Express
constexpr double kPeersNews = 1;                     // seconds
constexpr std::chrono::milliseconds kPeersWait{50};  // for the next turn
constexpr int kPeersAlreadyEnabled = 704;            // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
constexpr int kInvalidValue = 1;                     // CUDA_ERROR_INVALID_VALUE
enum class PeerAttribute { kPerformanceRank = 1, kNativeAtomics = 3 };  // CUdevice_P2PAttribute

struct PeerGpu {
  PeerGpu(const VisibleGpu& which, const std::vector<std::string>& files, const Say& about_to)
      : visible(which), cuda(files, about_to) {}
  VisibleGpu visible;
  cuda::Cuda cuda;
  std::unique_ptr<BurnKernels> kernels;
  cuda::Stream stream = nullptr;
  cuda::Event begin = nullptr;
  cuda::Event end = nullptr;
  cuda::DevicePointer source = 0;
  cuda::DevicePointer target = 0;
  std::vector<bool> reaches;   // by index; as many as there are GPUs
  std::vector<double> drills;  // moments in which a bit is flipped, in order
  BurnWords words;             // in `source`
  bool sent = false;           // in this round
  BurnRates rates;

  void wait() {
    cuda.enter();
    cuda.quick("cuStreamSynchronize", stream);
  }
};

class PeerWork {
 public:
  PeerWork(const BurnPlan& plan, const std::vector<VisibleGpu>& gpus, std::uint64_t begin,
           const NvidiaLibraries& from, const Tell& tell)
      : plan_(plan),
        begin_(begin),
        tell_(tell),
        bytes_(bytes_of_a_copy(plan)),
        driver_(from.cuda, tell.about_to) {
    for (const VisibleGpu& gpu : gpus) {
      gpus_.push_back(std::make_unique<PeerGpu>(gpu, from.cuda, tell.about_to));
      state_.gpus.push_back({.ordinal = gpu.ordinal});
    }
    for (auto& gpu : gpus_) {
      gpu->drills = drill_moments(plan, BurnInjection::kWrongResult, gpu->visible.ordinal);
      std::erase_if(gpu->drills, [&](double at) { return burn_phase_at(plan, at) != BurnPhase::kPeers; });
    }
  }

  void run() {
    if (prepare()) copy_until_the_end();
    state_.trouble = error();
    state_.ended = state_.trouble.empty();
    send();
  }

 private:
  // A plan that limits the memory of the GPUs limits the copies, too.
  static std::uint64_t bytes_of_a_copy(const BurnPlan& plan) {
    const std::uint64_t most = plan.memory == 0 ? kMostOfACopy : std::min(plan.memory, kMostOfACopy);
    return std::max(most / kGrainOfACopy, std::uint64_t{1}) * kGrainOfACopy;
  }
  double at() const { return static_cast<double>(now_ns() - begin_) / 1e9; }
  std::string error() const {
    if (!driver_.error().empty()) return driver_.error();
    for (const auto& gpu : gpus_)
      if (!gpu->cuda.error().empty()) return gpu->cuda.error();
    return "";
  }
  void send() {
    sent_ = at();
    tell_.result(json::dump(json::encode(state_)));
  }

  bool prepare() {
    if (!driver_.start()) return false;
    for (auto& gpu : gpus_) {
      cuda::Cuda& cuda = gpu->cuda;
      if (!cuda.use(gpu->visible.ordinal)) return false;
      cuda.call("cuStreamCreate", &gpu->stream, cuda::kNonBlocking);
      for (cuda::Event* event : {&gpu->begin, &gpu->end}) cuda.call("cuEventCreate", event, 0U);
      for (cuda::DevicePointer* buffer : {&gpu->source, &gpu->target})
        cuda.call("cuMemAlloc_v2", buffer, std::size_t{bytes_});
      gpu->kernels = std::make_unique<BurnKernels>(cuda, gpu->stream);
      if (!cuda.error().empty()) return false;
    }
    connect();
    return error().empty();
  }

  // Lets each GPU write to the memory of those after it, where the driver allows it.
  void connect() {
    bool alike = true;
    std::optional<int> rank;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      PeerGpu& gpu = *gpus_[i];
      gpu.reaches.assign(gpus_.size(), false);
      gpu.cuda.enter();
      for (std::size_t shift = 1; shift <= most_shift(); ++shift) {
        const std::size_t to = (i + shift) % gpus_.size();
        int can = 0;
        gpu.cuda.quick("cuDeviceCanAccessPeer", &can, gpu.cuda.device(), gpus_[to]->cuda.device());
        if (can != 0)
          gpu.reaches[to] =
              gpu.cuda.allow(kPeersAlreadyEnabled, "cuCtxEnablePeerAccess", gpus_[to]->cuda.context(), 0U);
        const auto now = attribute(gpu, *gpus_[to], PeerAttribute::kPerformanceRank);
        alike &= can != 0 && now && now == rank.value_or(*now) &&
                 attribute(gpu, *gpus_[to], PeerAttribute::kNativeAtomics) == 1;
        rank = now;
      }
      if (std::ranges::find(gpu.reaches, true) != gpu.reaches.end()) continue;
      tally(i).skipped = "this GPU reaches no other one directly";
      tally(i).no_units = true;
    }
    // Atomic operations between GPUs exist over NVLink only; equal ranks mean that all pairs have as many links.
    for (BurnPeerGpu& gpu : state_.gpus) gpu.tally.by_place = !alike;
  }
  static std::optional<int> attribute(PeerGpu& from, PeerGpu& to, PeerAttribute which) {
    int value = -1;
    from.cuda.allow(kInvalidValue, "cuDeviceGetP2PAttribute", &value, static_cast<int>(which),
                    from.cuda.device(), to.cuda.device());
    return value >= 0 ? std::optional(value) : std::nullopt;
  }
  std::size_t most_shift() const { return std::min(gpus_.size() - 1, kMostPeers); }
  BurnTally& tally(std::size_t i) { return state_.gpus[i].tally; }

  void copy_until_the_end() {
    bool in_turn = false;
    while (at() < plan_.seconds && error().empty()) {
      if (burn_phase_at(plan_, at()) != BurnPhase::kPeers) {
        in_turn = false;
        tell_.about_to("waiting for the next copies between GPUs");
        std::this_thread::sleep_for(kPeersWait);
        continue;
      }
      // The first round meets clocks of another phase, and finds how many copies fill the time.
      if (!in_turn) copies_ = 1;
      round(in_turn);
      in_turn = true;
      if (at() - sent_ >= kPeersNews) send();
    }
  }

  void round(bool counts) {
    tell_.about_to("copies between GPUs");
    const std::size_t shift = 1 + rounds_++ % most_shift();
    const auto to = [&](std::size_t i) { return (i + shift) % gpus_.size(); };
    for (std::size_t i = 0; i < gpus_.size(); ++i) fill(*gpus_[i], to(i), i);
    for (const auto& gpu : gpus_) gpu->wait();
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      if (gpus_[i]->sent) queue(*gpus_[i], *gpus_[to(i)]);
    double longest = 0;
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      if (gpus_[i]->sent) longest = std::max(longest, finish(i, counts));
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      if (gpus_[i]->sent) compare(i, to(i));
    if (longest > 0)
      copies_ = static_cast<int>(
          std::clamp(std::floor(copies_ * kRoundSeconds / longest), 1.0, static_cast<double>(kMostCopies)));
  }

  void fill(PeerGpu& gpu, std::size_t to, std::size_t index) {
    gpu.sent = gpu.reaches[to];
    if (!gpu.sent) return;
    gpu.cuda.enter();
    gpu.words = BurnWords{0x9ee5 + rounds_ * kMostBurnGpus + index};
    gpu.kernels->fill(gpu.source, bytes_, gpu.words);
  }

  void queue(PeerGpu& from, PeerGpu& to) {
    from.cuda.enter();
    from.cuda.quick("cuEventRecord", from.begin, from.stream);
    for (int i = 0; i < copies_; ++i)
      from.cuda.quick("cuMemcpyPeerAsync", to.target, to.cuda.context(), from.source, from.cuda.context(),
                      std::size_t{bytes_}, from.stream);
    from.cuda.quick("cuEventRecord", from.end, from.stream);
  }

  // Waits for a GPU's copies and counts them. Returns the seconds that they took.
  double finish(std::size_t i, bool counts) {
    PeerGpu& gpu = *gpus_[i];
    gpu.wait();
    float milliseconds = 0;
    gpu.cuda.quick("cuEventElapsedTime", &milliseconds, gpu.begin, gpu.end);
    const double seconds = milliseconds / 1e3;
    const double work = static_cast<double>(copies_) * static_cast<double>(bytes_);
    if (counts && seconds > 0) gpu.rates.add(work / seconds);
    tally(i).seconds += seconds;
    tally(i).work += work;
    tally(i).rate = gpu.rates.median();
    return seconds;
  }

  void compare(std::size_t i, std::size_t to) {
    PeerGpu& sender = *gpus_[i];
    PeerGpu& receiver = *gpus_[to];
    receiver.cuda.enter();
    const bool flipped = take_due(sender.drills, at());
    if (flipped) receiver.kernels->flip(receiver.target, bytes_);
    receiver.kernels->check(receiver.target, bytes_, sender.words);
    const BurnDifference difference = receiver.kernels->read();
    tally(i).compared += bytes_ / sizeof(std::uint64_t);
    if (difference.elements == 0 || !error().empty()) return;
    BurnPeerGpu& state = state_.gpus[i];
    tally(i).wrong += difference.elements;
    ++state.fault_count;
    if (state.faults.size() < kMostFaults) {
      state.faults.push_back(fault_of(BurnPhase::kPeers, "copy", at(), difference, flipped));
      state.faults.back().peer = receiver.visible.ordinal;
    }
    send();
  }

  const BurnPlan& plan_;
  const std::uint64_t begin_;
  const Tell& tell_;
  const std::uint64_t bytes_;  // of a copy
  cuda::Cuda driver_;
  std::vector<std::unique_ptr<PeerGpu>> gpus_;
  BurnPeers state_;
  std::uint64_t rounds_ = 0;
  int copies_ = 1;
  double sent_ = 0;
};

}  // namespace

void run_burn_peers(const BurnPlan& plan, const std::vector<VisibleGpu>& gpus, std::uint64_t begin,
                    const NvidiaLibraries& from, const Tell& tell) {
  // The process ends soon: the driver frees what it holds.
  auto* const work = new PeerWork(plan, gpus, begin, from, tell);
  work->run();
}

void add_peer_copies(const BurnPeers& peers, std::vector<BurnGpu>& gpus) {
  for (BurnGpu& gpu : gpus) {
    const auto tally = std::ranges::find(gpu.tallies, BurnPhase::kPeers, &BurnTally::phase);
    if (tally == gpu.tallies.end()) continue;
    const auto copies = std::ranges::find(peers.gpus, gpu.ordinal, &BurnPeerGpu::ordinal);
    if (copies != peers.gpus.end()) {
      const BurnTally sampled = *tally;
      *tally = copies->tally;
      tally->watts = sampled.watts;
      tally->clock = sampled.clock;
      tally->temperature = sampled.temperature;
      gpu.fault_count += copies->fault_count;
      gpu.faults.insert(gpu.faults.end(), copies->faults.begin(), copies->faults.end());
      if (gpu.faults.size() > kMostFaults) gpu.faults.resize(kMostFaults);
    }
    if (tally->rate == 0 && tally->skipped.empty()) tally->skipped = peers.trouble;
  }
}

}  // namespace railbed
