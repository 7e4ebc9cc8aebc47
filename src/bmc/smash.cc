// SMASH CLP client over ssh. It works at the BMC's prompt as a person would, in one session for all calls,
// carried by OpenSSH's own program.
//
// The password. ssh reads it from a terminal (/dev/tty), so it gets a terminal of its own, apart from the
// pipes that carry the session. Only ssh writes there: the output of the BMC, before the login or after,
// comes through the pipes and is never taken for a password prompt. (The text of a keyboard-interactive
// prompt is the BMC's, whose host key is verified by then.) The password is sent once. At a second prompt ssh
// is ended, so that no BMC gets the password twice and one call is one attempt. The password is on no command
// line, in no environment and in no file, and the text from the terminal is never shown. (SSH_ASKPASS would
// need a program that finds the secret again, by a path in its environment that every process of this user
// can open as well.)
//
// The host key. It is always checked against the known_hosts files of the user and the system. Nothing is
// added to them, and no configuration file of ssh is used. Old algorithms are allowed for this one call,
// because many BMCs support no others; those that the installed ssh no longer supports are left out (`ssh
// -Q`).
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/shell.h"
#include "base/text.h"
#include "base/wipe.h"
#include "bmc/bmc.h"
#include "bmc/smash_text.h"
#include "os/process.h"
#include "os/terminal.h"
#include "os/wait.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

// A login may take this long beyond `silence`, because a BMC's processor takes seconds for a key exchange.
// The BMC counts as dead earlier only if it does not accept the connection.
constexpr auto kSshLogin = std::chrono::seconds(20);
constexpr auto kPromptSettles = std::chrono::milliseconds(100);  // a prompt is the last output for this long
constexpr auto kClpSwitching = std::chrono::seconds(10);         // extra time to report a power switch
// Limit for the end of a session. BMCs have few sessions, and keep forgotten ones.
constexpr auto kClpLeaving = std::chrono::milliseconds(500);
constexpr std::size_t kMaxClpAnswer = 256 << 10;
constexpr std::size_t kMaxSshSaid = 16 << 10;

// Algorithms of BMCs ten years old, in addition to those that OpenSSH offers by itself.
struct OldAlgorithms {
  std::string_view option;
  std::string_view list;  // for ssh -Q
  std::vector<std::string_view> names;
};
std::vector<OldAlgorithms> old_algorithms() {
  return {
      {"KexAlgorithms",
       "kex",
       {"diffie-hellman-group14-sha1", "diffie-hellman-group-exchange-sha1", "diffie-hellman-group1-sha1"}},
      {"HostKeyAlgorithms", "key", {"ssh-rsa", "ssh-dss"}},
      {"Ciphers", "cipher", {"aes128-cbc", "aes256-cbc", "3des-cbc"}},
      {"MACs", "mac", {"hmac-sha1", "hmac-sha1-96", "hmac-md5"}},
  };
}

// Returns options such as "-oKexAlgorithms=+…" with the algorithms that the installed ssh still supports.
Words old_options(const BmcOptions& options) {
  Words words;
  for (const OldAlgorithms& algorithms : old_algorithms()) {
    const auto list = run_program({"ssh", "-Q", std::string(algorithms.list)}, options.silence, options.stop);
    const std::string value = list.ok() ? known_algorithms(list->output, algorithms.names) : "";
    if (!value.empty()) words.push_back(fmt::format("-o{}={}", algorithms.option, value));
  }
  return words;
}

Words ssh_words(const BmcTarget& target, const BmcOptions& options) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options.silence).count();
  Words words = {"ssh",
                 "-F",
                 "/dev/null",
                 "-tt",  // at a terminal a CLP shows its prompt
                 "-oStrictHostKeyChecking=yes",
                 "-oUpdateHostKeys=no",
                 "-oEscapeChar=none",
                 "-oLogLevel=ERROR",  // no banner: the rest is ssh's own messages
                 "-oPubkeyAuthentication=no",
                 "-oPreferredAuthentications=keyboard-interactive,password",
                 "-oNumberOfPasswordPrompts=1",
                 fmt::format("-oConnectTimeout={}", std::max<long>(1, seconds))};
  const Words old = old_options(options);
  words.insert(words.end(), old.begin(), old.end());
  words.insert(words.end(), {"-l", target.login.user, "--", target.address});
  return words;
}

