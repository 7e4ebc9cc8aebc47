// Reads lines that confirm or refute causes of what NCCL and nccl-tests print.
#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "base/phrases.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

constexpr std::size_t kLongestSight = 200;
constexpr std::size_t kMostHosts = 4096;
constexpr std::size_t kMostOnOneHost = 1024;

// Returns whether the line names a slice: "NVIDIA H100 80GB HBM3 MIG 3g.40gb", "MIG-5c3f…" as a UUID. nvidia-smi's
// heading "MIG M." is none.
bool names_slice(std::string_view line) {
  for (std::size_t at = line.find("MIG"); at != std::string_view::npos; at = line.find("MIG", at + 3)) {
    const std::string_view rest = line.substr(at + 3);
    if (rest.size() < 3) return false;
    if (rest[0] == '-' && (rest.starts_with("-GPU-") || std::isxdigit(static_cast<unsigned char>(rest[1]))))
      return true;
    if (rest[0] == ' ' && is_digit(rest[1]) && (rest[2] == 'g' || rest[2] == 'c')) return true;
  }
  return false;
}

// A limit of locked memory as programs print it: `ulimit -a` and /proc/PID/limits ("max locked memory … unlimited"),
// "memlock unlimited", docker's "--ulimit memlock=-1", libibverbs' "RLIMIT_MEMLOCK is 65536 bytes".
enum class Memlock { kNone, kUnlimited, kLimited };

Memlock memlock_in(std::string_view line) {
  const std::string small = lower(line);
  for (const std::string_view name : {"max locked memory", "rlimit_memlock", "memlock"}) {
    Scan scan(small);
    if (!scan.skip_past(name)) continue;
    std::string_view value = scan.rest();
    if (const auto close = value.find("-l)"); close != std::string_view::npos) value.remove_prefix(close + 3);
    value.remove_prefix(std::min(value.find_first_not_of(" \t:=(\"'"), value.size()));
    for (const std::string_view verb : {"is ", "set to "})
      if (value.starts_with(verb)) value.remove_prefix(verb.size());
    if (value.starts_with("unlimited") || value.starts_with("-1") || value.starts_with("infinity"))
      return Memlock::kUnlimited;
    return !value.empty() && is_digit(value.front()) ? Memlock::kLimited : Memlock::kNone;
  }
  return Memlock::kNone;
}

// Returns whether the line gives advice rather than a fact: "please set memlock unlimited".
bool advises(std::string_view line) {
  const std::string small = lower(line);
  return std::ranges::any_of(
      std::array{"please", "should", "try ", "increase", "raise ", "consider", "recommend"},
      [&](const char* word) { return small.find(word) != std::string::npos; });
}

// "eth0             UP             10.0.0.1/24", as `ip -brief address` and `ip -brief link` print it.
void read_interface(LogState& state, std::string_view line) {
  constexpr std::size_t kMost = 4096;
  const auto columns = words(line.substr(0, 256));
  if (columns.size() < 2 || state.interfaces_listed.size() >= kMost) return;
  const std::string_view name = columns[0].substr(0, columns[0].find('@'));
  const bool up = columns[1] == "UP" || (columns[1] == "UNKNOWN" && columns.size() > 2);
  const bool listed = up || columns[1] == "DOWN" || columns[1] == "UNKNOWN";
  constexpr std::size_t kLongestName = 15;  // IFNAMSIZ
  if (listed && !name.empty() && name.size() <= kLongestName)
    state.interfaces_listed[std::string(name)] |= up;
}

// "(WorkerDict pid=211530) CUDA_VISIBLE_DEVICES=5"
void read_sole_gpu(LogState& state, std::string_view line) {
  constexpr std::size_t kMost = 1024;
  const auto process = number_after(line, "pid=");
  const std::string_view value = trim(word_after(line, "CUDA_VISIBLE_DEVICES="));
  if (!process || !parse_number<int>(value)) return;
  if (state.sole_gpu.size() >= kMost && !state.sole_gpu.contains(std::string(value))) return;
  if (auto& known = state.sole_gpu[std::string(value)]; known.size() < kMost) known.insert(*process);
}

