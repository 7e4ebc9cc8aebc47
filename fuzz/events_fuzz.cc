// A monitor's state file and event log may hold anything by the time they are read: a state is taken or
// refused, and what is taken goes on watching and is written and read again unchanged; of a log each line is
// an event or is passed over, and what is an event is printed and told. What was seen over time goes on likewise.
//
// Rooms: monitor facts model verify
// Seeds: tests/sessions/events
#include <cstdint>
#include <utility>

#include "base/json.h"
#include "facts/facts.h"
#include "fuzz/require.h"
#include "model/watched.h"
#include "monitor/events/event_log.h"
#include "monitor/events/event_text.h"
#include "monitor/events/finding_watch.h"
#include "monitor/events/webhook.h"

using namespace railbed;

namespace {

std::string written(const FindingWatch& watch) { return json::dump(json::encode(watch.state())); }

Result<FindingWatch> watch_of(std::string_view text) {
  auto state = json::read<WatchState>(text);
  if (!state) return fail(state.error());
  const std::string node = state->node;
  return FindingWatch::go_on(node, std::move(*state));
}

void show(const std::vector<NodeEvent>& events) {
  require_printable(events_text(events));
  for (const NodeEvent& event : events) {
    const std::string line = event_line(event);
    require(line.find('\n') == line.size() - 1);
    for (const Alert& alert : alerts_of(event)) require(json::parse(webhook_body({alert}, "x")).has_value());
  }
}

void take_state(std::string_view text) {
  auto watch = watch_of(text);
  if (!watch) return require_printable(watch.error().text);
  const std::string once = written(*watch);
  const auto again = watch_of(once);
  require(again && written(*again) == once);
  Finding finding;
  finding.rule = "rdma.port-down";
  finding.subject = "mlx5_0/1";
  finding.status = Status::kFail;
  for (int i = 0; i < 4; ++i) {
    show(watch->look(i % 2 == 0 ? Findings{finding} : Findings{}, Facts{}, 1.8e9 + i * 60));
    show(watch->failed_look("nothing answers", 1.8e9 + i * 60 + 30));
  }
  show(watch->present(1.8e9));
  require(watch_of(written(*watch)).has_value());
}

void take_watched(std::string_view text) {
  auto watched = json::read<Watched>(text);
  if (!watched) return require_printable(watched.error().text);
  constexpr double kMinute = 60;
  const double when = watched->work.when;
  for (int minute = 1; minute < 8; ++minute) {
    WorkSample sample{.when = when + minute * kMinute, .gpus = {}, .traffic = watched->work.traffic};
    sample.gpus["0000:17:00.0"] = {.utilisation = 100,
                                   .memory_utilisation = 0,
                                   .power = 100,
                                   .power_limit = 700,
                                   .energy = 1,
                                   .jobs = {GpuJob{.hpc_job = "4711", .ranks = 2}}};
    watched->work = next_spells(watched->work, sample);
    for (auto& [interface, link] : watched->links)
      link = next_link(link, {1.8e9 + minute * 86400, true, 400'000, link.optics, 1'000'000ULL * minute});
  }
  for (const auto& [interface, link] : watched->links)
    for (const auto& [lane, series] : link.receive)
      if (const auto found = foretell(series, -7, kLeastFall))
        require(found->days > 0 && found->days <= kForetoldDays && found->soonest <= found->latest);
  require(json::read<Watched>(json::dump(json::encode(*watched))).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  take_state(text);
  take_watched(text);
  show(parse_events(text, 0, kMostEventsRead).events);
  return 0;
}
