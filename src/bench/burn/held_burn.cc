#include "bench/burn/held_burn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "base/file_lock.h"
#include "base/files.h"
#include "base/folder_names.h"
#include "base/json.h"
#include "base/kept_format.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/version.h"
#include "bench/burn/burn_session.h"
#include "host/boot_id.h"
#include "os/child.h"
#include "os/wait.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kListens{200};  // period at which a request to end is looked for
constexpr std::chrono::seconds kWritePeriod{2};
constexpr std::chrono::milliseconds kStartPeriod{50};
constexpr std::chrono::seconds kBegins{25};
constexpr std::chrono::seconds kEnds{15};
constexpr std::size_t kLongestState = 32 << 20;  // bytes

struct HeldState {
  int version = 1;
  std::string railbed;
  std::string boot;     // the boot in which it began; empty: not known
  std::string failure;  // why the work did not begin
  bool over = false;    // the process has written this last
  BurnState state;
  FIELDS(HeldState, version, railbed, boot, failure, over, state);
};

// The files of one held burn-in.
class HeldFolder {
 public:
  // Opens the folder; makes it if `make` is set, and fails if it is there already.
  static Result<HeldFolder> open(const std::string& name, bool make) {
    RETURN_IF_ERROR(check_burn_name(name));
    const std::string parent = fmt::format("/var/tmp/railbed-burn-{}", geteuid());
    const std::string path = parent + '/' + name;
    struct stat status = {};
    const bool there = lstat(path.c_str(), &status) == 0;
    if (there == make)
      return fail(
          make ? ErrorKind::kUnavailable : ErrorKind::kBadInput,
          make ? fmt::format("{} is there already", path)
               : fmt::format("there is no burn-in {} here: it has ended, or {} was removed", name, parent));
    RETURN_IF_ERROR(open_state_folder(parent));
    ASSIGN_OR_RETURN(Fd folder, open_state_folder(path));
    return HeldFolder(std::move(folder), path);
  }

  template <class T>
  Result<T> read(const std::string& name) const {
    ASSIGN_OR_RETURN(const std::string text,
                     read_file(entry_in(folder_, name, path_), path_ + '/' + name, kLongestState));
    RETURN_IF_ERROR(check_stamp(text, name));
    return json::read<T>(text);
  }
  template <class T>
  Result<void> write(const std::string& name, const T& value) const {
    return write_file(entry_in(folder_, name, path_), path_ + '/' + name, json::dump(json::encode(value)),
                      0600);
  }
  bool has(const std::string& name) const {
    struct stat status = {};
    return entry_in(folder_, name, path_).look(status);
  }
  // Sets the file's time of change to now. Makes it if it is missing.
  void touch(const std::string& name) const {
    const Fd file = entry_in(folder_, name, path_).open(O_WRONLY | O_CREAT, 0600);
    if (file) futimens(file.get(), nullptr);
  }
  // Returns the file's time of change, in nanoseconds since 1970; 0 if it is missing.
  std::int64_t touched(const std::string& name) const {
    struct stat status = {};
    if (!entry_in(folder_, name, path_).look(status)) return 0;
    return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  }
  // Returns the lock; an empty Fd if another process has it, or it cannot be opened.
  Fd lock() const { return take_file_lock(entry_in(folder_, "lock", path_)); }
  // Removes the folder with all its files: a killed process may have left a part of a state under another name.
  void remove() const {
    for (const std::string& name : folder_names(reopened(folder_.get())).value_or(std::vector<std::string>()))
      unlinkat(folder_.get(), name.c_str(), 0);
    const std::string::size_type end = path_.rfind('/');
    rmdir(path_.c_str());
    rmdir(path_.substr(0, end).c_str());  // unless it holds another
  }

 private:
  HeldFolder(Fd folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}

  static Result<void> check_burn_name(const std::string& name) {
    const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    if (!name.empty() && name.size() <= kLongestBurnName && std::ranges::all_of(name, fits)) return {};
    return fail(ErrorKind::kBadInput, "the name of a burn-in: lower-case letters, digits and \"-\"");
  }
  Result<void> check_stamp(const std::string& text, const std::string& name) const {
    ASSIGN_OR_RETURN(const auto stamp, json::read<KeptStamp>(text));
    return check_kept(Kept::kBurn, path_ + '/' + name, stamp);
  }

  Fd folder_;
  std::string path_;
};

// Returns why the process that wrote this state, and did not write that it is over, is not there any more.
std::string why_gone(const HeldState& last, Host& host) {
  const std::string now = read_boot_id(host).value_or("");
  if (!last.boot.empty() && !now.empty() && last.boot != now) return "the node was restarted";
  return "the process that held the load was killed: by the kernel if memory ran out (dmesg), or by a user";
}

