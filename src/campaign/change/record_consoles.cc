#include "campaign/change/record_consoles.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/files.h"
#include "base/moment.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/wording.h"
#include "bmc/console.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxLine = 4096;
constexpr auto kRetry = std::chrono::seconds(5);
constexpr int kLookMs = 200;  // poll interval for a stop and for retries

// The recording of one console. The loop in record_consoles() polls all consoles in one thread; attaching has
// a thread per console, since it blocks.
class Recording {
 public:
  Recording(BmcTarget target, Fd log, const ConsoleRecord& wanted, const BmcReach& reach,
            const Caller& caller, const HearConsole& hear)
      : target_(std::move(target)),
        log_(std::move(log)),
        wanted_(wanted),
        reach_(reach),
        caller_(caller),
        hear_(hear) {}

  bool is_due() const { return !console_ && Clock::now() >= next_try_; }
  void attach() {
    next_try_ = Clock::now() + kRetry;
    auto console = attach_console(target_, reach_.options, wanted_.steal);
    if (console)
      console_.emplace(std::move(*console));
    else
      tell_trouble(console.error());
  }
  void wait_for(std::vector<pollfd>& waiting) const {
    if (!console_) return;
    waiting.push_back({console_->out(), POLLIN, 0});
    waiting.push_back({console_->err(), POLLIN, 0});
  }
  void take() {
    if (!console_) return;
    const bool was_open = console_->is_open();
    const std::string text = console_->read();
    if (!was_open && console_->is_open()) {
      trouble_.clear();
      write_line("[railbed: attached]");
    }
    add(text);
    if (!console_->has_ended()) return;
    tell_trouble(console_->why_ended());
    console_.reset();
    next_try_ = Clock::now() + kRetry;
  }
  void leave() {
    end_line();
    if (console_) console_->leave();
  }
  bool is_attached() const { return console_ && console_->is_open(); }

 private:
  void write_line(std::string_view line) { write_all(log_.get(), fmt::format("{} {}\n", utc_now(), line)); }
  void end_line() {
    if (line_.empty()) return;
    const std::string line = printable(line_);
    write_line(line);
    hear_(target_.node, line);
    line_.clear();
  }
  void add(std::string_view text) {
    for (const char c : text) {
      if (c != '\n' && c != '\r') line_ += c;
      if (c == '\n' || line_.size() >= kMaxLine) end_line();
    }
  }
  // Reports an error once, not with every retry.
  void tell_trouble(const Error& error) {
    if (error.text == trouble_) return;
    trouble_ = error.text;
    write_line(fmt::format("[railbed: {}]", printable(error.text)));
    caller_.note(fmt::format("{}: {}", target_.node, printable(without_node(error))));
  }

  BmcTarget target_;
  Fd log_;
  const ConsoleRecord& wanted_;
  const BmcReach& reach_;
  const Caller& caller_;
  const HearConsole& hear_;
  std::optional<Console> console_;
  Clock::time_point next_try_ = {};
  std::string line_;
  std::string trouble_;  // the last reported error
};

}  // namespace

Result<Fd> open_console_log(const std::string& path) {
  const FoundEntry place = find_entry(path, Strangers::kMayWrite);
  if (!place)
    return fail(ErrorKind::kBadInput,
                fmt::format("{}: {}: {}", path, place.error().where, place.error().why));
  Fd log = place->open(O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0600);
  struct stat status = {};
  if (!log || fstat(log.get(), &status) != 0)
    return fail(ErrorKind::kBadInput, fmt::format("{}: {}", path, std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) return fail(ErrorKind::kBadInput, path + " is no regular file");
  if (!is_ours(status))
    return fail(ErrorKind::kBadInput, path + " is another user's file: remove it, or name another folder");
  return log;
}

Result<bool> record_consoles(const Cluster& cluster, const Names& names, const ConsoleRecord& wanted,
                             const BmcReach& reach, const Caller& caller, const HearConsole& hear) {
  if (auto made = make_folder(wanted.folder); !made) return fail(ErrorKind::kBadInput, made.error().text);
  std::vector<Recording> all;
  for (const std::string& name : names) {
    auto target = target_of(cluster, *find_node(cluster, name), reach);
    if (!target) return fail(at_node(name, target.error()));
    ASSIGN_OR_RETURN(auto log, open_console_log(wanted.folder + "/" + name + ".log"));
    all.emplace_back(std::move(*target), std::move(log), wanted, reach, caller, hear);
  }
  const auto end = Clock::now() + wanted.length;
  while (!caller.stop.stop_requested() && (wanted.length.count() == 0 || Clock::now() < end)) {
    {
      std::vector<std::jthread> attaching;
      for (Recording& recording : all)
        if (recording.is_due()) attaching.emplace_back([&recording] { recording.attach(); });
    }
    std::vector<pollfd> waiting;
    for (const Recording& recording : all) recording.wait_for(waiting);
    poll(waiting.data(), waiting.size(), kLookMs);
    for (Recording& recording : all) recording.take();
  }
  const bool whole = std::ranges::all_of(all, &Recording::is_attached);
  std::vector<std::jthread> leaving;
  for (Recording& recording : all) leaving.emplace_back([&recording] { recording.leave(); });
  return whole;
}

}  // namespace railbed
