// Reads lines that confirm or refute causes of what PyTorch prints: ports, processes, exits, channels.
#include <algorithm>

#include "base/phrases.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

constexpr std::size_t kMostListeners = 4096;
constexpr std::size_t kLongestInterfaceLine = 512;
constexpr std::size_t kMostLocalRanks = 1024;
constexpr std::size_t kMostExits = 1024;
constexpr std::size_t kMostGradientRanks = 256;
constexpr std::size_t kLongestGradientList = 4096;

// Returns the local port of a listener in a line of ss, netstat or lsof.
std::optional<int> listening_port(std::string_view line) {
  if (line.find("LISTEN") == std::string_view::npos) return std::nullopt;
  for (const std::string_view word : railbed::words(line)) {
    const auto colon = word.rfind(':');
    if (colon == std::string_view::npos) continue;
    const auto port = parse_number<int>(word.substr(colon + 1));
    if (port && *port > 0 && *port < 65536) return port;
  }
  return std::nullopt;
}

// Reads the table of `ps -o pid,ppid,…`.
void read_processes(TorchLines& kept, std::string_view line) {
  if (line.find("PID") != std::string_view::npos) {
    const auto head = railbed::words(line);
    kept.in_processes = head.size() >= 2 && head[0] == "PID" && head[1] == "PPID";
    return;
  }
  if (!kept.in_processes) return;
  const auto parts = railbed::words(line);
  const auto process = parts.size() >= 2 ? parse_number<int>(parts[0]) : std::nullopt;
  const auto parent = process ? parse_number<int>(parts[1]) : std::nullopt;
  kept.in_processes = parent.has_value();
  if (parent && kept.parents.size() < kMostListeners) kept.parents.try_emplace(*process, *parent);
}

}  // namespace

void LogState::read_torch_sights(std::string_view line) {
  static const Phrases worth({"is setting up NCCL communicator", "LISTEN", "NCCL INFO Channel ",
                              "NVRM: Xid (", "failed (exitcode: ", " UP", " DOWN", " UNKNOWN", "PID",
                              "arameter indices which"});
  if (!torch_lines.in_processes && !worth.any_in(line)) return;
  const auto has = [&](std::string_view words) { return line.find(words) != std::string_view::npos; };
  TorchLines& kept = torch_lines;
  if (kept.store_failed_at == 0 && has("is setting up NCCL communicator") && has("got error")) {
    kept.store_failed_at = log.lines;
    kept.store_failed_in = file;
  }
  if (const auto port = listening_port(line); port && kept.listeners.size() < kMostListeners)
    keep_sight(kept.listeners[*port], line);
  // "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC", of torch's own NCCL
  if (Scan channel(line); channel.skip_past("NCCL INFO Channel ") && channel.skip_past(" : ")) {
    const auto from = channel.number();
    const bool arrow = channel.skip_past("-> ");
    const auto to = arrow ? channel.number() : std::nullopt;
    if (channel.skip_past(" via NET/")) {
      keep_sight(kept.network, line);
    } else if (from && to && channel.skip_past(" via ")) {
      if (channel.rest().starts_with("P2P/")) keep_sight(kept.p2p, line);
      for (const int rank : {*from, *to})
        if (kept.local_ranks.size() < kMostLocalRanks) kept.local_ranks.insert(rank);
    }
  }
  if (const auto code = number_after(line, "failed (exitcode: ")) {
    const auto rank = number_after(line, "local_rank: ");
    if (rank && kept.exits.size() < kMostExits) kept.exits.try_emplace(*rank, *code);
  }
  // "ens5  UP  10.0.81.14/20 …" of `ip -brief address`
  if (line.size() < kLongestInterfaceLine && (has(" UP") || has(" DOWN") || has(" UNKNOWN"))) {
    const auto parts = railbed::words(line);
    const bool is_one =
        parts.size() >= 2 && (parts[1] == "UP" || parts[1] == "DOWN" || parts[1] == "UNKNOWN");
    const bool addressed = std::ranges::any_of(
        parts, [](std::string_view part) { return part.find('/') != std::string_view::npos; });
    if (is_one && kept.addressed.size() < kMostListeners)
      kept.addressed.emplace(parts[0].substr(0, parts[0].find('@')), addressed);
  }
  read_processes(kept, line);
  constexpr std::string_view kIndices = "arameter indices which did not receive grad for rank ";
  Scan scan(line);
  if (!scan.skip_past(kIndices)) return;
  const auto rank = scan.number();
  if (!rank || !scan.take(":") || kept.without_gradient.size() >= kMostGradientRanks) return;
  kept.without_gradient.try_emplace(*rank, trim(scan.rest()).substr(0, kLongestGradientList));
}

}  // namespace railbed::diagnose
