#include "apply/transaction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <thread>

#include "apply/boot_guard.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/shell.h"
#include "base/text.h"
#include "settings/files.h"
#include "settings/step.h"

namespace railbed {
namespace {

constexpr std::uint64_t kFreeBytes = 16 << 20;
constexpr int kSpares = 6;  // a decision, two states, a reason, and some more
constexpr std::size_t kSpareBytes = 4096;
constexpr std::chrono::seconds kFirstPause{1};
constexpr std::chrono::seconds kLongestPause{30};
constexpr std::size_t kMostLog = 64 << 10;
constexpr std::string_view kCommitWord = "commit";
constexpr std::string_view kRevertWord = "revert";

std::string spare_name(int number) { return fmt::format("spare.{}", number); }

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Adds the missing folders on the way to a path, the outermost first.
void add_missing_folders(const WritableHost& host, const std::string& path,
                         std::vector<std::string>& missing) {
  std::vector<std::string> own;
  for (std::string folder = parent_of(path); folder.size() > 1 && !host.is_folder(folder);
       folder = parent_of(folder))
    own.push_back(folder);
  for (const std::string& folder : reversed(own))
    if (std::ranges::find(missing, folder) == missing.end()) missing.push_back(folder);
}

KeptFile file_after(const FileEdit& edit, const std::optional<KeptFile>& before) {
  return {*edit.after, edit.mode, geteuid(), getegid(), before ? before->label : ""};
}

Result<void> add_edit(const WritableHost& host, const FileEdit& edit, std::vector<KeptEdit>& files) {
  ASSIGN_OR_RETURN(auto before, host.read(edit.path));
  if (edit.aside) {
    if (!before) return {};  // it is gone already
    const std::string aside = aside_name(edit.path);
    ASSIGN_OR_RETURN(auto there, host.read(aside));
    files.push_back({aside, std::move(there), *before});
    files.push_back({edit.path, std::move(before), std::nullopt});
    return {};
  }
  const bool same =
      before.has_value() == edit.before.has_value() && (!edit.before || before->content == *edit.before);
  if (!same)
    return fail(ErrorKind::kUnavailable, edit.path + " has changed since the plan was made: plan again");
  KeptEdit kept{edit.path, std::move(before), std::nullopt};
  if (edit.after) kept.after = file_after(edit, kept.before);
  files.push_back(std::move(kept));
  return {};
}

Result<void> check_space(const WritableHost& host, const Journal& journal) {
  std::uint64_t bytes = kFreeBytes + kSpares * kSpareBytes;
  for (const KeptEdit& edit : journal.files)
    for (const auto* file : {&edit.before, &edit.after})
      if (*file) bytes += 2 * (*file)->content.bytes.size();
  for (const char* folder : {"/etc", "/var/lib"})
    if (const std::uint64_t left = host.bytes_free(folder); left < bytes)
      return fail(ErrorKind::kUnavailable,
                  fmt::format("{} has {} MiB left, {} MiB are wanted: make room there", folder, left >> 20,
                              (bytes >> 20) + 1));
  return {};
}

// dpkg and dnf may download gigabytes; writing a boot menu examines every disk.
int seconds_for(StepKind kind) {
  switch (kind) {
    case StepKind::kInstallPackages:
    case StepKind::kRefreshPackages:
    case StepKind::kFetchKey:
      return 2400;
    case StepKind::kUpdateGrub:
    case StepKind::kSetKernelArguments:
      return 300;
    default:
      return 90;
  }
}

// Returns true for undo commands that may fail: a module may be in use by now, a unit or a key may be gone,
// and a device whose connection file is gone is no longer connected.
bool is_allowed_to_fail(const std::vector<std::string>& words) {
  if (words.front() == "nmcli") return words.size() > 2 && words[2] == "disconnect";
  return words.front() == "modprobe" || words.front() == "systemctl" || words.front() == "sysctl";
}

// Adds the commands to run again if a rollback is itself rolled back. Early in a boot nothing is started.
void add_redo(const std::vector<TimedCommand>& commands, UndoWhen when, std::vector<UndoCommand>& undo) {
  for (const TimedCommand& command : commands) {
    if (command.words.front() == "sysctl") continue;  // add_values()
    undo.push_back({when, true, false, command.words});
    std::vector<std::string> words = command.words;
    if (words.front() == "systemctl") std::erase(words, "--now");
    if (words == std::vector<std::string>{"netplan", "apply"}) words.back() = "generate";
    const bool lasts = words.front() == "grubby" || words.front().find("grub") != std::string::npos ||
                       (words.front() == "systemctl" && (words[1] == "enable" || words[1] == "disable")) ||
                       words.back() == "generate";
    if (lasts) undo.push_back({when, false, true, std::move(words)});
  }
}

// Adds commands that restore the present values of keys that a rollback sets.
void add_values(const std::vector<TimedCommand>& commands, const WritableHost& host,
                std::vector<UndoCommand>& undo) {
  for (const TimedCommand& command : commands) {
    if (command.words.size() != 3 || command.words[1] != "--write") continue;
    const std::string key = command.words[2].substr(0, command.words[2].find('='));
    const auto value = host.ask({"sysctl", "--values", key});
    if (value && value->exit_code == 0)
      undo.push_back({UndoWhen::kAfterFiles,
                      true,
                      false,
                      {"sysctl", "--write", fmt::format("{}={}", key, trim(value->output))}});
  }
}

bool has_word(std::string_view text, std::string_view word) {
  constexpr std::string_view kOfNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || kOfNames.find(text[at - 1]) == std::string_view::npos;
    const bool ends = end == text.size() || kOfNames.find(text[end]) == std::string_view::npos;
    if (begins && ends) return true;
  }
  return false;
}

bool speaks_of(const Journal& journal, std::string_view interface) {
  const auto in = [&](const std::optional<KeptFile>& file) {
    return file && has_word(file->content.bytes, interface);
  };
  return std::ranges::any_of(journal.files,
                             [&](const KeptEdit& edit) { return in(edit.before) || in(edit.after); }) ||
         std::ranges::any_of(journal.request.steps, [&](const NodeStep& step) {
           return std::ranges::find(step.arguments, interface) != step.arguments.end();
         });
}

// Returns what a person can do about a command of fetch-key that failed; empty for other commands.
std::string_view advice_about(const std::vector<std::string>& words) {
  if (words.front() == "curl")
    return "\nThe node has to reach this address. Behind a proxy or without the internet, name a mirror that it "
           "reaches in configure.nvidia_repository, or say \"none\" there and install the packages another way.";
  if (words.front() == "gpg" && std::ranges::find(words, "--list-keys") != words.end())
    return "\nWhat was fetched has no key with this fingerprint, and nothing trusts it: it is no mirror of NVIDIA's, or "
           "NVIDIA has a new key. Compare with NVIDIA's announcement, then name it in configure.nvidia_key.";
  return "";
}

std::string last_lines(std::string_view text) {
  constexpr std::size_t kMost = 2000;
  text = trim(text);
  return std::string(text.substr(text.size() > kMost ? text.size() - kMost : 0));
}

std::string journal_path(const std::string& id) { return fmt::format("{}/{}/journal", kApplyFolder, id); }

// Fails if a newer railbed wrote the record. Passes a document that is no record: its decoding then fails.
Result<void> check_record_version(const json::Value& document, const std::string& id) {
  const auto stamp = json::decode<KeptStamp>(document);
  return stamp ? check_kept(Kept::kApply, journal_path(id), *stamp) : Result<void>();
}

}  // namespace

