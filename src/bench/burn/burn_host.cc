// Each CPU has a thread that stays on it. Turns of ten seconds at most alternate:
// * Products of small matrices, which stay in the first cache and use the widest vector units, and chains of integer
//   operations. Factors are whole numbers of 23 bits, so every sum is exact in a double, whatever the order and with or
//   without fused operations. The right results are computed by the compiler: a CPU that is wrong every time is found
//   even where it is the only one.
// * Patterns in the thread's part of the memory: written, then read and compared word by word. What a turn leaves
//   there is compared at the begin of the next one.
// Rates are by the CPU time of each thread, so that other work on the node does not make it look slow.
#include "bench/burn/burn_host.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/json.h"
#include "bench/burn/burn_kernels.h"
#include "bench/core/clock.h"
#include "bench/core/spare_memory.h"
#include "facts/collectors.h"
#include "host/memory_left.h"

namespace railbed {
namespace {

constexpr std::size_t kHostSide = 32;  // of the matrices: three of them fit a first cache of 32 KiB
constexpr std::size_t kHostElements = kHostSide * kHostSide;
constexpr int kProductsInABurst = 64;
constexpr double kOperationsOfAProduct = 2.0 * kHostSide * kHostSide * kHostSide;
constexpr double kLongestTurn = 10;            // seconds
constexpr double kHostNewsPeriod = 2;          // seconds
constexpr std::uint64_t kHostPiece = 4 << 20;  // bytes of memory between two looks at the clock
constexpr std::uint64_t kPartGrain = 2 << 20;  // memory is taken in multiples of it
constexpr double kShortOfMemory =
    0.25;  // of what was available before this took its part: then it gives that back

// ---- what is computed

using Matrix = std::array<double, kHostElements>;
struct alignas(64) Factors {
  Matrix a{}, b{};
};

constexpr std::int64_t whole_number(std::uint64_t seed, std::size_t i) {
  constexpr std::uint64_t kBits = (1U << 23) - 1;
  const std::uint64_t word = burn_word({.seed = seed}, i);
  const auto size = static_cast<std::int64_t>((word & kBits) | 1U);
  return (word >> 63) != 0 ? -size : size;
}

constexpr Factors factors() {
  Factors made;
  for (std::size_t i = 0; i < kHostElements; ++i) {
    made.a[i] = static_cast<double>(whole_number(0xa, i));
    made.b[i] = static_cast<double>(whole_number(0xb, i));
  }
  return made;
}

// Computes with integers, where the CPUs compute with doubles.
constexpr Matrix exact_product() {
  Matrix product{};
  for (std::size_t row = 0; row < kHostSide; ++row)
    for (std::size_t column = 0; column < kHostSide; ++column) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < kHostSide; ++k)
        sum += whole_number(0xa, row * kHostSide + k) * whole_number(0xb, k * kHostSide + column);
      product[row * kHostSide + column] = static_cast<double>(sum);
    }
  return product;
}

constexpr Factors kFactors = factors();
alignas(64) constexpr Matrix kProduct = exact_product();

constexpr std::uint64_t kChainSeed = 0x243F6A8885A308D3U;
constexpr int kChainSteps = 2048;
constexpr std::uint64_t chain(std::uint64_t x) {
  for (int i = 0; i < kChainSteps; ++i) {
    x ^= std::rotl(x, 25);
    x = x * 0xD1342543DE82EF95U + static_cast<std::uint64_t>(std::popcount(x));
    x ^= (x / 0x1FFFFFU) + (x >> 29);
  }
  return x;
}
constexpr std::uint64_t kRightChain = chain(kChainSeed);

using Lanes = double __attribute__((vector_size(64)));
constexpr std::size_t kLanes = sizeof(Lanes) / sizeof(double);
constexpr std::size_t kBlockRows =
    4;  // of a block of the product, by two Lanes of columns: its sums stay in registers

