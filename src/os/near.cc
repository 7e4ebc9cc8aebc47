#include "os/near.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <array>

#include "base/fd.h"
#include "base/text.h"

namespace railbed {

void run_near(const std::string& pci_address) {
  const Fd file(
      open(fmt::format("/sys/bus/pci/devices/{}/local_cpulist", pci_address).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t got = file ? read(file.get(), text.data(), text.size()) : 0;
  const auto local = parse_list(std::string_view(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0));
  cpu_set_t allowed;
  if (!local || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  for (const int cpu : *local)
    if (cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(cpu), &allowed))
      CPU_SET(static_cast<std::size_t>(cpu), &chosen);
  if (CPU_COUNT(&chosen) > 0) sched_setaffinity(0, sizeof chosen, &chosen);
}

}  // namespace railbed