Result<Transaction> Transaction::stage(WritableHost& host, const ApplyRequest& request) {
  RETURN_IF_ERROR(check_request(request));
  Journal journal{.request = request};
  for (const FileEdit& edit : request.files) RETURN_IF_ERROR(add_edit(host, edit, journal.files));
  for (const NodeStep& step : request.steps) {
    // A unit is stopped through the file that it was started from. A key has to be there before a file names it:
    // apt refuses to refresh anything else as long as it is not.
    const bool before_files = step.kind == StepKind::kDisableUnit || step.kind == StepKind::kFetchKey;
    auto& commands = before_files ? journal.first : journal.then;
    for (auto& words : commands_of(step, Platform{.family = request.family}))
      commands.push_back({std::move(words), seconds_for(step.kind)});
  }
  journal.undo = undo_of(request, host);
  return keep(host, std::move(journal));
}

Result<std::vector<Transaction>> Transaction::committed_since(WritableHost& host, const std::string& id) {
  auto all = past_applies(host);
  if (!all) return all;
  std::vector<Transaction> since;
  for (Transaction& past : *all)
    if (past.state() == ApplyState::kCommitted && (!since.empty() || past.journal().request.id == id))
      since.push_back(std::move(past));
  return since;
}

Result<Transaction> Transaction::stage_rollback(WritableHost& host, ApplyRequest request,
                                                const std::string& target, bool discard) {
  ASSIGN_OR_RETURN(const auto found, committed_since(host, target));
  const std::vector<Transaction>& since = found;
  if (since.empty())
    return fail(ErrorKind::kUnavailable,
                fmt::format("this node has no committed apply {}: `railbed history` lists them", target));
  Journal journal{.request = std::move(request)};
  journal.to_network = network_state(host);
  for (const Transaction& past : reversed(since)) {
    for (const UndoCommand& command : past.journal().undo)
      if (command.running)
        (command.when == UndoWhen::kBeforeFiles ? journal.first : journal.then)
            .push_back({command.words, 90, !is_allowed_to_fail(command.words)});
    const auto& made = past.journal().folders;
    journal.emptied.insert(journal.emptied.end(), made.rbegin(), made.rend());
    if (const auto after = past.network_after())
      journal.to_network = taken_back(past.journal().network, *after, *journal.to_network);
  }
  std::map<std::string, KeptEdit> files;  // from before the first to after the last of these applies
  for (const Transaction& past : since) {
    for (const KeptEdit& edit : past.journal().files)
      files.try_emplace(edit.path, edit).first->second.after = edit.after;
    add_redo(past.journal().first, UndoWhen::kBeforeFiles, journal.undo);
    add_redo(past.journal().then, UndoWhen::kAfterFiles, journal.undo);
  }
  add_values(journal.then, host, journal.undo);
  std::string edited;
  // Only the last one that ran grubby knows what is there now.
  const auto sets_arguments = [](const Transaction& past) {
    return std::ranges::any_of(past.journal().then,
                               [](const TimedCommand& command) { return command.words.front() == "grubby"; });
  };
  const auto last = std::ranges::find_if(since.rbegin(), since.rend(), sets_arguments);
  if (!discard && last != since.rend())
    if (const std::string now = changed_kernel_arguments(last->journal().request, host); !now.empty())
      edited += "\n" + now;
  for (const auto& [path, whole] : files) {
    ASSIGN_OR_RETURN(auto now, host.read(path));
    if (is_same_file(now, whole.before)) continue;
    KeptEdit back{path, std::move(now), whole.before};
    if (!discard && !is_same_file(back.before, whole.after)) {
      auto merged = back.before ? without_change(whole, *back.before) : std::nullopt;
      if (!merged) edited += fmt::format("\n{}:\n{}", path, difference(whole.after, back.before));
      back.after = std::move(merged);
    }
    journal.files.push_back(std::move(back));
  }
  if (!edited.empty())
    return fail(
        ErrorKind::kUnavailable,
        "somebody has edited what would be rolled back. Save these lines elsewhere, or give them up with "
        "--discard:" +
            edited);
  return keep(host, std::move(journal));
}