// "shm              64M   64M     0 100% /dev/shm", as df -h prints it: the second column is the size.
void read_shm(LogState& state, std::string_view line) {
  const auto columns = words(line.substr(0, 256));
  if (columns.size() < 6 || columns.back() != "/dev/shm" || !columns[4].ends_with('%')) return;
  const std::string_view size = columns[1];
  const auto number = parse_real(size.substr(0, size.find_first_of("KMGTPi")));
  if (!number) return;
  const bool gibibytes = size.find_first_of("GTP") != std::string_view::npos;
  const bool mebibytes = size.find('M') != std::string_view::npos;
  constexpr double kSmall = 512;  // MiB; NCCL takes some 33 MiB for each pair of ranks
  const bool large = gibibytes || (mebibytes && *number > kSmall);
  if (gibibytes || mebibytes) state.keep_sight(large ? state.shm_large : state.shm_small, line);
}

// "        8             2     float     sum      -1    13.65    0.00    0.00      0 …": sizes, times, rates, errors
bool is_result_of_tests(std::string_view line) {
  constexpr int kNumbers = 7;
  const auto columns = words(line.substr(0, 512));
  return std::ranges::count_if(columns, [](std::string_view word) { return parse_real(word).has_value(); }) >=
         kNumbers;
}

// "active_mtu:             4096 (5)", as ibv_devinfo prints it.
void read_active_mtu(LogState& state, std::string_view line) {
  constexpr std::size_t kMost = 4096;
  const auto columns = words(line.substr(0, 256));
  const auto mtu = columns.size() > 1 ? parse_number<int>(columns[1]) : std::nullopt;
  if (!mtu || columns[0] != "active_mtu:") return;
  if (state.active_mtus.size() >= kMost && !state.active_mtus.contains(state.file)) return;
  if (auto& known = state.active_mtus[state.file]; known.size() < kMost) known.insert(*mtu);
}

}  // namespace

void LogState::keep_sight(LogSight& sight, std::string_view text) const {
  if (sight.line == 0)
    sight = {file, log.lines - lines_before, std::string(trim(text).substr(0, kLongestSight))};
}

void LogState::read_sights(std::string_view line) {
  static const Phrases worth({" UP ", " DOWN ", " UNKNOWN ",
                              "CUDA_VISIBLE_DEVICES=", "active_mtu:", "] NVIDIA ", ": NVIDIA ", "MIG", "lock",
                              "LOCK", " nGpus ", ": Test failure ", " /dev/shm", "(elements)"});
  if (awaits_result && is_result_of_tests(line)) awaits_result = false;
  if (!worth.any_in(line)) return;
  const auto has = [&](std::string_view words) { return line.find(words) != std::string_view::npos; };
  if (has("(elements)") && has("(us)")) awaits_result = true;
  if (has(" UP ") || has(" DOWN ") || has(" UNKNOWN ")) read_interface(*this, line);
  if (has("CUDA_VISIBLE_DEVICES=") && has("pid=")) read_sole_gpu(*this, line);
  if (has("active_mtu:")) read_active_mtu(*this, line);
  if (has("% /dev/shm")) read_shm(*this, line);
  // "drwxr-xr-x 2 root root 40 Nov  3 10:12 /dev/shm", of ls -ld
  if (has(" /dev/shm") && line.starts_with('d') && trim(line).ends_with(" /dev/shm"))
    keep_sight(shm_mode, line);
  // "#  Rank  0 Group  0 Pid 4 on node1 device  0 [0x01] NVIDIA GB200", of nccl-tests and of nvidia-smi -L
  if ((has(" device ") && has("] NVIDIA ")) || has(": NVIDIA ")) keep_sight(gpu_model, line);
  if (has("MIG") && names_slice(line)) keep_sight(mig, line);
  if ((has("lock") || has("LOCK")) && !advises(line)) {
    const Memlock limit = memlock_in(line);
    if (limit == Memlock::kUnlimited) keep_sight(memlock_unlimited, line);
    if (limit == Memlock::kLimited) keep_sight(memlock_limited, line);
  }
  // "# nThread 1 nGpus 8 minBytes …", then of each process that fails " .. g0010 pid 8386: Test failure common.cu:891".
  if (const auto gpus = number_after(line, " nGpus "); gpus && has("nThread ")) {
    const int threads = number_after(line, "nThread ").value_or(1);
    tests_gpus = std::clamp(*gpus, 0, 1024) * std::clamp(threads, 0, 1024);
    keep_sight(tests_shape, line);
  }
  if (!has(": Test failure ")) return;
  Scan scan(line);
  if (!scan.skip_past(".. ")) return;
  const std::string host(scan.until(" "));
  const auto process = number_after(scan.rest(), "pid ");
  if (!process || (tests_failed.size() >= kMostHosts && !tests_failed.contains(host))) return;
  if (auto& known = tests_failed[host]; known.size() < kMostOnOneHost) known.insert(*process);
}

}  // namespace railbed::diagnose
