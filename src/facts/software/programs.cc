#include "facts/software/programs.h"

#include <optional>

#include "base/text.h"
#include "host/host.h"

namespace railbed {
namespace {

constexpr std::size_t kMostPrograms = 32'768;
constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD of include/linux/sched.h

// The fields after the name, which may contain anything. They are numbered from 3, as in proc_pid_stat(5).
struct Stat {
  std::string_view name;
  std::vector<std::string_view> fields;

  std::optional<std::uint64_t> number(std::size_t field) const {
    if (field - 3 >= fields.size()) return std::nullopt;
    return parse_number<std::uint64_t>(fields[field - 3]);
  }
};

std::optional<Stat> parse_stat(std::string_view text) {
  const auto begin = text.find('(');
  const auto end = text.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return std::nullopt;
  return Stat{text.substr(begin + 1, end - begin - 1), words(trim(text.substr(end + 1)))};
}

// Parses /proc/PID/stat; nullopt for kernel threads and for text of another form.
std::optional<ProgramTimes> program_of(int pid, std::string_view text) {
  const auto stat = parse_stat(text);
  if (!stat) return std::nullopt;
  const auto flags = stat->number(9);
  const auto user = stat->number(14);
  const auto kernel = stat->number(15);
  const auto started = stat->number(22);
  if (!flags || !user || !kernel || !started || (*flags & kKernelThread) != 0) return std::nullopt;
  return ProgramTimes{pid, printable(stat->name), *started, *user + *kernel};
}

}  // namespace

Reading<Programs> read_programs(Host& host) {
  const std::string kFrom = "/proc/PID/stat";
  const auto names = host.list("/proc");
  if (!names) return {names.miss(), names.from()};
  // If other users' processes are hidden, only root can read pid 1.
  if (!host.read_line("/proc/1/stat")) return {Miss{Missing::kDenied, "hidepid"}, kFrom};
  Programs programs;
  if (const auto online = host.read_line("/sys/devices/system/cpu/online"))
    programs.processors = static_cast<int>(parse_list(*online).value_or(std::vector<int>{}).size());
  if (const auto own = host.read_line("/proc/self/stat"))
    if (const auto stat = parse_stat(*own)) programs.own_name = printable(stat->name);
  for (const std::string& name : *names) {
    const auto pid = parse_number<int>(name);
    if (!pid || programs.all.size() == kMostPrograms) continue;
    const auto text = host.read_line("/proc/" + name + "/stat");
    if (!text) continue;  // it has ended
    if (auto program = program_of(*pid, *text)) programs.all.push_back(std::move(*program));
  }
  return {std::move(programs), kFrom};
}

}  // namespace railbed