Result<Transaction> Transaction::keep(WritableHost& host, Journal journal) {
  ASSIGN_OR_RETURN(const auto past, past_applies(host));
  journal.number = past.empty() ? 1 : past.back().journal().number + 1;
  journal.begun = utc_now();
  journal.boot = boot_now(host);
  journal.uptime = uptime_now();
  journal.network = network_state(host);
  for (const KeptEdit& edit : journal.files)
    if (edit.after) add_missing_folders(host, edit.path, journal.folders);
  RETURN_IF_ERROR(check_space(host, journal));
  Transaction made(host, std::move(journal));
  RETURN_IF_ERROR(host.make_folder(std::string(kApplyFolder), 0700));
  RETURN_IF_ERROR(host.make_folder(made.at(""), 0700));
  RETURN_IF_ERROR(made.put("journal", json::dump(json::encode(made.journal_))));
  for (int i = 0; i < kSpares; ++i) RETURN_IF_ERROR(made.put(spare_name(i), std::string(kSpareBytes, ' ')));
  RETURN_IF_ERROR(made.enter(ApplyState::kStaged));
  return made;
}

Result<Transaction> Transaction::open(WritableHost& host, const std::string& id) {
  if (!is_apply_id(id)) return fail(ErrorKind::kBadInput, "\"" + printable(id) + "\" is no apply's name");
  ASSIGN_OR_RETURN(auto file, host.read_own(journal_path(id)));
  if (!file) return fail(ErrorKind::kBadInput, "this node knows no apply " + id);
  const auto document = json::parse(file->content.bytes);
  if (!document) return fail(document.error(), "the journal of apply " + id);
  RETURN_IF_ERROR(check_record_version(*document, id));
  auto journal = json::decode<Journal>(*document);
  if (!journal) return fail(journal.error(), "the journal of apply " + id);
  if (journal->request.id != id)
    return fail(ErrorKind::kBadInput, "the journal of apply " + id + " is of another");
  if (auto sound = check_journal(*journal); !sound) return fail(sound.error(), "the journal of apply " + id);
  return Transaction(host, *std::move(journal));
}

