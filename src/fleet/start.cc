#include "fleet/start.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>

#include "fleet/bootstrap.h"
#include "fleet/diagnose.h"
#include "fleet/root_start.h"

namespace railbed::fleet {
namespace {

constexpr int kAttempts = 3;
constexpr auto kPause = std::chrono::milliseconds(700);

std::string own_architecture() {
  utsname name = {};
  uname(&name);
  return name.machine;
}

// One attempt: waits for the script and the agent, and handles how each wait may end.
class Start {
 public:
  // The agent must have started by `give_up`, unless it has to be copied or sudo prompts. All attempts share
  // this time.
  Start(const Target& target, FleetContext& context, const Waker& waker, Clock::time_point give_up,
        std::stop_token stop)
      : give_up_(give_up),
        target_(target),
        options_(context.options),
        binaries_(context.binaries),
        launcher_(context.launcher_of(target)),
        waker_(waker),
        stop_(std::move(stop)) {}

  // The reason why the attempt failed, and whether another one may succeed.
  struct Failure {
    Error error;
    bool passing = false;
  };
  // Sets `link` and returns nullopt if the agent is ready; otherwise returns the failure.
  std::optional<Failure> run(std::optional<Link>& link) {
    if (auto failure = spawn(link)) return failure;
    bool ended = false;
    while (true) {
      const auto frame = link->next();
      if (!frame) return failed(frame.error().text);
      if (*frame && (*frame)->kind == FrameKind::kReady) return std::nullopt;
      if (*frame) return failed("answered before it was asked");
      if (auto failure = answer_bootstrap(*link)) return failure;
      if (auto failure = answer_sudo(*link)) return failure;
      if (ended) return diagnosed(*link, true);
      if (stop_.stop_requested()) return Failure{cancelled(target_)};
      switch (link->pump(deadline_, waker_)) {
        case Link::Event::kProgress:
          break;
        case Link::Event::kTimeout:
          return diagnosed(*link, false);
        case Link::Event::kEnd:
          ended = true;
      }
    }
  }

 private:
  std::optional<Failure> spawn(std::optional<Link>& link) {
    const auto words = command();
    if (!words) return Failure{words.error()};
    auto started = Link::start(*words);
    if (!started) {
      Error why = started.error();
      if (!launcher_.when_missing().empty()) why.text += fmt::format("; {}", launcher_.when_missing());
      return Failure{at_node(target_.name, std::move(why))};
    }
    link.emplace(std::move(*started));
    began_ = give_up_ - options_.start_deadline;
    deadline_ = give_up_;
    return std::nullopt;
  }

  Result<std::vector<std::string>> command() {
    if (target_.local && !options_.as_root) return std::vector<std::string>{options_.binary, "agent"};
    ASSIGN_OR_RETURN(const auto known, binaries_.known());
    const std::string start =
        options_.as_root ? root_start(!options_.sudo_password.empty()) : std::string(kStartAsUser);
    const std::string path = launcher_.path_on_node(options_.binary);
    return launcher_.words(target_, bootstrap_command(known, nonce_, start, path), waker_, stop_);
  }

  // Starts a phase with this deadline.
  void allow(std::chrono::milliseconds time) {
    began_ = Clock::now();
    deadline_ = began_ + time;
  }

  std::optional<Failure> answer_bootstrap(Link& link) {
    const auto line = bootstrap_line(link.noise(), nonce_);
    if (!line) return std::nullopt;
    if (line->word == "push") return begin_push(link, line->rest);
    if (line->word != "more" || !payload_.bytes) return Failure{diagnose(target_, *line, own_architecture())};
    send_pieces(link);
    return std::nullopt;
  }

  // Starts to send the agent. `wanted` is "x86_64 zstd gzip". The request stays the script's last line for a
  // while, so it may be seen again.
  std::optional<Failure> begin_push(Link& link, std::string_view wanted) {
    if (payload_.bytes) return std::nullopt;
    const std::size_t space = std::min(wanted.find(' '), wanted.size());
    payload_ = binaries_.payload(std::string(wanted.substr(0, space)), wanted.substr(space));
    if (!payload_.bytes) return failed("asked for an unknown agent");
    link.send(bootstrap_reply(payload_.bytes->size(), payload_.packer));
    send_pieces(link);
    allow(options_.push_deadline);
    return std::nullopt;
  }

  void send_pieces(Link& link) {
    const std::size_t until = std::min(payload_.bytes->size(), bootstrap_allowance(link.noise(), nonce_));
    if (until <= sent_) return;
    link.send(std::string_view(*payload_.bytes).substr(sent_, until - sent_));
    sent_ = until;
  }

  // Sends the password once. A second prompt means that it was wrong, and further attempts may lock the
  // account.
  std::optional<Failure> answer_sudo(Link& link) {
    if (!options_.as_root || options_.sudo_password.empty() || !asks_for_password(link.errors(), nonce_))
      return std::nullopt;
    if (answered_) return Failure{password_refused(target_, without_bootstrap_lines(link.errors(), nonce_))};
    link.forget_errors();
    link.send(options_.sudo_password);
    link.send("\n");
    answered_ = true;
    allow(options_.start_deadline);
    return std::nullopt;
  }

  Failure failed(std::string text) const {
    return {at_node(target_.name, {ErrorKind::kUnavailable, std::move(text)})};
  }

  std::string phase() const {
    if (answered_) return "starting the agent as root";
    if (!payload_.bytes) return "connecting and starting the agent";
    return fmt::format("copying the agent ({} of {} KiB sent)", sent_ >> 10, payload_.bytes->size() >> 10);
  }

  Failure diagnosed(Link& link, bool ended) {
    link.close(ended ? std::chrono::seconds(1) : std::chrono::seconds(0));
    const std::string doing = phase(), noise = without_bootstrap_lines(link.noise(), nonce_);
    Sighting seen;
    seen.doing = doing;
    seen.errors = link.errors();
    seen.noise = noise;
    if (ended) seen.exit_code = link.exit_code();
    seen.waited = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - began_);
    Diagnosis diagnosis = diagnose(target_, seen);
    return {std::move(diagnosis.error), diagnosis.passing && !payload_.bytes};
  }

  const Clock::time_point give_up_;
  const Target& target_;
  const FleetOptions& options_;
  AgentBinaries& binaries_;
  AgentLauncher& launcher_;
  const Waker& waker_;
  std::stop_token stop_;
  const std::string nonce_ = make_nonce();
  AgentBinaries::Payload payload_;  // set when requested
  std::size_t sent_ = 0;            // bytes of the payload
  bool answered_ = false;           // the password was sent
  Clock::time_point began_, deadline_;
};

}  // namespace

Error cancelled(const Target& target) { return at_node(target.name, {ErrorKind::kCancelled, "cancelled"}); }

Result<Link> start_agent(const Target& target, FleetContext& context, const Waker& waker,
                         std::stop_token stop) {
  const auto give_up = Clock::now() + context.options.start_deadline;
  for (int attempt = 1;; ++attempt) {
    std::optional<Link> link;
    auto failure = Start(target, context, waker, give_up, stop).run(link);
    if (!failure) return std::move(*link);
    if (link) link->close(std::chrono::milliseconds(0));
    const auto next = Clock::now() + attempt * kPause;
    if (!failure->passing || attempt == kAttempts || next >= give_up) return fail(std::move(failure->error));
    waker.wait_until(next, stop);
    if (stop.stop_requested()) return fail(cancelled(target));
  }
}

}  // namespace railbed::fleet
