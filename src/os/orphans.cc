#include "os/orphans.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/text.h"

namespace railbed {
namespace {

// Returns a process's parent from "PID (NAME) STATE PARENT …": the name may hold anything (proc(5)).
std::optional<pid_t> parent_of(const std::string& process) {
  const Fd file(open(("/proc/" + process + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[512];
  const ssize_t got = read(file.get(), bytes, sizeof bytes);
  if (got <= 0) return std::nullopt;
  std::string_view text(bytes, static_cast<std::size_t>(got));
  text.remove_prefix(std::min(text.rfind(')') + 1, text.size()));
  const auto fields = words(text);
  return fields.size() > 1 ? parse_number<pid_t>(fields[1]) : std::nullopt;
}

}  // namespace

void signal_children(int number) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    const auto pid = parse_number<pid_t>(name);
    if (pid && parent_of(name) == getpid()) kill(*pid, number);
  }
}

}  // namespace railbed