Transaction::Transaction(WritableHost& host, Journal journal) : host_(&host), journal_(std::move(journal)) {}

std::string Transaction::at(std::string_view name) const {
  return fmt::format("{}/{}{}{}", kApplyFolder, journal_.request.id, name.empty() ? "" : "/", name);
}

Result<void> Transaction::put(std::string_view name, std::string_view text) {
  auto written = host_->write(at(name), {{std::string(text)}, 0600, geteuid(), getegid(), ""});
  if (!written && use_spare(text, [&](const std::string& spare) {
        return host_->rename_over(spare, at(name)).has_value();
      }))
    return {};
  return written;
}

bool Transaction::use_spare(std::string_view text, const std::function<bool(const std::string&)>& move) {
  for (int i = 0; text.size() <= kSpareBytes && i < kSpares; ++i)
    if (const std::string spare = at(spare_name(i)); host_->overwrite(spare, text) && move(spare))
      return true;
  return false;
}

void Transaction::drop_spares() {
  for (int i = 0; i < kSpares; ++i) (void)host_->remove(at(spare_name(i)));
}

std::string Transaction::text_of(std::string_view name) const {
  const auto file = host_->read_own(at(name));
  return file && *file ? (*file)->content.bytes : "";
}

// A transaction without a state file was interrupted before it changed anything.
ApplyState Transaction::state() const {
  const std::string word = text_of("state");
  const auto names = enum_names(ApplyState());
  const auto found = std::ranges::find(names, trim(word));
  return found == names.end() ? ApplyState::kStaged : static_cast<ApplyState>(found - names.begin());
}

std::optional<NetworkState> Transaction::network_after() const {
  auto state = json::read<NetworkState>(text_of("network"));
  return state ? std::optional(*std::move(state)) : std::nullopt;
}

std::string Transaction::why() const { return text_of("why"); }
std::string Transaction::log() const { return text_of("log"); }

Result<void> Transaction::enter(ApplyState state) {
  const std::string_view word = enum_names(state)[static_cast<std::size_t>(state)];
  return text_of("state") == word ? Result<void>() : put("state", word);
}

void Transaction::say(std::string_view line) {
  if (log_.size() > kMostLog) return;
  log_ += fmt::format("{}  {}\n", utc_now(), line);
  (void)host_->write(at("log"), {{log_}, 0600, geteuid(), getegid(), ""});
}

void Transaction::fail_with(const Error& error) {
  say(error.text);
  if (why().empty()) (void)put("why", error.text);
}

Result<void> Transaction::switch_over() {
  if (auto entered = enter(ApplyState::kSwitching); !entered) return entered;
  auto done = arm_boot_guard(*host_);
  if (done) done = prepare_files();
  if (done) done = run_all(journal_.first);
  if (done) done = write_files();
  if (done) done = run_all(journal_.then);
  if (done && journal_.to_network) lead_network_to(*journal_.to_network);
  if (done) done = enter(ApplyState::kSwitched);
  if (!done) fail_with(done.error());
  return done;
}

// All new versions are on disk before the first file changes, so a disk that is too small changes nothing.
Result<void> Transaction::prepare_files() {
  for (const std::string& folder : journal_.folders)
    if (auto made = host_->make_folder(folder); !made) return made;
  for (const KeptEdit& edit : journal_.files)
    if (auto prepared = prepare_swap(*host_, edit); !prepared) return prepared;
  return {};
}

Result<void> Transaction::write_files() {
  const bool labels = host_->is_folder("/sys/fs/selinux/booleans");
  for (const KeptEdit& edit : journal_.files) {
    say((edit.after ? "write " : "remove ") + edit.path);
    if (auto done = swap_in(*host_, edit); !done) return done;
    if (labels && edit.after && edit.after->label.empty()) (void)host_->run({"restorecon", edit.path});
  }
  return {};
}