// Waits until the process has written its last state, or has ended. Returns false at `until`.
bool wait_until_over(const HeldFolder& folder, Clock::time_point until) {
  while (true) {
    if (folder.lock()) return true;
    const auto now = folder.read<HeldState>("state");
    if (now && now->over) return true;
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(kListens);
  }
}

Result<BurnState> last_state(const HeldFolder& folder, Host& host) {
  const bool gone = bool(folder.lock());  // before the state is read: a process that ends writes it last
  ASSIGN_OR_RETURN(HeldState last, folder.read<HeldState>("state"));
  if (gone && !last.over) last.state.gone = why_gone(last, host);
  return std::move(last.state);
}

// Measures for how long nobody has looked. Times of change are compared with each other alone: the clock of the file
// system may jump.
class Unseen {
 public:
  Unseen(const HeldFolder& folder, double seconds)
      : folder_(folder), patience_(seconds), seen_(folder.touched("seen")), since_(Clock::now()) {}

  bool is_due() {
    if (const auto now = folder_.touched("seen"); now != seen_) {
      seen_ = now;
      since_ = Clock::now();
    }
    return Clock::now() - since_ > patience_;
  }

 private:
  const HeldFolder& folder_;
  const std::chrono::duration<double> patience_;
  std::int64_t seen_;
  Clock::time_point since_;
};

}  // namespace

Result<BurnName> start_held_burn(const BurnPlan& plan, const std::stop_token& stop) {
  RETURN_IF_ERROR(check_burn(plan));
  const std::string& name = plan.keep->name;
  ASSIGN_OR_RETURN(const HeldFolder folder, HeldFolder::open(name, true));
  RETURN_IF_ERROR(folder.write("plan", plan));
  folder.touch("seen");
  RETURN_IF_ERROR(start_detached({"railbed", "agent", "--burn", name}));
  const auto until = Clock::now() + kBegins;
  while (!folder.has("state")) {
    if (Clock::now() >= until || !wait_unless_stopped(kStartPeriod, stop)) {
      folder.touch("end");
      return fail(ErrorKind::kTimeout, fmt::format("the load did not begin within {} s", kBegins.count()));
    }
  }
  ASSIGN_OR_RETURN(const HeldState first, folder.read<HeldState>("state"));
  if (first.failure.empty()) return BurnName{name, true};
  folder.remove();
  return fail(ErrorKind::kUnavailable, first.failure);
}

Result<void> hold_burn(const std::string& name, const NvidiaLibraries& from,
                       const std::shared_ptr<Host>& host, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const HeldFolder folder, HeldFolder::open(name, false));
  const Fd lock = folder.lock();
  if (!lock) return fail(ErrorKind::kUnavailable, "another process holds the burn-in " + name);
  ASSIGN_OR_RETURN(const BurnPlan plan, folder.read<BurnPlan>("plan"));
  HeldState now;
  now.railbed = railbed_version();
  now.boot = read_boot_id(*host).value_or("");
  const auto session = begin_burn(plan, from, host);
  if (!session) {
    now.failure = session.error().text;
    now.over = true;
    return folder.write("state", now);
  }
  const auto write = [&] {
    now.state = (*session)->state();
    return folder.write("state", now);
  };
  Unseen unseen(folder, plan.keep ? plan.keep->unseen : 0);
  RETURN_IF_ERROR(write());
  auto next = Clock::now() + kWritePeriod;
  bool is_unseen = false;
  while (!now.state.ended && !is_unseen && !folder.has("end") && !stop.stop_requested()) {
    std::this_thread::sleep_for(kListens);
    is_unseen = unseen.is_due();
    if (Clock::now() < next) continue;
    (void)write();  // a file system that is full now may have room later
    next = Clock::now() + kWritePeriod;
  }
  (*session)->stop();
  now.state = (*session)->state();
  now.state.unseen = is_unseen;
  now.over = !stop.stop_requested();  // else last_state() finds out why it is gone
  return folder.write("state", now);
}

Result<BurnState> look_at_held_burn(const std::string& name, Host& host) {
  ASSIGN_OR_RETURN(const HeldFolder folder, HeldFolder::open(name, false));
  folder.touch("seen");
  return last_state(folder, host);
}

Result<BurnState> end_held_burn(const std::string& name, Host& host) {
  ASSIGN_OR_RETURN(const HeldFolder folder, HeldFolder::open(name, false));
  folder.touch("end");
  const bool over = wait_until_over(folder, Clock::now() + kEnds);
  auto state = last_state(folder, host);
  if (over) folder.remove();
  return state;
}

}  // namespace railbed