// Returns our environment without the variables that would let ssh prompt elsewhere, or pass this terminal's
// settings to the BMC.
Words ssh_environment() {
  constexpr std::array kLeftOut = {"SSH_ASKPASS", "SSH_AUTH_SOCK", "DISPLAY", "LC_ALL=", "TERM="};
  Words kept = {"LC_ALL=C", "TERM=dumb", "SSH_ASKPASS_REQUIRE=never"};
  for (char** one = environ; *one != nullptr; ++one)
    if (std::ranges::none_of(kLeftOut,
                             [&](std::string_view name) { return std::string_view(*one).starts_with(name); }))
      kept.emplace_back(*one);
  return kept;
}

Result<AskingProgram> start_ssh(const BmcTarget& target, const BmcOptions& options) {
  Words environment = ssh_environment();
  std::vector<char*> pointers;
  for (std::string& one : environment) pointers.push_back(one.data());
  pointers.push_back(nullptr);
  return start_beside_terminal(ssh_words(target, options), pointers.data());
}

// Returns the command with which a person can see the host key and accept it.
ShellCommand login_by_hand(const BmcTarget& target) {
  return command("ssh -oHostKeyAlgorithms=+ssh-rsa -oKexAlgorithms=+diffie-hellman-group14-sha1 {}@{}",
                 target.login.user, target.address);
}

