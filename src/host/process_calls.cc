// Facts of /proc and of file permissions that take more than reading one file.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "host/device_calls.h"
#include "host/open.h"
#include "os/errno_name.h"

namespace railbed {
namespace {

// Checks "PID (NAME) D PARENT …", where NAME may hold anything; proc_pid_stat(5). Our own children may be in
// a driver call right now; they also wait in state D and are not stuck.
bool is_uninterruptible(std::string_view stat) {
  const auto end = stat.rfind(')');
  if (end == std::string_view::npos) return false;
  const auto fields = words(stat.substr(end + 1));
  return fields.size() > 1 && fields[0] == "D" && parse_number<int>(fields[1]) != getpid();
}

std::vector<int> uninterruptible(Host& machine) {
  std::vector<int> found;
  for (const auto& name : machine.list("/proc").value_or({})) {
    const auto pid = parse_number<int>(name);
    if (!pid) continue;
    const auto stat = machine.read_line("/proc/" + name + "/stat");
    if (stat && is_uninterruptible(*stat)) found.push_back(*pid);
  }
  return found;
}

}  // namespace

Reading<std::string> call_modes(const std::string& folder) {
  const auto names = open_this_machine()->list(folder);
  if (!names) return {names.miss(), names.from()};
  std::map<std::string, int> modes;
  for (const auto& name : *names) {
    struct stat status = {};
    if (stat((folder + "/" + name).c_str(), &status) == 0 && !S_ISDIR(status.st_mode))
      modes.emplace(name, status.st_mode & 07777);
  }
  return {json::dump(json::encode(modes)), "modes " + folder};
}

Reading<std::string> call_stuck() {
  const auto machine = open_this_machine();
  std::vector<int> stuck = uninterruptible(*machine);
  for (int look = 0; look < 2 && !stuck.empty(); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto now = uninterruptible(*machine);
    std::erase_if(stuck, [&](int pid) { return std::ranges::find(now, pid) == now.end(); });
  }
  std::vector<StuckAnswer> answers;
  for (const int pid : stuck) {
    const std::string folder = "/proc/" + std::to_string(pid);
    answers.push_back({pid, machine->read_line(folder + "/comm").value_or("?"),
                       machine->read_line(folder + "/wchan").value_or("0")});
  }
  return {json::dump(json::encode(answers)), "stuck"};
}

}  // namespace railbed
