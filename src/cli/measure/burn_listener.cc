#include "cli/measure/burn_listener.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/units.h"
#include "base/wording.h"
#include "cli/terminal.h"
#include "report/text/burn_text.h"

namespace railbed {
namespace {

std::string duration_text(double seconds) {
  return seconds < 7200 ? fmt::format("{:.3g} minutes", seconds / 60)
                        : fmt::format("{:.3g} hours", seconds / 3600);
}

void warn_of_heat(const BurnOutlook& outlook, const BurnPlan& plan) {
  const auto nodes = [](int count) { return counted(static_cast<std::size_t>(count), "node"); };
  const std::string drives =
      outlook.drives == 0 ? ""
                          : fmt::format("files on {}, read again and again, with at most {} written to each",
                                        counted(static_cast<std::size_t>(outlook.drives), "drive"),
                                        to_text(ByteCount{outlook.most_written}));
  const std::string rails = outlook.ports == 0
                                ? ""
                                : fmt::format("{} of rails, in both directions at once",
                                              counted(static_cast<std::size_t>(outlook.ports), "port"));
  if (plan.load == BurnLoad::kRails)
    return say_to_person(fmt::format("{} of {} for {}. Other traffic there slows down. Ctrl-C ends it.",
                                     rails, nodes(outlook.nodes), duration_text(plan.seconds)));
  if (!rails.empty()) say_to_person(rails);
  if (plan.load == BurnLoad::kDrives)
    return say_to_person(fmt::format("{} of {} for {}. Other work on them slows down. Ctrl-C ends it.",
                                     drives, nodes(outlook.nodes), duration_text(plan.seconds)));
  if (!drives.empty()) say_to_person(drives);
  if (outlook.collectives) say_to_person("NCCL's all_reduce over all GPUs, in turns with their other load");
  if (!plan.has_gpus())
    return say_to_person(fmt::format(
        "full load on the processors of {} for {}, and up to half of the available memory: nobody knows how many "
        "watts. Other work there slows down. Ctrl-C ends it.",
        nodes(outlook.hosts), duration_text(plan.seconds)));
  std::string text;
  if (outlook.unknown < outlook.gpus)
    text = fmt::format(
        "up to {} by {}{}", watts_text(outlook.watts), plan.watts > 0 ? "--watts" : "their power limits",
        outlook.unknown > 0 ? fmt::format(", and {} GPUs whose limit is not known", outlook.unknown) : "");
  else
    text = "nobody knows how many watts: no power limit can be read";
  say_to_person(fmt::format(
      "full load on {}{} of {} for {}: {}, all of it heat, and processors, fans and "
      "power supplies add to it. Ctrl-C ends it.",
      counted(static_cast<std::size_t>(outlook.gpus), "GPU"), outlook.hosts > 0 ? " and all processors" : "",
      nodes(outlook.nodes), duration_text(plan.seconds), text));
}

// A terminal gets one line that changes, anything else a line each minute, so that a log stays short.
std::function<void(const BurnReport&, double)> show_progress(std::string_view what) {
  const auto last = std::make_shared<std::chrono::steady_clock::time_point>(std::chrono::steady_clock::now());
  return [last, head = std::string(what) + ", "](const BurnReport& now, double left) {
    if (isatty(STDERR_FILENO) == 1) return progress(head + burn_line(now, left));
    constexpr std::chrono::seconds kLinePeriod{60};
    if (std::chrono::steady_clock::now() - *last < kLinePeriod) return;
    *last = std::chrono::steady_clock::now();
    say_to_person(head + burn_line(now, left));
  };
}

}  // namespace

BurnListener burn_listener(const BurnPlan& plan, std::string_view what) {
  return {[&plan](const BurnOutlook& outlook) { warn_of_heat(outlook, plan); }, show_progress(what), hung_up};
}

}  // namespace railbed
