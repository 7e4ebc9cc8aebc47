#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>

#include <array>
#include <cerrno>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "host/device_calls.h"
#include "host/open.h"
#include "os/errno_name.h"
#include "os/process.h"

namespace railbed {
namespace {

constexpr std::size_t kPageBytes = 512;

NvmeAnswer ask_controller(const std::string& name) {
  NvmeAnswer answer;
  answer.name = name;
  const Fd fd(open(("/dev/" + name).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, kPageBytes> page = {};
  nvme_admin_cmd command = {};
  command.opcode = 0x02;  // Get Log Page
  command.nsid = 0xffffffff;
  command.addr = reinterpret_cast<std::uintptr_t>(page.data());
  command.data_len = kPageBytes;
  command.cdw10 = (kPageBytes / 4 - 1) << 16 | 0x02;  // SMART / Health Information
  command.timeout_ms = 1000;
  const int status = fd ? ioctl(fd.get(), NVME_IOCTL_ADMIN_CMD, &command) : -1;
  if (status == 0)
    answer = parse_health_page({page.data(), page.size()});
  else
    answer.error = status < 0 ? miss_of(errno).why : "NVMe status " + std::to_string(status);
  answer.name = name;
  return answer;
}

std::string ask_all(const Say& about_to, const std::string& only) {
  std::vector<NvmeAnswer> answers;
  for (const auto& name : open_this_machine()->list("/sys/class/nvme").value_or({})) {
    if (!only.empty() && name != only) continue;
    about_to("the health log of " + name);
    answers.push_back(ask_controller(name));
  }
  return json::dump(json::encode(answers));
}

}  // namespace

NvmeAnswer parse_health_page(std::string_view page) {
  NvmeAnswer answer;
  if (page.size() < kPageBytes) {
    answer.error = "a page of " + std::to_string(page.size()) + " bytes";
    return answer;
  }
  const auto byte = [&](std::size_t at) { return static_cast<int>(static_cast<std::uint8_t>(page[at])); };
  answer.critical_warning = byte(0);
  answer.celsius = (byte(1) | byte(2) << 8) - 273;
  answer.spare_percent = byte(3);
  answer.spare_threshold_percent = byte(4);
  answer.used_percent = byte(5);
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<std::uint64_t>(byte(at + i));
    return value;
  };
  // Of 128 bits, little-endian; no drive exceeds the lower 64.
  answer.unsafe_shutdowns = number(144, 8);
  answer.media_errors = number(160, 8);
  answer.log_entries = number(176, 8);
  answer.hot_minutes = number(192, 4) + number(196, 4);
  answer.throttled_seconds = number(224, 4) + number(228, 4);
  return answer;
}

// In a child: a drive that hangs must not block this process.
Reading<std::string> call_nvme(const std::string& only) {
  return ask_in_child(
      "nvme", [&](const Say& about_to) { return ask_all(about_to, only); }, std::chrono::seconds(4));
}

}  // namespace railbed