[[gnu::always_inline]] inline void multiply_with(const double* a, const double* b, double* c) {
  for (std::size_t row = 0; row < kHostSide; row += kBlockRows)
    for (std::size_t column = 0; column < kHostSide; column += 2 * kLanes) {
      Lanes left[kBlockRows] = {};
      Lanes right[kBlockRows] = {};
      for (std::size_t k = 0; k < kHostSide; ++k) {
        Lanes b_left, b_right;
        std::memcpy(&b_left, b + k * kHostSide + column, sizeof(Lanes));
        std::memcpy(&b_right, b + k * kHostSide + column + kLanes, sizeof(Lanes));
        for (std::size_t i = 0; i < kBlockRows; ++i) {
          const double factor = a[(row + i) * kHostSide + k];
          left[i] += factor * b_left;
          right[i] += factor * b_right;
        }
      }
      for (std::size_t i = 0; i < kBlockRows; ++i) {
        std::memcpy(c + (row + i) * kHostSide + column, &left[i], sizeof(Lanes));
        std::memcpy(c + (row + i) * kHostSide + column + kLanes, &right[i], sizeof(Lanes));
      }
    }
}

struct Units {
  const char* name;
  void (*multiply)(const double* a, const double* b, double* c);
};

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void multiply_avx512(const double* a, const double* b, double* c) {
  multiply_with(a, b, c);
}
[[gnu::target("avx2,fma")]] void multiply_avx2(const double* a, const double* b, double* c) {
  multiply_with(a, b, c);
}
void multiply_sse2(const double* a, const double* b, double* c) { multiply_with(a, b, c); }

