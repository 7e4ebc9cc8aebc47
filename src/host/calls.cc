#include "host/calls.h"
#include "nvidia/calls.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "host/device_calls.h"
#include "host/kernel_log.h"
#include "host/process_answer.h"
#include "os/confined.h"
#include "os/errno_name.h"

namespace railbed {
namespace {

template <class Answer>
Reading<std::string> answered(const Answer& answer, std::string_view name) {
  return {json::dump(json::encode(answer)), std::string(name)};
}

Reading<std::string> call_uname(std::string_view name) {
  utsname answer = {};
  if (uname(&answer) != 0) return {miss_of(errno), std::string(name)};
  return answered(UnameAnswer{answer.machine}, name);
}

Reading<std::string> call_clock(std::string_view name) {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  timex state = {};  // modes 0: read only
  const bool known = adjtimex(&state) >= 0;
  const std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900,
                                       utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
  return answered(ClockAnswer{text, known && (state.status & STA_UNSYNC) == 0}, name);
}

Reading<std::string> call_statvfs(std::string_view name, const std::string& path) {
  struct statvfs answer = {};
  if (statvfs(path.c_str(), &answer) != 0) return {miss_of(errno), std::string(name)};
  return answered(StatvfsAnswer{answer.f_blocks * answer.f_frsize, answer.f_bavail * answer.f_frsize,
                                answer.f_files, answer.f_favail, (answer.f_flag & ST_RDONLY) != 0},
                  name);
}

Reading<std::string> call_environment(std::string_view name, std::string_view prefix) {
  std::map<std::string, std::string> found;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view variable = *one;
    const auto equals = variable.find('=');
    if (equals != std::string_view::npos && variable.substr(0, equals).starts_with(prefix))
      found.emplace(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return answered(found, name);
}

// The one call that runs a program which railbed does not know, as os/confined.h describes.
Reading<std::string> call_site_check(std::string_view job) {
  const auto read = json::read<ConfinedJob>(job);
  if (!read) return {Miss{Missing::kGarbled, read.error().text}, "site-check"};
  const auto output = run_confined(*read);
  if (!output) return {output.miss(), output.from()};
  return {json::dump(json::encode(*output)), output.from()};
}

}  // namespace

Reading<std::string> call_system(std::string_view name) {
  if (name == "uname") return call_uname(name);
  if (name == "adapters" || name == "signals" || name == "gpu-tests")
    return {Miss{Missing::kAbsent, "read of a support report alone"}, std::string(name)};
  if (name == "clock") return call_clock(name);
  constexpr std::string_view kVerbs = "verbs except ";
  if (name == "verbs") return call_verbs({});
  if (name.starts_with(kVerbs)) {
    const auto devices = split(name.substr(kVerbs.size()), ',');
    return call_verbs({devices.begin(), devices.end()});
  }
  for (const auto& [prefix, load] :
       {std::pair{"load ", +[](int seconds) { return call_load(seconds); }},
        std::pair{"gpu-load ", +[](int seconds) { return call_gpu_load(seconds); }}}) {
    if (!name.starts_with(prefix)) continue;
    const auto seconds = parse_number<int>(name.substr(std::string_view(prefix).size()));
    if (seconds && *seconds >= 1 && *seconds <= kMaxLoadSeconds) return load(*seconds);
  }
  if (name == "addresses") return call_addresses();
  if (name == "default-routes") return call_default_routes();
  if (name == "queues") return call_queues();
  if (name == "nf-tables") return call_nf_tables();
  constexpr std::string_view kOptions = "kernel-options ";
  if (name.starts_with(kOptions)) return call_kernel_options(split(name.substr(kOptions.size()), ','));
  constexpr std::string_view kNvme = "nvme ";
  if (name == "nvme") return call_nvme();
  if (name.starts_with(kNvme)) return call_nvme(std::string(name.substr(kNvme.size())));
  if (name == "stuck") return call_stuck();
  constexpr std::string_view kProcesses = "processes ";
  constexpr std::string_view kProcess = "process ";
  if (name.starts_with(kProcesses)) return call_processes(name.substr(kProcesses.size()));
  if (name.starts_with(kProcess))
    if (const auto pid = parse_number<int>(name.substr(kProcess.size())); pid && *pid > 0)
      return call_process(*pid);
  constexpr std::string_view kJobs = "jobs ";
  constexpr std::string_view kUsers = "user-names ";
  if (name.starts_with(kJobs)) return call_jobs(name.substr(kJobs.size()));
  if (name.starts_with(kUsers)) return call_user_names(name.substr(kUsers.size()));
  constexpr std::string_view kEthernet = "ethernet ";
  if (name.starts_with(kEthernet)) return call_ethernet(std::string(name.substr(kEthernet.size())));
  constexpr std::string_view kFec = "fec ";
  if (name.starts_with(kFec)) return call_fec(std::string(name.substr(kFec.size())));
  constexpr std::string_view kStatistics = "statistics ";
  if (name.starts_with(kStatistics)) return call_statistics(std::string(name.substr(kStatistics.size())));
  constexpr std::string_view kModes = "modes ";
  if (name.starts_with(kModes)) return call_modes(std::string(name.substr(kModes.size())));
  constexpr std::string_view kChangeable = "changeable ";
  if (name.starts_with(kChangeable)) return call_changeable(std::string(name.substr(kChangeable.size())));
  if (name == "nvml" || name.starts_with("nvml ")) return call_nvml(name);
  if (name.starts_with("cuda ")) return call_cuda(name);
  constexpr std::string_view kCheck = "site-check ";
  if (name.starts_with(kCheck)) return call_site_check(name.substr(kCheck.size()));
  if (name == "kernel-log" || name.starts_with("kernel-log ")) return call_kernel_log(name);
  constexpr std::string_view kStatvfs = "statvfs ";
  constexpr std::string_view kEnvironment = "environment ";
  if (name.starts_with(kStatvfs)) return call_statvfs(name, std::string(name.substr(kStatvfs.size())));
  if (name.starts_with(kEnvironment) && name.size() > kEnvironment.size())
    return call_environment(name, name.substr(kEnvironment.size()));
  return {Miss{Missing::kUnsupported, "no such call"}, std::string(name)};
}

}  // namespace railbed
