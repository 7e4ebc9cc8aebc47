#include "cli/measure/burn_options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <set>

#include "base/units.h"
#include "campaign/measure/burn_words.h"

namespace railbed {
namespace {

Result<std::uint64_t> memory_option(std::string_view option, const std::string& text) {
  const auto memory = parse_byte_count(text);
  if (!memory || memory->bytes < (1U << 20))
    return fail(ErrorKind::kBadInput, fmt::format("{} {}: write 8G, at least 1M", option, text));
  return memory->bytes;
}

Result<void> choose_drives(BurnOptions& options) {
  if (!options.drives && !options.only_drives) {
    if (options.drive_paths.empty() && options.drive_writes.empty()) return {};
    return fail(ErrorKind::kBadInput, "--drive-paths and --drive-writes need --drives or --only-drives");
  }
  BurnDrivePlan& drives = options.plan.drives.emplace();
  drives.paths = options.drive_paths;
  for (const std::string& path : drives.paths)
    if (!path.starts_with('/'))
      return fail(ErrorKind::kBadInput, fmt::format("--drive-paths {}: write folders from / on", path));
  if (options.drive_writes.empty()) return {};
  const auto writes = parse_byte_count(options.drive_writes);
  constexpr std::uint64_t kFewest = 128U << 20;
  if (!writes || writes->bytes < kFewest)
    return fail(ErrorKind::kBadInput,
                fmt::format("--drive-writes {}: write 16G, at least 128M", options.drive_writes));
  drives.writes = writes->bytes;
  return {};
}

// Fails if an option is about what the burn does not load.
Result<void> choose_load(BurnOptions& options) {
  BurnPlan& plan = options.plan;
  plan.load = options.only_host     ? BurnLoad::kHost
              : options.only_drives ? BurnLoad::kDrives
              : options.only_rails  ? BurnLoad::kRails
              : options.host        ? BurnLoad::kGpusAndHost
                                    : BurnLoad::kGpus;
  plan.rails = options.rails || options.only_rails;
  RETURN_IF_ERROR(choose_drives(options));
  if (!options.host_memory.empty()) {
    if (!plan.has_host()) return fail(ErrorKind::kBadInput, "--host-memory needs --host or --only-host");
    ASSIGN_OR_RETURN(plan.host_memory, memory_option("--host-memory", options.host_memory));
  }
  if (plan.has_gpus()) return {};
  if (!options.gpus.empty() || !options.phases.empty() || !options.memory.empty() || options.collectives ||
      plan.watts > 0)
    return fail(
        ErrorKind::kBadInput,
        fmt::format("{} loads no GPU: leave out --gpus, --phases, --memory, --collectives and --watts",
                    options.only_host    ? "--only-host"
                    : options.only_rails ? "--only-rails"
                                         : "--only-drives"));
  return {};
}

// Each node holds its work itself, unless a scheduler would end it with the agent.
Result<void> choose_keeping(BurnOptions& options, const CLI::App& app) {
  if (options.reach.launcher != fleet::Launcher::kSsh) {
    if (app.count("--unseen") == 0 || options.unseen == 0) return {};
    return fail(ErrorKind::kBadInput,
                "--unseen: what a launcher of a scheduler starts ends with this command; leave it out");
  }
  if (options.unseen > 0) options.plan.keep.emplace().unseen = options.unseen * 60;
  return {};
}

}  // namespace

Result<void> fill_burn_plan(BurnOptions& options, const CLI::App& app) {
  BurnPlan& plan = options.plan;
  plan.seconds = options.hours > 0 ? options.hours * 3600 : options.minutes * 60;
  if (plan.seconds <= 0)
    return fail(ErrorKind::kBadInput,
                "say how long: --hours 12 before production, --minutes 10 for a first look");
  plan.phases = default_burn_phases();
  if (!options.phases.empty()) plan.phases.clear();
  std::set<BurnPhase> named;
  for (const std::string& text : options.phases) {
    ASSIGN_OR_RETURN(const BurnShare share, parse_burn_share(text));
    if (!named.insert(share.phase).second)
      return fail(ErrorKind::kBadInput, fmt::format("--phases: {} is named twice", text));
    plan.phases.push_back(share);
  }
  if (options.collectives && !plan.has(BurnPhase::kCollectives))
    plan.phases.push_back({BurnPhase::kCollectives, kCollectivesShare});
  if (!options.memory.empty()) {
    ASSIGN_OR_RETURN(plan.memory, memory_option("--memory", options.memory));
  }
  RETURN_IF_ERROR(choose_load(options));
  RETURN_IF_ERROR(choose_keeping(options, app));
  for (const std::string& text : options.inject) {
    ASSIGN_OR_RETURN(const BurnDrill drill, parse_burn_drill(text));
    plan.drills.push_back(drill);
  }
  return check_burn(plan);
}

}  // namespace railbed
