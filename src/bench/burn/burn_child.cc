// Each phase works in chunks of about a tenth of a second, and looks at the clock between them. A chunk of products
// queues groups: kResults products, each into a buffer of its own, between two CUDA events, then the comparison of
// each with the reference. So every product is compared, and the comparisons, which use the memory and not the tensor
// cores, are not in the time that gives the rate.
//
// The reference is the first product of these factors on this GPU, made twice. A GPU that is wrong in the same way
// each time is found by the reference's digest, which must be equal on all sound GPUs of one kind (burn_verdict.h).
// After a difference the factors are compared with the numbers they follow from, and the reference with its digest:
// both distinguish a wrong product from memory that changed.
//
// The memory phase writes patterns to most of the free memory and compares them. What it writes last stays there
// during the other phases and is compared before it writes again: cells that lose their charge when hot show there.
#include "bench/burn/burn_child.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/json.h"
#include "base/median.h"
#include "bench/burn/burn_kernels.h"
#include "bench/burn/burn_peers.h"
#include "bench/burn/burn_watch.h"
#include "bench/burn/cublaslt_library.h"
#include "bench/core/clock.h"
#include "bench/gpu/gpu_memory_left.h"
#include "os/near.h"

namespace railbed {
namespace {

constexpr double kChunkSeconds = 0.1;
constexpr std::size_t kResults = 4;
constexpr int kMostGroups = 16;
constexpr std::uint64_t kWorkspace = std::uint64_t{64} << 20;
constexpr std::uint64_t kSides[] = {8192, 4096, 2048, 1024, 512};  // of the matrices, largest first
constexpr std::uint64_t kMemoryGrain = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostCopy = std::uint64_t{128} << 20;
constexpr int kCopiesEach = 4;        // of a chunk, each way
constexpr double kNewsPeriod = 1;     // seconds
constexpr double kLongestPause = 10;  // seconds, for --watts
constexpr double kPauseStep = 0.02;
constexpr double kOthersStep = 0.1;  // between looks at the clock while another process uses the GPU
// Bytes of each GPU that are left to NCCL and to the buffers of the collectives (burn_collectives.cc).
constexpr std::uint64_t kCollectivesReserve = std::uint64_t{4} << 30;
constexpr int kComputeMinor = 76;        // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
constexpr int kComputeMajorOfBurn = 75;  // …_MAJOR

// Numbers of both signs from 0.5 to 2, with a random mantissa: zeros and small whole numbers take less power.
BurnWords factor_words(BurnPhase phase, std::uint64_t seed) {
  switch (phase) {
    case BurnPhase::kFp16:
      return {seed, 0x87FF87FF87FF87FFU, 0x3800380038003800U};
    case BurnPhase::kFp8:
      return {seed, 0x8F8F8F8F8F8F8F8FU, 0x3030303030303030U};
    case BurnPhase::kFp64:
      return {seed, 0x801FFFFFFFFFFFFFU, 0x3FE0000000000000U};
    default:
      return {seed, 0x80FF80FF80FF80FFU, 0x3F003F003F003F00U};
  }
}

void rest(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

class BurnWork {
 public:
  BurnWork(const BurnPlan& plan, const BurnChild& child, const NvidiaLibraries& from, const Tell& tell,
           std::shared_ptr<BurnWatch> watch)
      : plan_(plan),
        child_(child),
        from_(from),
        tell_(tell),
        watch_(std::move(watch)),
        cuda_(from.cuda, tell.about_to),
        flips_(drill_moments(plan, BurnInjection::kWrongResult, child.gpu.ordinal)) {
    for (const BurnDrill& drill : plan.drills)
      if (drill.gpu == child.gpu.ordinal && drill.kind == BurnInjection::kSlow) slow_ = drill.amount / 100;
    // Those of copies between GPUs are made in burn_peers.cc.
    if (copies_to_peers())
      std::erase_if(flips_, [&](double at) { return burn_phase_at(plan, at) == BurnPhase::kPeers; });
  }

  // Returns why it failed; empty if it did not.
  std::string run() {
    if (!prepare()) return cuda_.error();
    watch_->change([](BurnGpu& gpu) { gpu.began = true; });
    send();
    while (watch_->at() < plan_.seconds && cuda_.error().empty()) {
      const BurnTurn turn = burn_turn(plan_.phases, plan_.seconds, watch_->at());
      if (plan_.phases[turn.phase].phase == BurnPhase::kCollectives) {
        leave_to_others(BurnPhase::kCollectives, std::min(turn.ends, plan_.seconds));
        continue;
      }
      const auto phase = instead_of(plan_.phases[turn.phase].phase);
      if (!phase) {
        watch_->change([](BurnGpu& gpu) { gpu.began = false; });
        return "none of the phases can run: " + why_skipped(plan_.phases.front().phase);
      }
      take_turn(*phase, std::min(turn.ends, plan_.seconds));
    }
    watch_->enter(std::nullopt);
    return cuda_.error();
  }

  void send() {
    sent_ = watch_->at();
    tell_.result(json::dump(json::encode(watch_->look())));
  }

 private:
  struct ReadyProduct {
    LtProduct product;
    cuda::DevicePointer reference = 0;
    std::uint64_t digest = 0;
    bool made = false;
  };
  bool good() const { return cuda_.error().empty(); }
  bool skips(BurnPhase phase) { return !why_skipped(phase).empty(); }
  std::string why_skipped(BurnPhase phase) {
    std::string why;
    watch_->change([&](BurnGpu&) { why = watch_->tally(phase).skipped; });
    return why;
  }
  void skip(BurnPhase phase, const std::string& why) {
    watch_->change([&](BurnGpu&) { watch_->tally(phase).skipped = why; });
  }
  ReadyProduct& ready(BurnPhase phase) { return ready_[static_cast<std::size_t>(phase)]; }

  // Returns the phase to run in the turn of this one: itself, or what loads the GPU most if it has no such units.
  std::optional<BurnPhase> instead_of(BurnPhase phase) {
    if (!skips(phase)) return phase;
    for (const BurnShare& one : plan_.phases)
      if (is_product(one.phase) && !skips(one.phase)) return one.phase;
    for (const BurnShare& one : plan_.phases)
      if (one.phase != BurnPhase::kCollectives && !skips(one.phase)) return one.phase;
    return std::nullopt;
  }

  std::string why_no_units(BurnPhase phase) {
    const int major = cuda_.attribute(kComputeMajorOfBurn).value_or(0);
    const int minor = cuda_.attribute(kComputeMinor).value_or(0);
    const auto lacks = [&](bool has) {
      return has ? "" : fmt::format("a GPU of compute capability {}.{} has no units for it", major, minor);
    };
    switch (phase) {
      case BurnPhase::kBf16:
        return lacks(major >= 8);
      case BurnPhase::kFp16:
        return lacks(major >= 7);
      case BurnPhase::kFp8:
        return lacks(major >= 9 || (major == 8 && minor >= 9));
      case BurnPhase::kFp64:
        return lacks(major >= 6 && minor == 0);  // the others have a few units, to run programs at all
      default:
        return "";
    }
  }

  bool prepare() {
    run_near(child_.gpu.address);
    tell_.about_to("opening " + from_.cuda.front());
    if (!cuda_.open(child_.gpu.address)) return false;
    watch_->begin_samples();
    cuda_.call("cuStreamCreate", &stream_, cuda::kNonBlocking);
    cuda_.call("cuStreamCreate", &back_, cuda::kNonBlocking);
    for (auto& events : events_)
      for (cuda::Event* event : {&events.begin, &events.end}) cuda_.quick("cuEventCreate", event, 0U);
    kernels_.emplace(cuda_, stream_);
    open_cublas();
    skip_peers_if_alone();
    return good() && allocate();
  }

  void open_cublas() {
    int version = 0;
    cuda_.call("cuDriverGetVersion", &version);
    tell_.about_to("opening libcublasLt");
    lt_.emplace(plan_.cublas.empty() ? cublaslt_files(version / 1000) : std::vector{plan_.cublas});
    std::string why = lt_->error();
    if (why.empty()) {
      tell_.about_to("cublasLtCreate");
      why = lt_->open();
    }
    if (why.empty()) watch_->change([&](BurnGpu& gpu) { gpu.library = lt_->version(); });
    for (const BurnShare& one : plan_.phases) {
      if (one.phase == BurnPhase::kCollectives) continue;  // its result is no GPU's own
      watch_->change([&](BurnGpu&) { watch_->tally(one.phase); });
      if (!is_product(one.phase)) continue;
      const std::string units = why_no_units(one.phase);
      if (!units.empty() || !why.empty()) skip(one.phase, units.empty() ? why : units);
      if (!units.empty()) watch_->change([&](BurnGpu&) { watch_->tally(one.phase).no_units = true; });
    }
  }

  void skip_peers_if_alone() {
    if (!plan_.has(BurnPhase::kPeers) || copies_to_peers()) return;
    skip(BurnPhase::kPeers, "it is the only GPU of its node in this burn");
    watch_->change([&](BurnGpu&) { watch_->tally(BurnPhase::kPeers).no_units = true; });
  }

  // Bytes for matrices of this side.
  std::uint64_t needed(std::uint64_t side) {
    LtProduct one{.side = side};
    std::uint64_t references = 0;
    factor_bytes_ = result_bytes_ = side * side * 2;
    for (const BurnShare& share : plan_.phases) {
      if (!is_product(share.phase) || skips(share.phase)) continue;
      one.phase = share.phase;
      factor_bytes_ = std::max(factor_bytes_, one.factor_bytes());
      result_bytes_ = std::max(result_bytes_, one.result_bytes());
      references += one.result_bytes();
    }
    return 2 * factor_bytes_ + kResults * result_bytes_ + references + kWorkspace;
  }

  cuda::DevicePointer take(std::uint64_t bytes) {
    cuda::DevicePointer pointer = 0;
    cuda_.call("cuMemAlloc_v2", &pointer, std::size_t{bytes});
    return pointer;
  }

  bool allocate() {
    const MemoryLeft left = gpu_memory_left(cuda_);
    SpareMemory spare = spare_memory(left, MemoryUse::kGpu, child_.beside);
    if (copies_to_peers()) spare.bytes -= std::min(spare.bytes, kPeersReserve);
    if (plan_.has(BurnPhase::kCollectives)) spare.bytes -= std::min(spare.bytes / 2, kCollectivesReserve);
    std::uint64_t side = plan_.side;
    for (std::size_t i = 0; side == 0 && i < std::size(kSides); ++i)
      if (needed(kSides[i]) <= spare.bytes / 2) side = kSides[i];
    if (side == 0 || needed(side) > spare.bytes)
      return cuda_.note("too little memory is free for the matrices: " + spare.why);
    const std::uint64_t matrices = needed(side);
    a_ = take(factor_bytes_);
    b_ = take(factor_bytes_);
    for (cuda::DevicePointer& result : results_) result = take(result_bytes_);
    workspace_ = take(kWorkspace);
    for (const BurnShare& share : plan_.phases) prepare_product(share.phase, side);
    take_memory(std::min(plan_.memory == 0 ? spare.bytes : plan_.memory, spare.bytes - matrices));
    take_host(spare_memory(left, MemoryUse::kPinned, child_.beside).bytes);
    watch_->change([&](BurnGpu& gpu) {
      gpu.side = side;
      gpu.memory = memory_bytes_;
    });
    return good();
  }

  void prepare_product(BurnPhase phase, std::uint64_t side) {
    if (!is_product(phase) || skips(phase) || !good()) return;
    ReadyProduct& mine = ready(phase);
    mine.product.phase = phase;
    mine.product.side = side;
    tell_.about_to(fmt::format("choosing a product of {}", burn_phase_word(phase)));
    if (const std::string why = lt_->prepare(mine.product, kWorkspace); !why.empty()) return skip(phase, why);
    mine.reference = take(mine.product.result_bytes());
  }

  // Free memory may be in pieces, so less is tried until it fits.
  void take_memory(std::uint64_t bytes) {
    for (; bytes >= kMemoryGrain && memory_ == 0 && good(); bytes -= bytes / 16) {
      bytes = bytes / kMemoryGrain * kMemoryGrain;
      cuda_.allow(cuda::kOutOfMemory, "cuMemAlloc_v2", &memory_, std::size_t{bytes});
      if (memory_ != 0) memory_bytes_ = bytes;
      if (bytes / 16 == 0) break;
    }
    if (memory_ == 0) skip_if_planned(BurnPhase::kMemory, "no free memory is left to test");
  }

  void take_host(std::uint64_t spare) {
    constexpr std::uint64_t kPageOfCopy = 4096;
    copy_bytes_ = std::min({kMostCopy, result_bytes_, spare / 2}) / kPageOfCopy * kPageOfCopy;
    if (copy_bytes_ == 0) return skip_if_planned(BurnPhase::kPcie, "no host memory can be spared");
    for (void*& buffer : host_) cuda_.call("cuMemHostAlloc", &buffer, std::size_t{copy_bytes_}, 0U);
  }

  void skip_if_planned(BurnPhase phase, const std::string& why) {
    if (plan_.has(phase)) skip(phase, why);
  }

  bool copies_to_peers() const { return plan_.has(BurnPhase::kPeers) && child_.beside > 1; }

  // Leaves the GPU to another process, that of burn_peers.h or of a collective, and sends the samples meanwhile.
  void leave_to_others(BurnPhase phase, double until) {
    watch_->enter(phase);
    while (watch_->at() < until) {
      step(phase);
      rest(std::min(kOthersStep, std::max(until - watch_->at(), 0.0)));
      if (watch_->at() - sent_ >= kNewsPeriod) send();
    }
  }

  void take_turn(BurnPhase phase, double until) {
    if (phase == BurnPhase::kPeers) return leave_to_others(phase, until);
    step(phase);
    if (is_product(phase)) enter_product(phase);
    if (phase == BurnPhase::kMemory) check_kept();
    watch_->enter(phase);
    for (bool first = true; good() && watch_->at() < until; first = false) {
      step(phase);
      double seconds = 0;
      double work = 0;
      if (is_product(phase)) multiply(ready(phase), seconds, work);
      if (phase == BurnPhase::kMemory) pass_memory(seconds, work);
      if (phase == BurnPhase::kPcie) copy(seconds, work);
      if (!good()) return;
      if (slow_ > 0) {
        const double pause = seconds * slow_ / (1 - slow_);
        rest(pause);
        seconds += pause;
      }
      // The first chunk meets clocks of another phase.
      BurnRates& rates = rates_[static_cast<std::size_t>(phase)];
      if (!first && seconds > 0) rates.add(work / seconds);
      watch_->change([&](BurnGpu&) {
        BurnTally& tally = watch_->tally(phase);
        tally.seconds += seconds;
        tally.work += work;
        tally.rate = rates.median();
      });
      keep_below_watts(phase);
      if (watch_->at() - sent_ >= kNewsPeriod) send();
    }
    if (phase == BurnPhase::kMemory) keep_memory();
  }

  void step(BurnPhase phase) {
    tell_.about_to(fmt::format("{} on GPU {}", burn_phase_word(phase), child_.gpu.address));
  }

  void queue_product(const ReadyProduct& mine, cuda::DevicePointer to) {
    if (good()) cuda_.note(lt_->multiply(mine.product, a_, b_, to, workspace_, stream_));
  }

  void fill_factors(BurnPhase phase) {
    const std::uint64_t bytes = ready(phase).product.factor_bytes();
    kernels_->fill(a_, bytes, factor_words(phase, 1));
    kernels_->fill(b_, bytes, factor_words(phase, 2));
  }

  void enter_product(BurnPhase phase) {
    ReadyProduct& mine = ready(phase);
    fill_factors(phase);
    if (!mine.made) make_reference(mine);
    const double once = timed_group(mine, 0);
    groups_ = once > 0 ? std::clamp(static_cast<int>(kChunkSeconds / once), 1, kMostGroups) : 1;
  }

  void make_reference(ReadyProduct& mine) {
    const std::uint64_t bytes = mine.product.result_bytes();
    queue_product(mine, mine.reference);
    queue_product(mine, results_[0]);
    kernels_->compare(results_[0], mine.reference, bytes, mine.product.result_width());
    const BurnDifference difference = kernels_->read();
    if (difference.elements != 0) fault(mine.product.phase, "reference", difference, false);
    mine.digest = kernels_->digest(mine.reference, bytes);
    mine.made = good();
    watch_->change(
        [&](BurnGpu&) { watch_->tally(mine.product.phase).digest = fmt::format("{:016x}", mine.digest); });
  }

  // Queues one group of products between its events.
  void queue_group(const ReadyProduct& mine, int group) {
    const auto& events = events_[static_cast<std::size_t>(group)];
    cuda_.quick("cuEventRecord", events.begin, stream_);
    for (const cuda::DevicePointer result : results_) queue_product(mine, result);
    cuda_.quick("cuEventRecord", events.end, stream_);
  }
  double seconds_of(int group) {
    const auto& events = events_[static_cast<std::size_t>(group)];
    float milliseconds = 0;
    cuda_.quick("cuEventElapsedTime", &milliseconds, events.begin, events.end);
    return milliseconds / 1e3;
  }
  double timed_group(const ReadyProduct& mine, int group) {
    queue_group(mine, group);
    cuda_.quick("cuStreamSynchronize", stream_);
    return seconds_of(group);
  }

  void multiply(ReadyProduct& mine, double& seconds, double& work) {
    const LtProduct& product = mine.product;
    bool flipped = false;
    for (int group = 0; group < groups_ && good(); ++group) {
      queue_group(mine, group);
      flipped |= flip_if_due(results_[kResults / 2], product.result_bytes());
      for (const cuda::DevicePointer result : results_)
        kernels_->compare(result, mine.reference, product.result_bytes(), product.result_width());
    }
    const BurnDifference difference = kernels_->read();
    for (int group = 0; group < groups_ && good(); ++group) seconds += seconds_of(group);
    const auto products = static_cast<std::uint64_t>(groups_) * kResults;
    work = static_cast<double>(products) * product.operations();
    watch_->change(
        [&](BurnGpu&) { watch_->tally(product.phase).compared += products * product.side * product.side; });
    if (difference.elements != 0) explain(mine, difference, flipped);
  }

  // Records the cause of a difference, and restores factors and reference.
  void explain(ReadyProduct& mine, const BurnDifference& difference, bool flipped) {
    const LtProduct& product = mine.product;
    kernels_->check(a_, product.factor_bytes(), factor_words(product.phase, 1));
    kernels_->check(b_, product.factor_bytes(), factor_words(product.phase, 2));
    const bool factors = kernels_->read().elements != 0;
    const bool reference = kernels_->digest(mine.reference, product.result_bytes()) != mine.digest;
    fault(product.phase, factors ? "factors" : reference ? "reference" : "result", difference, flipped);
    if (factors) fill_factors(product.phase);
    if (factors || reference) {
      queue_product(mine, mine.reference);
      cuda_.quick("cuStreamSynchronize", stream_);
    }
  }

  // Flips a bit of the buffer if a drill is due. Returns whether it did.
  bool flip_if_due(cuda::DevicePointer buffer, std::uint64_t bytes) {
    if (!good() || !take_due(flips_, watch_->at())) return false;
    kernels_->flip(buffer, bytes);
    return true;
  }

  void pass_memory(double& seconds, double& work) {
    const BurnWords words = burn_pattern(passes_++);
    cuda_.quick("cuEventRecord", events_[0].begin, stream_);
    kernels_->fill(memory_, memory_bytes_, words);
    cuda_.quick("cuEventRecord", events_[0].end, stream_);
    const bool flipped = flip_if_due(memory_, memory_bytes_);
    cuda_.quick("cuEventRecord", events_[1].begin, stream_);
    kernels_->check(memory_, memory_bytes_, words);
    cuda_.quick("cuEventRecord", events_[1].end, stream_);
    compared_memory("memory", flipped);
    seconds = seconds_of(0) + seconds_of(1);
    work = 2 * static_cast<double>(memory_bytes_);
  }

  void compared_memory(const char* what, bool flipped) {
    const BurnDifference difference = kernels_->read();
    watch_->change([&](BurnGpu&) {
      watch_->tally(BurnPhase::kMemory).compared += memory_bytes_ / sizeof(std::uint64_t);
    });
    if (difference.elements != 0) fault(BurnPhase::kMemory, what, difference, flipped);
  }

  void keep_memory() {
    kept_ = BurnWords{0x5eed + passes_};
    kernels_->fill(memory_, memory_bytes_, *kept_);
  }
  void check_kept() {
    if (!kept_) return;
    kernels_->check(memory_, memory_bytes_, *kept_);
    compared_memory("memory kept", false);
  }

  // Copies both ways at the same time. What goes to the host in one round comes back in the next, and is compared on
  // the GPU.
  void copy(double& seconds, double& work) {
    const cuda::DevicePointer source = results_[0];
    const cuda::DevicePointer target = results_[1];
    const BurnWords words{0xc0b1 + copies_++};
    kernels_->fill(source, copy_bytes_, words);
    cuda_.quick("cuMemcpyDtoHAsync_v2", host_[0], source, std::size_t{copy_bytes_}, stream_);
    cuda_.quick("cuStreamSynchronize", stream_);
    const std::uint64_t begin = now_ns();
    for (int i = 0; i < kCopiesEach; ++i) {
      void* const in = host_[static_cast<std::size_t>(i) % 2];
      void* const out = host_[static_cast<std::size_t>(i + 1) % 2];
      cuda_.quick("cuMemcpyDtoHAsync_v2", out, source, std::size_t{copy_bytes_}, back_);
      cuda_.quick("cuMemcpyHtoDAsync_v2", target, static_cast<const void*>(in), std::size_t{copy_bytes_},
                  stream_);
      cuda_.quick("cuStreamSynchronize", back_);
      cuda_.quick("cuStreamSynchronize", stream_);
    }
    seconds = static_cast<double>(now_ns() - begin) / 1e9;
    work = 2.0 * kCopiesEach * static_cast<double>(copy_bytes_);
    const bool flipped = flip_if_due(target, copy_bytes_);
    kernels_->check(target, copy_bytes_, words);
    const BurnDifference difference = kernels_->read();
    watch_->change(
        [&](BurnGpu&) { watch_->tally(BurnPhase::kPcie).compared += copy_bytes_ / sizeof(std::uint64_t); });
    if (difference.elements != 0) fault(BurnPhase::kPcie, "copy", difference, flipped);
  }

  void fault(BurnPhase phase, const char* of, const BurnDifference& difference, bool flipped) {
    if (!good()) return;
    BurnFault found = fault_of(phase, of, watch_->at(), difference, flipped);
    found.temperature = watch_->temperature();
    watch_->change([&](BurnGpu& gpu) {
      ++gpu.fault_count;
      watch_->tally(phase).wrong += difference.elements;
      if (gpu.faults.size() < kMostFaults) gpu.faults.push_back(std::move(found));
    });
    send();
  }

  // Pauses until the energy that was used allows the next chunk. Unused energy is kept for a second at most, so the
  // mean over any longer time is below the limit.
  void keep_below_watts(BurnPhase phase) {
    if (plan_.watts <= 0) return;
    const double begin = watch_->at();
    while (good() && !may_go_on() && watch_->at() - begin < kLongestPause) {
      step(phase);
      rest(kPauseStep);
    }
    const double paused = watch_->at() - begin;
    // A GPU that takes more than the limit when idle never earns credit, so each pause begins with none.
    if (paused >= kLongestPause) credit_ = 0;
    watch_->change([&](BurnGpu& gpu) { gpu.paused += paused; });
  }
  bool may_go_on() {
    const double now = watch_->at();
    const double seconds = now - metered_.value_or(now);
    metered_ = now;
    credit_ = std::min(credit_ + plan_.watts * seconds - joules_since(seconds), plan_.watts);
    return credit_ >= 0;
  }
  // Uses the GPU's own meter, or the samples for a GPU before Volta, which has no meter.
  double joules_since(double seconds) {
    const auto total = watch_->joules();
    if (!total) return watch_->watts().value_or(plan_.watts) * seconds;
    const double used = *total - joules_.value_or(*total);
    joules_ = total;
    return used;
  }

  const BurnPlan& plan_;
  const BurnChild& child_;
  const NvidiaLibraries& from_;
  const Tell& tell_;
  std::shared_ptr<BurnWatch> watch_;
  cuda::Cuda cuda_;
  std::optional<BurnKernels> kernels_;
  std::optional<CublasLtLibrary> lt_;
  cuda::Stream stream_ = nullptr;
  cuda::Stream back_ = nullptr;
  struct Events {
    cuda::Event begin = nullptr;
    cuda::Event end = nullptr;
  };
  std::array<Events, kMostGroups> events_;
  std::array<ReadyProduct, kBurnPhases> ready_;
  std::array<BurnRates, kBurnPhases> rates_;
  std::uint64_t factor_bytes_ = 0;
  std::uint64_t result_bytes_ = 0;
  cuda::DevicePointer a_ = 0;
  cuda::DevicePointer b_ = 0;
  std::array<cuda::DevicePointer, kResults> results_{};
  cuda::DevicePointer workspace_ = 0;
  cuda::DevicePointer memory_ = 0;
  std::uint64_t memory_bytes_ = 0;
  std::optional<BurnWords> kept_;  // content of the memory since the last memory phase
  std::uint64_t passes_ = 0;
  std::array<void*, 2> host_{};
  std::uint64_t copy_bytes_ = 0;
  std::uint64_t copies_ = 0;
  int groups_ = 1;
  double slow_ = 0;            // share of the time without work, by a drill
  std::vector<double> flips_;  // moments of drills, in order
  double sent_ = 0;
  double credit_ = 0;  // joules
  std::optional<double> metered_;
  std::optional<double> joules_;
};

}  // namespace

void run_burn_gpu(const BurnPlan& plan, const BurnChild& child, const NvidiaLibraries& from,
                  const Tell& tell) {
  BurnGpu gpu;
  gpu.ordinal = child.gpu.ordinal;
  gpu.address = child.gpu.address;
  gpu.name = child.gpu.name;
  const auto watch = std::make_shared<BurnWatch>(std::move(gpu), child.begin, from);
  tell.about_to("starting NVML for GPU " + child.gpu.address);
  std::string why = watch->start();
  // The process ends soon, and NVML's thread may use its data until then.
  auto* const work = new BurnWork(plan, child, from, tell, watch);
  if (why.empty()) why = work->run();
  watch->finish();
  watch->enter(std::nullopt);
  watch->change([&](BurnGpu& state) {
    state.ended = why.empty();
    state.trouble = why;
  });
  work->send();
}

}  // namespace railbed