Result<void> Transaction::run_all(const std::vector<TimedCommand>& commands) {
  for (const TimedCommand& command : commands) {
    say("run " + shell_line(command.words));
    const auto ended = host_->run(command.words, std::chrono::seconds(command.seconds));
    const std::string line = shell_line(command.words);
    std::string problem;
    if (!ended)
      problem = fmt::format("{}: {}", line, ended.miss().why);
    else if (ended->exit_code != 0)
      problem = fmt::format("{} ended with {}: {}", line, ended->exit_code,
                            last_lines(ended->error_output.empty() ? ended->output : ended->error_output));
    if (problem.empty()) continue;
    problem += advice_about(command.words);
    if (command.must) return fail(ErrorKind::kUnavailable, std::move(problem));
    say(problem);
  }
  return {};
}

// Restores only links that this change mentions, in a file or a step: others may change for reasons of their
// own.
void Transaction::lead_network_to(const NetworkState& wanted) {
  NetworkState now = network_state(*host_);
  std::erase_if(now.links, [this](const RunningLink& link) { return !speaks_of(journal_, link.ifname); });
  for (const auto& words : network_commands(wanted, now)) {
    say("run " + shell_line(words));
    (void)host_->run(words);
  }
}

std::optional<Decision> Transaction::decided() const {
  const std::string word = text_of("decision");
  if (word == kCommitWord) return Decision::kCommit;
  if (word == kRevertWord) return Decision::kRevert;
  return std::nullopt;
}

Result<Decision> Transaction::decide(Decision decision) {
  if (decision == Decision::kCommit && state() != ApplyState::kSwitched && !decided())
    return fail(ErrorKind::kUnavailable,
                fmt::format("apply {} is {}, not switched: there is nothing to commit", journal_.request.id,
                            enum_names(state())[static_cast<std::size_t>(state())]));
  const std::string_view word = decision == Decision::kCommit ? kCommitWord : kRevertWord;
  const auto first = host_->publish(at("decision"), word);
  const auto move = [this](const std::string& spare) {
    return host_->rename_new(spare, at("decision")).has_value();
  };
  if (!first && !use_spare(word, move)) return fail(first.error());
  return decided().value_or(decision);
}

Result<void> Transaction::finish(bool booting) {
  const ApplyState now = state();
  if (!is_open(now)) return {};
  if (now == ApplyState::kStaged) {
    drop_spares();
    return enter(ApplyState::kDropped);
  }
  const auto decision = decide(Decision::kRevert);  // does nothing if there is one
  if (!decision) return fail(decision.error());
  auto carried_out = *decision == Decision::kRevert ? revert(booting) : end_files();
  if (!carried_out) return carried_out;
  if (auto disarmed = disarm_boot_guard(*host_); !disarmed) return disarmed;
  auto entered = enter(*decision == Decision::kCommit ? ApplyState::kCommitted : ApplyState::kReverted);
  if (entered) drop_spares();
  return entered;
}

Result<void> Transaction::finish_within(std::chrono::seconds patience, bool booting) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (std::chrono::seconds wait = kFirstPause;;
       wait = std::min<std::chrono::seconds>(2 * wait, kLongestPause)) {
    auto finished = finish(booting);
    if (finished || std::chrono::steady_clock::now() + wait > until) return finished;
    say(fmt::format("tried again in {} s: {}", wait.count(), finished.error().text));
    std::this_thread::sleep_for(wait);
  }
}

Result<void> Transaction::end_files() {
  for (const KeptEdit& edit : journal_.files) {
    ASSIGN_OR_RETURN(const auto ended, end_swap(*host_, edit));
    if (!ended.empty()) say(ended);
  }
  for (const std::string& folder : journal_.emptied) host_->remove_folder(folder);
  return put("network", json::dump(json::encode(network_state(*host_))));
}

// A second attempt in the same process does not repeat the commands, except those after files that it could
// only restore now.
Result<void> Transaction::revert(bool booting) {
  if (progress_ == Reverted::kAll) return {};
  if (progress_ == Reverted::kNothing) {
    if (auto entered = enter(ApplyState::kReverting); !entered) return entered;
    say(booting ? "going back after a restart" : "going back");
    undo_commands(UndoWhen::kBeforeFiles, booting);
  }
  auto restored = restore_files();
  if (!restored && progress_ == Reverted::kCommands) return restored;
  undo_commands(UndoWhen::kAfterFiles, booting);
  if (!booting) lead_network_to(journal_.network);
  progress_ = restored ? Reverted::kAll : Reverted::kCommands;
  return restored;
}

