#include "monitor/watched_machine.h"

#include "host/open.h"
#include "host/without_devices.h"

namespace railbed {

WatchedMachine::WatchedMachine(std::string root, std::vector<std::string> left_alone)
    : root_(std::move(root)), left_alone_(std::move(left_alone)) {}

Result<std::unique_ptr<WatchedMachine>> WatchedMachine::open(std::string root,
                                                             std::vector<std::string> left_alone) {
  std::unique_ptr<WatchedMachine> machine(new WatchedMachine(std::move(root), std::move(left_alone)));
  RETURN_IF_ERROR(machine->made_anew());
  return machine;
}

std::filesystem::file_time_type WatchedMachine::written() const {
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(root_, ignored);
  return is_file ? std::filesystem::last_write_time(root_, ignored) : std::filesystem::file_time_type();
}

// Requires the mutex. Reads the time first, so that a write during the read is noticed at the next call.
Result<std::shared_ptr<Host>> WatchedMachine::make() {
  const auto written_at = written();
  Result<std::unique_ptr<Host>> host = root_.empty() ? open_this_machine() : open_root(root_);
  if (!host) return fail(host.error());
  host_ = without_devices(std::move(*host), left_alone_);
  written_ = written_at;
  return host_;
}

Result<std::shared_ptr<Host>> WatchedMachine::made_anew() {
  const std::lock_guard lock(mutex_);
  return make();
}

Result<std::shared_ptr<Host>> WatchedMachine::now() {
  const std::lock_guard lock(mutex_);
  return host_ && written() == written_ ? host_ : make();
}

}  // namespace railbed