Units widest_units() {
  if (__builtin_cpu_supports("avx512f")) return {"AVX-512", multiply_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {"AVX2", multiply_avx2};
  return {"SSE2", multiply_sse2};
}
#else
void multiply_neon(const double* a, const double* b, double* c) { multiply_with(a, b, c); }
Units widest_units() { return {"NEON", multiply_neon}; }
#endif

// ---- what differs

struct Mismatch {
  std::uint64_t elements = 0;
  std::uint64_t first = 0;
  std::uint64_t bits = 0;

  void add(std::uint64_t index, std::uint64_t differing) {
    if (elements++ == 0) first = index;
    bits |= differing;
  }
};

Mismatch compare(const Matrix& got) {
  Mismatch difference;
  if (std::memcmp(got.data(), kProduct.data(), sizeof got) == 0) return difference;
  for (std::size_t i = 0; i < kHostElements; ++i)
    if (const auto bits = std::bit_cast<std::uint64_t>(got[i]) ^ std::bit_cast<std::uint64_t>(kProduct[i]);
        bits != 0)
      difference.add(i, bits);
  return difference;
}

// ---- the threads

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Memory of one thread; empty if it could not be had.
class Part {
 public:
  explicit Part(std::uint64_t bytes) {
    bytes = bytes / kPartGrain * kPartGrain;
    if (bytes == 0) return;
    void* const at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return;
    madvise(at, bytes, MADV_HUGEPAGE);
    words_ = {static_cast<std::uint64_t*>(at), bytes / sizeof(std::uint64_t)};
  }
  ~Part() { give_back(); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  void give_back() {
    if (!words_.empty()) munmap(words_.data(), words_.size_bytes());
    words_ = {};
  }
  std::span<std::uint64_t> words() const { return words_; }

 private:
  std::span<std::uint64_t> words_;
};

struct Shared {
  const BurnPlan& plan;
  std::uint64_t begin;
  Units units;
  std::atomic<bool> short_of_memory{false};
  std::mutex mutex;
  BurnHost state;  // by `mutex`, as all that follows

  double at() const { return static_cast<double>(now_ns() - begin) * 1e-9; }
};

class CpuThread {
 public:
  CpuThread(Shared& shared, int cpu, std::uint64_t bytes)
      : shared_(shared),
        cpu_(cpu),
        bytes_(bytes),
        wrong_products_(drill_moments(shared.plan, BurnInjection::kWrongCpu, cpu)),
        wrong_words_(drill_moments(shared.plan, BurnInjection::kWrongHostMemory, cpu)) {}

  void run() {
    stay_here();
    // The first writes are made by this thread, so the memory is that of its own NUMA node.
    part_ = std::make_unique<Part>(bytes_);
    tested_ = part_->words().size_bytes();
    const double turn = std::min(kLongestTurn, shared_.plan.seconds / 4);
    while (shared_.at() < shared_.plan.seconds) {
      const auto number = static_cast<std::uint64_t>(shared_.at() / turn);
      const double ends = std::min(static_cast<double>(number + 1) * turn, shared_.plan.seconds);
      if (number % 2 == 0 || part_->words().empty())
        multiply_until(ends);
      else
        try_memory_until(ends);
    }
  }
  double products() const { return products_.median(); }
  double memory_rate() const { return memory_rates_.median(); }
  std::uint64_t tested() const { return tested_; }  // bytes of memory

 private:
  void stay_here() const {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu_), &set);
    sched_setaffinity(0, sizeof set, &set);
  }

  void count(std::string_view of, std::uint64_t compared, const Mismatch& difference, bool injected) {
    const std::lock_guard lock(shared_.mutex);
    BurnHost& state = shared_.state;
    state.compared += compared;
    if (difference.elements == 0) return;
    if (++state.fault_count > kMostFaults) return;
    state.faults.push_back({cpu_, shared_.at(), std::string(of), difference.elements, difference.first,
                            fmt::format("{:016x}", difference.bits), injected});
  }

  void multiply_until(double ends) {
    alignas(64) Matrix product;
    while (shared_.at() < ends) {
      const double started = thread_seconds();
      for (int i = 0; i < kProductsInABurst; ++i) {
        shared_.units.multiply(kFactors.a.data(), kFactors.b.data(), product.data());
        const bool flipped = take_due(wrong_products_, shared_.at());
        if (flipped)
          product[kHostElements / 2] =
              std::bit_cast<double>(std::bit_cast<std::uint64_t>(product[kHostElements / 2]) ^ kDrillBit);
        if (const Mismatch difference = compare(product); difference.elements != 0)
          count("product", 0, difference, flipped);
      }
      const double seconds = thread_seconds() - started;
      std::uint64_t seed = kChainSeed;
      asm volatile("" : "+r"(seed));  // the compiler must not know it
      Mismatch difference;
      if (const std::uint64_t got = chain(seed); got != kRightChain) difference.add(0, got ^ kRightChain);
      count("integers", kProductsInABurst * kHostElements + 1, difference, false);
      rate(products_, kProductsInABurst * kOperationsOfAProduct, seconds);
    }
  }

  void rate(BurnRates& rates, double work, double seconds) {
    if (seconds <= 0) return;
    const std::lock_guard lock(shared_.mutex);
    rates.add(work / seconds);
  }

  // Writes or compares all words, piece by piece. Returns the bytes that it came to before `ends`.
  template <class Do>
  std::uint64_t each_piece(double ends, Do action) {
    const std::span<std::uint64_t> words = part_->words();
    constexpr std::size_t kWords = kHostPiece / sizeof(std::uint64_t);
    for (std::size_t from = 0; from < words.size(); from += kWords) {
      if (shared_.at() >= ends || shared_.short_of_memory) return from * sizeof(std::uint64_t);
      action(words.subspan(from, std::min(kWords, words.size() - from)), from);
    }
    return words.size_bytes();
  }

  std::uint64_t fill(const BurnWords& pattern, double ends) {
    return each_piece(ends, [&](std::span<std::uint64_t> piece, std::size_t from) {
      for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = burn_word(pattern, from + i);
    });
  }

  // Compares the first `bytes`.
  std::uint64_t check(const BurnWords& pattern, std::uint64_t bytes, double ends, std::string_view of,
                      bool flipped) {
    Mismatch difference;
    const std::size_t words = bytes / sizeof(std::uint64_t);
    const std::uint64_t checked =
        each_piece(ends, [&](std::span<const std::uint64_t> piece, std::size_t from) {
          for (std::size_t i = 0; i < piece.size() && from + i < words; ++i)
            if (const std::uint64_t bits = piece[i] ^ burn_word(pattern, from + i); bits != 0) [[unlikely]]
              difference.add(from + i, bits);
        });
    count(of, std::min(checked, bytes) / sizeof(std::uint64_t), difference, flipped);
    return std::min(checked, bytes);
  }

  void try_memory_until(double ends) {
    if (kept_bytes_ > 0) check(kept_, kept_bytes_, ends, "memory kept", false);
    while (shared_.at() < ends && !shared_.short_of_memory) {
      const double started = thread_seconds();
      const BurnWords pattern = burn_pattern(passes_++);
      const std::uint64_t written = fill(pattern, ends);
      const bool flipped = written > 0 && take_due(wrong_words_, shared_.at());
      if (flipped) part_->words()[written / sizeof(std::uint64_t) / 2] ^= kDrillBit;
      // All that was written is read, even after the end of the turn: then the next turn begins later.
      const std::uint64_t read = check(pattern, written, shared_.plan.seconds, "memory", flipped);
      rate(memory_rates_, static_cast<double>(written + read), thread_seconds() - started);
      kept_ = pattern;
      kept_bytes_ = written;
    }
    if (!shared_.short_of_memory) return;
    part_->give_back();
    const std::lock_guard lock(shared_.mutex);
    shared_.state.gave_back = true;
  }

  Shared& shared_;
  const int cpu_;
  const std::uint64_t bytes_;
  std::unique_ptr<Part> part_;
  std::atomic<std::uint64_t> tested_{0};
  BurnRates products_, memory_rates_;  // by the mutex
  std::vector<double> wrong_products_, wrong_words_;
  std::uint64_t passes_ = 0;
  BurnWords kept_;  // content of the first `kept_bytes_` of the memory
  std::uint64_t kept_bytes_ = 0;
};

