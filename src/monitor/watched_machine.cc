#include "monitor/watched_machine.h"

#include "host/open.h"
#include "host/without_devices.h"

namespace railbed {

WatchedMachine::WatchedMachine(std::string root, std::vector<std::string> left_alone)
    : root_(std::move(root)), left_alone_(std::move(left_alone)) {}

Result<std::unique_ptr<WatchedMachine>> WatchedMachine::open(std::string root,
                                                             std::vector<std::string> left_alone) {
  std::unique_ptr<WatchedMachine> machine(new WatchedMachine(std::move(root), std::move(left_alone)));
  RETURN_IF_ERROR(machine->make());
  return machine;
}

std::filesystem::file_time_type WatchedMachine::written() const {
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(root_, ignored);
  return is_file ? std::filesystem::last_write_time(root_, ignored) : std::filesystem::file_time_type();
}

// Requires the mutex, unless no other thread knows the machine. Reads the time first, so that a write during the read is noticed at the next call.
Result<void> WatchedMachine::make() {
  const auto written_at = written();
  Result<std::unique_ptr<Host>> host = root_.empty() ? open_this_machine() : open_root(root_);
  if (!host) return fail(host.error());
  host_ = without_devices(std::move(*host), left_alone_);
  is_used_ = false;
  written_ = written_at;
  return {};
}

Result<std::shared_ptr<Host>> WatchedMachine::made_anew() { return hand_out(false); }

Result<std::shared_ptr<Host>> WatchedMachine::now() { return hand_out(true); }

// Hands out the machine that is there if it is current, and `used_will_do` or nobody has had it.
Result<std::shared_ptr<Host>> WatchedMachine::hand_out(bool used_will_do) {
  const std::lock_guard lock(mutex_);
  if (!is_current() || (is_used_ && !used_will_do)) RETURN_IF_ERROR(make());
  is_used_ = true;
  return host_;
}

}  // namespace railbed