// Logs a failure and continues with the next command: each undoes a separate effect.
void Transaction::undo_commands(UndoWhen when, bool booting) {
  for (const UndoCommand& command : journal_.undo) {
    if (command.when != when || !(booting ? command.booting : command.running)) continue;
    say("run " + shell_line(command.words));
    const auto ended = host_->run(command.words, std::chrono::seconds(90));
    if (!ended)
      say(ended.miss().why);
    else if (ended->exit_code != 0)
      say(fmt::format("ended with {}: {}", ended->exit_code, last_lines(ended->error_output)));
  }
}

// Restores the last change first. Every file is tried, whatever happens to the others.
Result<void> Transaction::restore_files() {
  Result<void> all;
  for (const std::string& folder : reversed(journal_.emptied))
    if (auto made = host_->make_folder(folder); !made) all = std::move(made);
  for (const KeptEdit& edit : reversed(journal_.files)) {
    const auto back = swap_back(*host_, edit);
    if (back && back->empty()) continue;
    fail_with(back ? Error{ErrorKind::kUnavailable, *back} : back.error());
    if (!back) all = fail(back.error());
  }
  for (const std::string& folder : reversed(journal_.folders)) host_->remove_folder(folder);
  return all;
}

void Transaction::hear() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::string text = std::to_string(std::chrono::nanoseconds(now).count());
  (void)host_->write(at("heard"), {{text}, 0600, geteuid(), getegid(), ""});
}

std::string Transaction::heard() const { return text_of("heard"); }

std::string boot_now(const WritableHost& host) {
  const auto file = host.read("/proc/sys/kernel/random/boot_id");
  return file && *file ? std::string(trim((*file)->content.bytes)) : "";
}

double uptime_now() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

Result<std::vector<std::string>> apply_ids(const WritableHost& host) {
  auto names = host.list(std::string(kApplyFolder));
  if (names) std::erase_if(*names, [](const std::string& name) { return !is_apply_id(name); });
  return names;
}

Result<std::vector<Transaction>> past_applies(WritableHost& host) {
  ASSIGN_OR_RETURN(const auto ids, apply_ids(host));
  std::vector<Transaction> all;
  for (const std::string& id : ids) {
    if (auto past = Transaction::open(host, id)) {
      all.push_back(*std::move(past));
      continue;
    }
    const auto file = host.read_own(journal_path(id));
    if (!file || !*file) continue;
    if (const auto document = json::parse((*file)->content.bytes))
      RETURN_IF_ERROR(check_record_version(*document, id));
  }
  std::ranges::stable_sort(all, {},
                           [](const Transaction& transaction) { return transaction.journal().number; });
  return all;
}

Result<void> check_journal(const Journal& journal) {
  if (auto sound = check_request(journal.request); !sound) return sound;
  const auto bad = [](std::string text) { return fail(ErrorKind::kBadInput, std::move(text)); };
  const auto check = [&](const std::vector<std::string>& words) -> Result<void> {
    if (words.empty()) return bad("a command of the record is empty");
    if (is_command_of_ours(words)) return {};
    return bad(fmt::format("no apply runs \"{}\"", printable(shell_line(words))));
  };
  for (const KeptEdit& edit : journal.files) {
    if (!is_path_of_settings(edit.path)) return bad(fmt::format("no apply writes {}", printable(edit.path)));
    for (const auto* file : {&edit.before, &edit.after})
      if (*file && ((*file)->mode & ~0777) != 0)
        return bad(fmt::format("{} has mode {:o}", edit.path, (*file)->mode));
  }
  for (const auto* folders : {&journal.folders, &journal.emptied})
    for (const std::string& folder : *folders)
      if (!is_path_of_settings(folder)) return bad(fmt::format("no apply makes {}", printable(folder)));
  for (const auto* commands : {&journal.first, &journal.then})
    for (const TimedCommand& command : *commands)
      if (auto known = check(command.words); !known) return known;
  for (const UndoCommand& command : journal.undo)
    if (auto known = check(command.words); !known) return known;
  return {};
}

}  // namespace railbed