// ---- what the kernel counts

struct KernelCounts {
  std::optional<std::uint64_t> uncorrectable, corrected, throttled;

  static KernelCounts of(Host& host) {
    const auto known = [](const Reading<std::uint64_t>& reading) {
      return reading ? std::optional(*reading) : std::nullopt;
    };
    return {known(edac_sum(host, "ue_count")), known(edac_sum(host, "ce_count")),
            known(core_throttle_count(host))};
  }
};

std::optional<std::uint64_t> increase(const std::optional<std::uint64_t>& from,
                                      const std::optional<std::uint64_t>& to) {
  if (!from || !to) return std::nullopt;
  return *to > *from ? *to - *from : 0;
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) cpus.push_back(cpu);
  return cpus;
}

}  // namespace

void run_burn_host(const BurnPlan& plan, Host& host, std::uint64_t begin, const Tell& tell) {
  Shared shared{plan, begin, widest_units(), {}, {}, {}};
  BurnHost& state = shared.state;
  const std::vector<int> cpus = usable_cpus();
  state.processor = collect_cpu(host).model.value_or("");
  state.units = shared.units.name;
  state.cpus = static_cast<int>(cpus.size());
  if (cpus.empty()) {
    state.trouble = "the CPUs that this process may use cannot be read";
    tell.result(json::dump(json::encode(state)));
    return;
  }
  const MemoryLeft left = memory_left(host);
  const std::uint64_t spare = spare_memory(left, MemoryUse::kHost).bytes;
  const std::uint64_t bytes = plan.host_memory == 0 ? spare : std::min(plan.host_memory, spare);
  const KernelCounts before = KernelCounts::of(host);
  std::vector<std::unique_ptr<CpuThread>> work;
  for (const int cpu : cpus) work.push_back(std::make_unique<CpuThread>(shared, cpu, bytes / cpus.size()));
  std::vector<std::jthread> threads;
  for (const auto& one : work) threads.emplace_back([&one] { one->run(); });

  const auto send = [&](bool ended) {
    const KernelCounts now = KernelCounts::of(host);
    const std::lock_guard lock(shared.mutex);
    state.began = true;
    state.ended = ended;
    state.seconds = shared.at();
    state.products = state.memory_rate = 0;
    std::uint64_t tested = 0;
    for (const auto& one : work) {
      state.products += one->products();
      state.memory_rate += one->memory_rate();
      tested += one->tested();
    }
    state.memory = tested;
    state.ecc_uncorrectable = increase(before.uncorrectable, now.uncorrectable);
    state.ecc_corrected = increase(before.corrected, now.corrected);
    state.throttled = increase(before.throttled, now.throttled);
    tell.result(json::dump(json::encode(state)));
  };
  while (shared.at() < plan.seconds) {
    std::this_thread::sleep_for(
        std::chrono::duration<double>(std::min(kHostNewsPeriod, plan.seconds - shared.at()) + 0.001));
    const auto available = memory_left(host).host;
    if (available && left.host && bytes > 0 &&
        static_cast<double>(*available) <
            kShortOfMemory * static_cast<double>(*left.host - std::min(*left.host, bytes)))
      shared.short_of_memory = true;
    send(false);
  }
  threads.clear();
  send(true);
}

}  // namespace railbed
