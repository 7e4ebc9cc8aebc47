#include "report/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "base/median.h"
#include "predict/against.h"
#include "results/all_rails.h"

namespace railbed {
namespace {

// Adds a run, or keeps the better of two with messages of the same size.
void add_best(std::vector<const Measurement*>& runs, const Measurement& run) {
  const auto at = std::lower_bound(
      runs.begin(), runs.end(), run.message_bytes,
      [](const Measurement* other, std::uint64_t size) { return other->message_bytes < size; });
  if (at == runs.end() || (*at)->message_bytes != run.message_bytes) {
    runs.insert(at, &run);
    return;
  }
  const bool is_better = run.metric == Metric::kBandwidth ? run.summary.median > (*at)->summary.median
                                                          : run.summary.median < (*at)->summary.median;
  if (is_better) *at = &run;
}

void add_ping(Path& path, const Measurement& run) {
  if (run.failure || run.summary.samples == 0) return;
  if (path.ping == nullptr || run.summary.median < path.ping->summary.median) path.ping = &run;
}

void add(Path& path, const Measurement& run) {
  if (run.engine == Engine::kPing) return add_ping(path, run);
  EngineRuns& runs = path.engines[place_of(run.engine)];
  if (run.failure) runs.failures.push_back(&run);
  if (run.summary.samples == 0) return;
  add_best(run.metric == Metric::kBandwidth ? runs.bandwidths : runs.latencies, run);
}

// "wire at MTU 2048" takes an article, "PCIe Gen3 x8" does not.
std::string with_article(const std::string& name) {
  const bool is_common = !name.empty() && std::islower(static_cast<unsigned char>(name.front())) != 0;
  return is_common ? "the " + name : name;
}

}  // namespace

std::string_view title(Engine engine) { return engine == Engine::kTcp ? "TCP" : "RDMA"; }

const Measurement* EngineRuns::fastest() const {
  const auto best = std::max_element(
      bandwidths.begin(), bandwidths.end(),
      [](const Measurement* a, const Measurement* b) { return a->summary.median < b->summary.median; });
  return best == bandwidths.end() ? nullptr : *best;
}

bool Path::has_failure() const {
  return std::any_of(engines.begin(), engines.end(),
                     [](const EngineRuns& runs) { return !runs.failures.empty(); });
}

std::vector<std::uint64_t> Path::bandwidth_sizes() const {
  std::set<std::uint64_t> sizes;
  for (const EngineRuns& runs : engines)
    for (const Measurement* run : runs.bandwidths) sizes.insert(run->message_bytes);
  return {sizes.begin(), sizes.end()};
}

const Measurement* of_size(const std::vector<const Measurement*>& runs, std::uint64_t size) {
  const auto found = std::find_if(runs.begin(), runs.end(),
                                  [&](const Measurement* run) { return run->message_bytes == size; });
  return found == runs.end() ? nullptr : *found;
}

void put_worst_first(std::vector<Path>& paths, std::size_t shown) {
  constexpr std::size_t kSome = 3;  // fewer paths have no usual rate
  constexpr int kOfARail = 2;
  std::array<double, kEngines.size()> usual{};
  for (std::size_t engine = 0; engine < kEngines.size(); ++engine) {
    std::vector<double> rates;
    for (const Path& path : paths)
      if (const Measurement* fastest = path.engines[engine].fastest())
        rates.push_back(fastest->summary.median);
    if (rates.size() >= kSome) usual[engine] = median_of(std::move(rates));
  }
  struct Ranked {
    bool first = false;  // among those that are shown for the sake of their rail
    double worth = 2;    // 2: neither share is known
    Path path;
  };
  std::vector<Ranked> ranked;
  for (Path& path : paths) {
    double worth = path.has_failure() ? -1 : 2;
    for (std::size_t engine = 0; engine < kEngines.size(); ++engine) {
      const Measurement* fastest = path.engines[engine].fastest();
      if (fastest == nullptr) continue;
      worth = std::min(worth, fraction_of_ceiling(*fastest).value_or(2));
      if (usual[engine] > 0) worth = std::min(worth, fastest->summary.median / usual[engine]);
    }
    ranked.push_back({false, worth, std::move(path)});
  }
  std::ranges::stable_sort(ranked, {}, &Ranked::worth);
  std::map<std::string, int> of_rail;
  for (Ranked& one : ranked)
    if (shown > 0 && ++of_rail[one.path.rail] <= kOfARail) {
      one.first = true;
      --shown;
    }
  std::ranges::stable_sort(ranked, std::greater<>(), &Ranked::first);
  paths.clear();
  for (Ranked& one : ranked) paths.push_back(std::move(one.path));
}

std::vector<Path> paths_of(const std::vector<Measurement>& measurements) {
  std::vector<Path> paths;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> index;
  for (const Measurement& run : measurements) {
    const bool is_ping = run.engine == Engine::kPing;
    if (is_ping && run.failure) continue;
    if (is_at_once(run) && !run.failure) continue;  // these have a table of their own
    // The other engines do not measure between two nodes.
    if (!is_ping && std::ranges::find(kEngines, run.engine) == kEngines.end()) continue;
    const auto [it, is_new] = index.emplace(std::tuple{run.rail, run.from.node, run.to.node}, paths.size());
    if (is_new) paths.push_back({run.rail, run.from.node, run.to.node, {}, nullptr});
    add(paths[it->second], run);
  }
  return paths;
}

std::optional<double> fraction_of_ceiling(const Measurement& measurement) {
  const Ceiling& ceiling = measurement.ceiling;
  if (ceiling.nominal || ceiling.limits.empty() || ceiling.limits.front().rate.bits_per_second <= 0)
    return std::nullopt;
  return measurement.summary.median / ceiling.limits.front().rate.bits_per_second;
}

std::string describe_ceiling(const Measurement& measurement) {
  const Ceiling& ceiling = measurement.ceiling;
  const std::string note = ceiling.note.empty() ? "" : " (" + ceiling.note + ")";
  if (ceiling.limits.empty()) return "no ceiling computed" + note;
  const Limit& limit = ceiling.limits.front();
  if (const auto fraction = fraction_of_ceiling(measurement))
    return fmt::format("{:.0f} % of {}, limited by {}", *fraction * 100, to_text(limit.rate),
                       with_article(limit.name));
  return fmt::format("ceiling nominal {}{}: shown, not judged", to_text(limit.rate), note);
}

std::string describe_floor(const Measurement& measurement) {
  std::string sum;
  for (const FloorPart& part : measurement.floor.parts)
    sum += fmt::format("{}{} {}", sum.empty() ? "" : " + ", part.name, to_text(part.time));
  return sum.empty() ? "" : fmt::format("floor {} ({})", to_text(measurement.floor.time()), sum);
}

std::string describe_failure(const Measurement& measurement) {
  const Failure& failure = *measurement.failure;
  return failure.stage.empty() ? failure.cause : failure.stage + ": " + failure.cause;
}

bool ToldRoots::is_told(const Measurement& failed) {
  const bool told = std::ranges::any_of(
      told_, [&](const Measurement* measurement) { return same_root(*measurement, failed); });
  if (!told && root_of(failed) != nullptr) told_.push_back(&failed);
  return told;
}

std::vector<std::string> remarks(const Measurement& measurement) {
  std::vector<std::string> said;
  if (const auto rail = check_rail(measurement); rail && rail->fit != ForecastFit::kFits)
    said.push_back(fmt::format("you should see about {}, you see {}", to_text(BitRate{rail->predicted}),
                               to_text(BitRate{rail->measured})));
  if (measurement.wrong_bytes > 0)
    said.push_back(
        fmt::format("{} of {} bytes arrived wrong", measurement.wrong_bytes, measurement.checked_bytes));
  if (measurement.lost > 0)
    said.push_back(fmt::format("{} of {} packets sent again", measurement.lost, measurement.packets));
  for (const auto& [name, delta] : measurement.counter_deltas)
    said.push_back(fmt::format("{} {:+}", name, delta));
  for (const Endpoint* end : {&measurement.from, &measurement.to})
    if (is_busy(*end)) said.push_back(busy_text(*end));
  for (const Endpoint* end : {&measurement.from, &measurement.to})
    if (auto traffic = traffic_text(measurement, *end); !traffic.empty()) said.push_back(std::move(traffic));
  return said;
}

std::string ping_text(const Measurement& ping) {
  return fmt::format("{}, half a round trip of {} (median of {})", to_text(Nanoseconds{ping.summary.median}),
                     to_text(ByteCount{ping.message_bytes}), ping.summary.samples);
}

const Measurement* smallest_latency(const EngineRuns& runs) {
  return runs.latencies.empty() ? nullptr : runs.latencies.front();
}

}  // namespace railbed