// Appends the available bytes of `from` to `into`, until that exceeds `most`. Returns false at the end or on
// an error.
bool take_some(const Fd& from, std::string& into, std::size_t most) {
  std::array<char, 4096> piece;
  while (into.size() <= most) {
    const ssize_t got = ::read(from.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    into.append(piece.data(), static_cast<std::size_t>(got));
  }
  return true;
}

// One login at a BMC's prompt. The destructor leaves the prompt with "exit" where the session still works.
class ClpSession {
 public:
  ClpSession(AskingProgram ssh, const BmcOptions& options) : ssh_(std::move(ssh)), options_(options) {}
  ~ClpSession();

  // Logs in and waits for the first prompt; returns the reason if there is none.
  std::optional<Miss> log_in(const BmcTarget& target);
  // Sends a command and returns the output up to the next prompt. After a miss the session is of no use.
  Reading<ClpAnswer> ask(const std::string& command, std::chrono::milliseconds silence,
                         Clock::time_point deadline);

 private:
  enum class Heard { kMore, kEnded, kNothing, kStopped, kTooMuch };

  Heard listen(Clock::time_point until);
  std::optional<Miss> answer_question(std::string_view password);
  std::optional<Miss> await_prompt(std::chrono::milliseconds silence, Clock::time_point deadline);
  bool at_prompt() const;
  void type(std::string_view text) const;
  Miss broken(Heard heard) const;
  Miss not_logged_in(Heard heard, const BmcTarget& target);

  AskingProgram ssh_;
  const BmcOptions& options_;
  std::string out_;    // output since the last command
  std::string said_;   // ssh's own messages
  std::string asked_;  // text at the terminal; never shown
  bool answered_ = false;
  bool out_ended_ = false;
  std::string prompt_;
  bool sound_ = false;
};

// Collects output until then. Returns kMore as soon as there is any from the BMC or at the terminal; ssh's
// own messages are collected but end nothing.
ClpSession::Heard ClpSession::listen(Clock::time_point until) {
  const std::size_t before = out_.size() + asked_.size();
  while (true) {
    if (options_.stop.stop_requested()) return Heard::kStopped;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    std::array<pollfd, 3> waiting = {{{ssh_.program.out.get(), POLLIN, 0},
                                      {ssh_.program.err.get(), POLLIN, 0},
                                      {ssh_.terminal.get(), POLLIN, 0}}};
    const int wait = static_cast<int>(std::clamp<long long>(left.count(), 0, kPollSliceMs));
    const int ready = poll(waiting.data(), waiting.size(), wait);
    if (ready > 0) {
      if (!take_some(ssh_.program.err, said_, kMaxSshSaid)) ssh_.program.err.reset();
      (void)take_some(ssh_.terminal, asked_, kMaxSshSaid);
      if (!take_some(ssh_.program.out, out_, kMaxClpAnswer)) out_ended_ = true;
    }
    if (out_.size() > kMaxClpAnswer || said_.size() > kMaxSshSaid || asked_.size() > kMaxSshSaid)
      return Heard::kTooMuch;
    if (out_.size() + asked_.size() > before) return Heard::kMore;
    if (out_ended_) return Heard::kEnded;
    if (left.count() <= 0) return Heard::kNothing;
  }
}

void ClpSession::type(std::string_view text) const {
  // If the BMC accepts no input, no response comes, and the wait for it times out.
  (void)send(ssh_.program.in.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

Miss ClpSession::broken(Heard heard) const {
  if (heard == Heard::kStopped) return {Missing::kTimeout, "stopped"};
  if (heard == Heard::kTooMuch) return {Missing::kGarbled, "its BMC prints without end"};
  if (heard == Heard::kNothing) return {Missing::kTimeout, "its BMC stopped answering"};
  const std::string words = printable(trim(plain_lines(out_)).substr(0, 200));
  return {Missing::kGarbled,
          words.empty() ? "its BMC ended the session" : "its BMC ended the session: " + words};
}

Miss ClpSession::not_logged_in(Heard heard, const BmcTarget& target) {
  if (heard == Heard::kEnded && out_.empty()) {
    const auto until = Clock::now() + kClpLeaving;
    while (ssh_.program.err && said_.size() <= kMaxSshSaid &&
           wait_readable(ssh_.program.err.get(), until, options_.stop) == Waited::kReady)
      if (!take_some(ssh_.program.err, said_, kMaxSshSaid)) ssh_.program.err.reset();
    return why_no_session(said_, answered_, login_by_hand(target));
  }
  if (heard != Heard::kNothing) return broken(heard);
  if (const std::string line = last_clp_line(out_); !line.empty())
    return {Missing::kUnsupported,
            fmt::format("its BMC greets with \"{}\", which is no SMASH CLP", printable(line))};
  return {Missing::kTimeout, answered_ ? "its BMC took the password and stopped answering"
                                       : "its BMC takes the connection and says nothing"};
}

bool ClpSession::at_prompt() const {
  const auto prompt = find_clp_prompt(out_);
  if (!prompt) return false;
  if (prompt_.empty()) return true;
  // Before the first line end there is only the echo of the command.
  return *prompt == prompt_ && out_.find('\n') != std::string::npos;
}

// Sends the password at ssh's first prompt for it. ssh prompts once; a second prompt means that the password
// was wrong.
std::optional<Miss> ClpSession::answer_question(std::string_view password) {
  const std::string_view question = trim(asked_);
  if (question.empty()) return std::nullopt;
  if (answered_) return Miss{Missing::kDenied, "its BMC refuses user or password"};
  if (lower(question).find("password") == std::string::npos) return std::nullopt;
  // The rest of this prompt must not count as a second one.
  while (listen(Clock::now() + kPromptSettles) == Heard::kMore) {
  }
  std::string line = std::string(password) + "\n";
  const bool whole = write_all(ssh_.terminal.get(), line);
  wipe(line);
  answered_ = true;
  asked_.clear();
  if (!whole) return Miss{Missing::kGarbled, "ssh took no password"};
  return std::nullopt;
}

// The login is complete when a prompt of the BMC is the last output for kPromptSettles. Until the BMC prints
// anything, text at the terminal is ssh's: its prompt gets the password. The whole login may take `silence` +
// kSshLogin, at most the deadline. Once the BMC prints, each pause may take `silence` at most.
std::optional<Miss> ClpSession::log_in(const BmcTarget& target) {
  const auto until =
      Clock::now() + std::min<std::chrono::milliseconds>(options_.silence + kSshLogin, options_.deadline);
  while (true) {
    const bool prompt = at_prompt();
    const auto now = Clock::now();
    // Once it prints, the slow part (the key exchange) is over.
    const auto greeted = std::min(until, now + options_.silence);
    const Heard heard = listen(prompt ? now + kPromptSettles : out_.empty() ? until : greeted);
    if (prompt && heard == Heard::kNothing) break;
    if (heard != Heard::kMore || Clock::now() >= until) return not_logged_in(heard, target);
    if (out_.empty())
      if (auto miss = answer_question(target.login.password)) return miss;
  }
  prompt_ = *find_clp_prompt(out_);
  sound_ = true;
  return std::nullopt;
}

std::optional<Miss> ClpSession::await_prompt(std::chrono::milliseconds silence, Clock::time_point deadline) {
  while (true) {
    const Heard heard = listen(std::min(Clock::now() + silence, deadline));
    if (heard != Heard::kMore) return broken(heard);
    if (at_prompt()) return std::nullopt;
    if (Clock::now() >= deadline) return broken(Heard::kNothing);
  }
}

Reading<ClpAnswer> ClpSession::ask(const std::string& command, std::chrono::milliseconds silence,
                                   Clock::time_point deadline) {
  out_.clear();
  type(command + "\r");
  if (auto miss = await_prompt(silence, deadline)) {
    sound_ = false;
    return {std::move(*miss), command};
  }
  return {parse_clp(out_, command), command};
}

ClpSession::~ClpSession() {
  if (!sound_) return;
  type("exit\r");
  out_.clear();
  const auto until = Clock::now() + kClpLeaving;
  while (Clock::now() < until && listen(until) == Heard::kMore) {
  }
}

class SmashBmc final : public Bmc {
 public:
  SmashBmc(BmcTarget target, BmcOptions options) : target_(std::move(target)), options_(std::move(options)) {}

  Reading<PowerState> power() override {
    return question<PowerState>([&]() -> Reading<PowerState> {
      const Reading<ClpAnswer> system = find_system();
      if (!system.ok()) return {system.miss(), from()};
      std::optional<PowerState> power;
      if (!service_.empty()) {
        const auto service = show(service_);
        if (service.ok()) power = clp_service_power(*service);
        if (!session_) return {service.miss(), from()};
      }
      if (!power) power = clp_system_power(*system);
      if (power) return {*power, from()};
      return {Miss{Missing::kUnsupported, "its SMASH CLP does not tell the power of " + system_}, from()};
    });
  }

  Reading<BmcDevice> device() override {
    return question<BmcDevice>([&]() -> Reading<BmcDevice> {
      const auto system = find_system();
      if (!system.ok()) return {system.miss(), from()};
      // HPE's management processor (map1) describes itself.
      if (!has_map_) return not_told<BmcDevice>();
      const auto firmware = show("/map1/firmware1");
      if (!session_) return {firmware.miss(), from()};
      const auto version = firmware.ok() ? clp_property(*firmware, "version") : "";
      if (version.empty()) return not_told<BmcDevice>();
      return {BmcDevice{std::string(clp_property(*firmware, "name")), std::string(version)}, from()};
    });
  }

  Reading<std::vector<BmcSensor>> sensors() override {
    return question<std::vector<BmcSensor>>([&]() -> Reading<std::vector<BmcSensor>> {
      const auto targets = find_sensors();
      if (!targets.ok()) return {targets.miss(), from()};
      std::vector<BmcSensor> sensors;
      for (const std::string& target : *targets) {
        const auto answer = show(target);
        // A sensor that the BMC refuses to show does not affect the others.
        if (!answer.ok() && !session_) return {answer.miss(), from()};
        const std::string_view name = std::string_view(target).substr(target.rfind('/') + 1);
        sensors.push_back(answer.ok() ? parse_clp_sensor(*answer, name)
                                      : BmcSensor{.name = std::string(name), .state = answer.miss().why});
      }
      return {std::move(sensors), from()};
    });
  }

  Reading<std::vector<BmcEvent>> events() override { return not_told<std::vector<BmcEvent>>(); }
  Reading<BmcLog> log() override { return not_told<BmcLog>(); }
  Reading<BmcLan> lan() override { return not_told<BmcLan>(); }
  Reading<double> clock_offset() override { return not_told<double>(); }
  Reading<SerialOverLan> serial() override { return not_told<SerialOverLan>(); }
  BmcProtocol protocol() const override { return BmcProtocol::kSmash; }

  Result<void> change_power(PowerAction action) override {
    switch (action) {
      case PowerAction::kOn:
        return switch_power({"start"});
      case PowerAction::kOff:
        // Forces the power off regardless of the operating system. Where a CLP does not know that option, the
        // first command has no effect.
        return switch_power({"stop -force", "stop"});
      case PowerAction::kReset:
        return switch_power({"reset"});
      case PowerAction::kSoft:
        return fail(ErrorKind::kUnavailable,
                    "SMASH CLP has no word for a shutdown by the operating system that all makers' BMCs take "
                    "so: say `protocol: ipmi` or `redfish`, or shut down on the node");
      case PowerAction::kCycle:
        break;
    }
    return fail(ErrorKind::kUnavailable,
                "SMASH CLP has no power cycle: `railbed power off` and then `on`, or `reset`");
  }
  Result<void> set_boot(const BootOrder&) override { return cannot("set what the node boots from"); }
  Result<void> set_identify(int) override { return cannot("switch the light that finds it"); }
  Result<void> clear_events() override { return cannot("clear the event log"); }
  Result<void> set_serial_rate(int) override { return cannot("set the serial console's rate"); }
  Result<void> set_password(const std::string&) override { return cannot("set a password"); }

 private:
  std::string from() const { return "SMASH CLP at " + target_.address; }

  template <class T>
  Reading<T> not_told() const {
    return {Miss{Missing::kUnsupported, "SMASH CLP does not tell it: `protocol: ipmi` or `redfish` does"},
            from()};
  }
  static tl::unexpected<Error> cannot(std::string_view what) {
    return fail(ErrorKind::kUnavailable,
                fmt::format("SMASH CLP cannot {}: `protocol: ipmi` or `redfish` can", what));
  }

  // Runs a query in the session, which the first query opens and the others share. After a refused login
  // there is no further attempt.
  template <class T, class Ask>
  Reading<T> question(Ask&& ask) {
    deadline_ = Clock::now() + options_.deadline;
    if (refused_) return {*refused_, from()};
    if (!session_)
      if (auto miss = open()) return {std::move(*miss), from()};
    return ask();
  }
  std::optional<Miss> open() {
    auto ssh = start_ssh(target_, options_);
    if (!ssh) return Miss{Missing::kAbsent, ssh.error().text + " (Debian and Ubuntu: openssh-client)"};
    auto session = std::make_unique<ClpSession>(std::move(*ssh), options_);
    auto miss = session->log_in(target_);
    if (miss && miss->missing == Missing::kDenied) refused_ = miss;
    if (!miss) session_ = std::move(session);
    return miss;
  }

  // Runs a command. A session that broke is dropped.
  Reading<ClpAnswer> tell(const std::string& command, std::chrono::milliseconds silence) {
    auto answer = session_->ask(command, silence, deadline_);
    if (!answer.ok()) session_.reset();
    return answer;
  }
  Reading<ClpAnswer> show(const std::string& target) {
    if (!session_) return {Miss{Missing::kTimeout, "its BMC ended the session"}, from()};
    auto answer = tell("show " + target, options_.silence);
    if (!answer.ok()) return answer;
    if (auto refused = clp_refusal(*answer)) return {std::move(*refused), from()};
    return answer;
  }

  // Finds the system: /system1, or /admin1/system1 below an administrative domain. The targets of the root
  // decide.
  Reading<ClpAnswer> find_system() {
    if (!system_.empty()) return show_system();
    auto root = show("/");
    has_map_ = root.ok() && std::ranges::find(root->targets, "map1") != root->targets.end();
    std::string folder;
    for (int depth = 0; root.ok() && depth < 2; ++depth) {
      const auto& targets = root->targets;
      const auto named = [&](std::string_view name) {
        return std::ranges::find(targets, name) != targets.end();
      };
      if (named("system1")) {
        system_ = folder + "/system1";
        return show_system();
      }
      if (!named("admin1")) break;
      folder += "/admin1";
      root = show(folder);
    }
    if (!root.ok()) return root;
    return {Miss{Missing::kUnsupported, "its SMASH CLP names no system1"}, from()};
  }
  Reading<ClpAnswer> show_system() {
    auto system = show(system_);
    if (system.ok())
      for (const std::string& target : system->targets)
        if (target.starts_with("pwrmgtsvc") && service_.empty()) service_ = system_ + "/" + target;
    return system;
  }
  Reading<std::vector<std::string>> find_sensors() {
    const auto system = find_system();
    if (!system.ok()) return {system.miss(), from()};
    std::vector<std::string> found;
    const auto add = [&](std::string target) {
      if (found.size() < kMaxClpSensors) found.push_back(std::move(target));
    };
    for (const std::string& target : system->targets) {
      const std::string path = system_ + "/" + target;
      if (is_clp_sensor(target)) add(path);
      if (!is_clp_sensor_folder(target)) continue;
      const auto folder = show(path);
      if (!folder.ok()) return {folder.miss(), from()};
      for (const std::string& sensor : folder->targets) add(path + "/" + sensor);
    }
    if (found.empty()) return {Miss{Missing::kUnsupported, "its SMASH CLP names no sensors"}, from()};
    return {std::move(found), from()};
  }

  // Returns the target that has the verb: the power service, else the system. A target that lists no verbs
  // counts as having it.
  Reading<std::string> find_switch(std::string_view verb) {
    const auto system = find_system();
    if (!system.ok()) return {system.miss(), from()};
    if (!service_.empty()) {
      const auto service = show(service_);
      if (!service.ok()) return {service.miss(), from()};
      if (service->verbs.empty() || has_clp_verb(*service, verb)) return {service_, from()};
    }
    if (system->verbs.empty() || has_clp_verb(*system, verb)) return {system_, from()};
    return {Miss{Missing::kUnsupported, fmt::format("its SMASH CLP has no `{}` for the power", verb)},
            from()};
  }
  // Each command is a fallback for the one before, used if the BMC does not understand that.
  Result<void> switch_power(const std::vector<std::string>& commands) {
    const auto done = question<bool>([&]() -> Reading<bool> {
      const auto target = find_switch(words(commands.front()).front());
      if (!target.ok()) return {target.miss(), from()};
      Miss miss{Missing::kGarbled, ""};
      for (const std::string& command : commands) {
        const auto answer = tell(command + " " + *target, options_.silence + kClpSwitching);
        if (!answer.ok())
          return {Miss{answer.miss().missing, answer.miss().why + "; it may have taken the command"}, from()};
        const auto refused = clp_refusal(*answer);
        if (!refused && (answer->status || !answer->said.empty())) return {true, from()};
        miss = refused.value_or(Miss{Missing::kGarbled, "its BMC does not say whether it took it"});
        if (!is_unknown_to_clp(*answer)) break;
      }
      return {std::move(miss), from()};
    });
    RETURN_IF_ERROR(required(done));
    return {};
  }

  BmcTarget target_;
  BmcOptions options_;
  Clock::time_point deadline_;
  std::unique_ptr<ClpSession> session_;
  std::optional<Miss> refused_;
  std::string system_;   // path of the system; empty until it is found
  std::string service_;  // path of its power management service; empty if it has none
  bool has_map_ = false;
};

}  // namespace

std::unique_ptr<Bmc> open_smash(BmcTarget target, BmcOptions options) {
  return std::make_unique<SmashBmc>(std::move(target), std::move(options));
}

}  // namespace railbed
