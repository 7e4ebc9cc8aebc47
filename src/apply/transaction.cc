#include "apply/transaction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "apply/boot_guard.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/shell.h"
#include "base/text.h"
#include "configure/step.h"

namespace railbed {
namespace {

constexpr std::uint64_t kSpareBytes = 16 << 20;
constexpr std::size_t kMostLog = 64 << 10;
constexpr std::string_view kCommitWord = "commit";
constexpr std::string_view kRevertWord = "revert";

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// The folders on the way to a path that are not there, the outermost first.
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
  auto before = host.read(edit.path);
  if (!before) return fail(before.error());
  if (edit.aside) {
    if (!*before) return {};  // somebody was faster
    const std::string aside = aside_name(edit.path);
    auto there = host.read(aside);
    if (!there) return fail(there.error());
    files.push_back({aside, std::move(*there), **before});
    files.push_back({edit.path, std::move(*before), std::nullopt});
    return {};
  }
  const bool same =
      before->has_value() == edit.before.has_value() && (!edit.before || (*before)->content == *edit.before);
  if (!same)
    return fail(ErrorKind::kUnavailable, edit.path + " has changed since the plan was made: plan again");
  KeptEdit kept{edit.path, std::move(*before), std::nullopt};
  if (edit.after) kept.after = file_after(edit, kept.before);
  files.push_back(std::move(kept));
  return {};
}

Result<void> check_space(const WritableHost& host, const Journal& journal) {
  std::uint64_t bytes = kSpareBytes;
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

// dpkg and dnf may fetch gigabytes; a boot menu is written by looking at every disk.
int seconds_for(StepKind kind) {
  switch (kind) {
    case StepKind::kInstallPackages:
    case StepKind::kRefreshPackages:
      return 2400;
    case StepKind::kUpdateGrub:
    case StepKind::kSetKernelArguments:
      return 300;
    default:
      return 90;
  }
}

// Of what takes back: a module may be in use by now, a unit or a key may be gone, and a device whose
// connection's file is gone is not connected any more.
bool is_allowed_to_fail(const std::vector<std::string>& words) {
  if (words.front() == "nmcli") return words.size() > 2 && words[2] == "disconnect";
  return words.front() == "modprobe" || words.front() == "systemctl" || words.front() == "sysctl";
}

// What was done, to be done again where a rollback is taken back. Early in a boot nothing is started.
void add_redo(const std::vector<TimedCommand>& commands, UndoWhen when, std::vector<UndoCommand>& undo) {
  for (const TimedCommand& one : commands) {
    if (one.words.front() == "sysctl") continue;  // add_values()
    undo.push_back({when, true, false, one.words});
    std::vector<std::string> words = one.words;
    if (words.front() == "systemctl") std::erase(words, "--now");
    if (words == std::vector<std::string>{"netplan", "apply"}) words.back() = "generate";
    const bool lasts = words.front() == "grubby" || words.front().find("grub") != std::string::npos ||
                       (words.front() == "systemctl" && (words[1] == "enable" || words[1] == "disable")) ||
                       words.back() == "generate";
    if (lasts) undo.push_back({when, false, true, std::move(words)});
  }
}

// The values that keys have now, where a rollback sets others.
void add_values(const std::vector<TimedCommand>& commands, const WritableHost& host,
                std::vector<UndoCommand>& undo) {
  for (const TimedCommand& one : commands) {
    if (one.words.size() != 3 || one.words[1] != "--write") continue;
    const std::string key = one.words[2].substr(0, one.words[2].find('='));
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

std::string last_lines(std::string_view text) {
  constexpr std::size_t kMost = 2000;
  text = trim(text);
  return std::string(text.substr(text.size() > kMost ? text.size() - kMost : 0));
}

}  // namespace

Result<Transaction> Transaction::stage(WritableHost& host, const ApplyRequest& request) {
  if (auto checked = check_request(request); !checked) return fail(checked.error());
  Journal journal{.request = request};
  for (const FileEdit& edit : request.files)
    if (auto added = add_edit(host, edit, journal.files); !added) return fail(added.error());
  for (const NodeStep& step : request.steps) {
    // A unit is stopped by the file that it was started from.
    auto& commands = step.kind == StepKind::kDisableUnit ? journal.first : journal.then;
    for (auto& words : commands_of(step, Platform{.family = request.family}))
      commands.push_back({std::move(words), seconds_for(step.kind)});
  }
  journal.undo = undo_of(request, host);
  return keep(host, std::move(journal));
}

std::vector<Transaction> Transaction::committed_since(WritableHost& host, const std::string& id) {
  std::vector<Transaction> since;
  for (const std::string& one : apply_ids(host))
    if (one >= id)
      if (auto past = open(host, one); past && past->state() == ApplyState::kCommitted)
        since.push_back(*std::move(past));
  return since;
}

Result<Transaction> Transaction::stage_rollback(WritableHost& host, ApplyRequest request,
                                                const std::string& target) {
  const auto since = committed_since(host, target);
  if (since.empty() || since.front().journal().request.id != target)
    return fail(ErrorKind::kUnavailable,
                fmt::format("this node has no committed apply {}: `railbed history` lists them", target));
  Journal journal{.request = std::move(request)};
  journal.to_network = network_state(host);
  for (const Transaction& past : reversed(since)) {
    for (const UndoCommand& one : past.journal().undo)
      if (one.running)
        (one.when == UndoWhen::kBeforeFiles ? journal.first : journal.then)
            .push_back({one.words, 90, !is_allowed_to_fail(one.words)});
    const auto& made = past.journal().folders;
    journal.emptied.insert(journal.emptied.end(), made.rbegin(), made.rend());
    if (const auto after = past.network_after())
      journal.to_network = taken_back(past.journal().network, *after, *journal.to_network);
  }
  std::map<std::string, std::optional<KeptFile>> files;
  for (const Transaction& past : since) {
    for (const KeptEdit& edit : past.journal().files) files.try_emplace(edit.path, edit.before);
    add_redo(past.journal().first, UndoWhen::kBeforeFiles, journal.undo);
    add_redo(past.journal().then, UndoWhen::kAfterFiles, journal.undo);
  }
  add_values(journal.then, host, journal.undo);
  for (auto& [path, before] : files) {
    auto now = host.read(path);
    if (!now) return fail(now.error());
    if (*now != before) journal.files.push_back({path, std::move(*now), std::move(before)});
  }
  return keep(host, std::move(journal));
}

Result<Transaction> Transaction::keep(WritableHost& host, Journal journal) {
  journal.begun = utc_now();
  journal.boot = boot_now(host);
  journal.network = network_state(host);
  for (const KeptEdit& edit : journal.files)
    if (edit.after) add_missing_folders(host, edit.path, journal.folders);
  if (auto room = check_space(host, journal); !room) return fail(room.error());
  Transaction made(host, std::move(journal));
  if (auto folder = host.make_folder(std::string(kApplyFolder), 0700); !folder) return fail(folder.error());
  if (auto folder = host.make_folder(made.at(""), 0700); !folder) return fail(folder.error());
  if (auto kept = made.put("journal", json::dump(json::encode(made.journal_))); !kept)
    return fail(kept.error());
  if (auto entered = made.enter(ApplyState::kStaged); !entered) return fail(entered.error());
  return made;
}

Result<Transaction> Transaction::open(WritableHost& host, const std::string& id) {
  if (!is_apply_id(id)) return fail(ErrorKind::kBadInput, "\"" + printable(id) + "\" is no apply's name");
  auto file = host.read(fmt::format("{}/{}/journal", kApplyFolder, id));
  if (!file) return fail(file.error());
  if (!*file) return fail(ErrorKind::kUnavailable, "this node knows no apply " + id);
  auto journal = json::read<Journal>((*file)->content.bytes);
  if (!journal) return fail(journal.error(), "the journal of apply " + id);
  return Transaction(host, *std::move(journal));
}

Transaction::Transaction(WritableHost& host, Journal journal) : host_(&host), journal_(std::move(journal)) {}

std::string Transaction::at(std::string_view name) const {
  return fmt::format("{}/{}{}{}", kApplyFolder, journal_.request.id, name.empty() ? "" : "/", name);
}

Result<void> Transaction::put(std::string_view name, std::string_view text) {
  return host_->write(at(name), {{std::string(text)}, 0600, geteuid(), getegid(), ""});
}

std::string Transaction::text_of(std::string_view name) const {
  const auto file = host_->read(at(name));
  return file && *file ? (*file)->content.bytes : "";
}

// A transaction whose first word is missing was cut off before it changed anything.
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
  return put("state", enum_names(state)[static_cast<std::size_t>(state)]);
}

void Transaction::say(std::string_view line) {
  if (log_.size() > kMostLog) return;
  log_ += fmt::format("{}  {}\n", utc_now(), line);
  (void)put("log", log_);
}

void Transaction::fail_with(const Error& error) {
  say(error.text);
  if (why().empty()) (void)put("why", error.text);
}

Result<void> Transaction::switch_over() {
  if (auto entered = enter(ApplyState::kSwitching); !entered) return entered;
  auto done = arm_boot_guard(*host_);
  if (done) done = run_all(journal_.first);
  if (done) done = write_files();
  if (done) done = run_all(journal_.then);
  if (done && journal_.to_network) lead_network_to(*journal_.to_network);
  if (done) done = enter(ApplyState::kSwitched);
  if (!done) fail_with(done.error());
  return done;
}

Result<void> Transaction::write_files() {
  for (const std::string& folder : journal_.folders)
    if (auto made = host_->make_folder(folder); !made) return made;
  const bool labels = host_->is_folder("/sys/fs/selinux/booleans");
  for (const KeptEdit& edit : journal_.files) {
    say((edit.after ? "write " : "remove ") + edit.path);
    auto done = edit.after ? host_->write(edit.path, *edit.after) : host_->remove(edit.path);
    if (!done) return done;
    if (labels && edit.after && edit.after->label.empty()) (void)host_->run({"restorecon", edit.path});
  }
  for (const std::string& folder : journal_.emptied) host_->remove_folder(folder);
  return {};
}

Result<void> Transaction::run_all(const std::vector<TimedCommand>& commands) {
  for (const TimedCommand& one : commands) {
    say("run " + shell_line(one.words));
    const auto ended = host_->run(one.words, std::chrono::seconds(one.seconds));
    const std::string line = shell_line(one.words);
    std::string problem;
    if (!ended)
      problem = fmt::format("{}: {}", line, ended.miss().why);
    else if (ended->exit_code != 0)
      problem = fmt::format("{} ended with {}: {}", line, ended->exit_code,
                            last_lines(ended->error_output.empty() ? ended->output : ended->error_output));
    if (problem.empty()) continue;
    if (one.must) return fail(ErrorKind::kUnavailable, std::move(problem));
    say(problem);
  }
  return {};
}

// Of the links that this change speaks of, by file or by step: others may change for reasons of their own.
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
  auto first = host_->publish(at("decision"), decision == Decision::kCommit ? kCommitWord : kRevertWord);
  if (!first) return fail(first.error());
  return decided().value_or(decision);
}

Result<void> Transaction::finish(bool booting) {
  const ApplyState now = state();
  if (!is_open(now)) return {};
  if (now == ApplyState::kStaged) return enter(ApplyState::kDropped);
  const auto decision = decide(Decision::kRevert);  // does nothing where there is one
  if (!decision) return fail(decision.error());
  if (*decision == Decision::kRevert)
    if (auto reverted = revert(booting); !reverted) return reverted;
  if (*decision == Decision::kCommit)
    if (auto kept = put("network", json::dump(json::encode(network_state(*host_)))); !kept) return kept;
  if (auto disarmed = disarm_boot_guard(*host_); !disarmed) return disarmed;
  return enter(*decision == Decision::kCommit ? ApplyState::kCommitted : ApplyState::kReverted);
}

Result<void> Transaction::revert(bool booting) {
  if (auto entered = enter(ApplyState::kReverting); !entered) return entered;
  say(booting ? "going back after a restart" : "going back");
  undo_commands(UndoWhen::kBeforeFiles, booting);
  auto restored = restore_files();
  undo_commands(UndoWhen::kAfterFiles, booting);
  if (!booting) lead_network_to(journal_.network);
  return restored;
}

// Its failures are told, and the next one is tried: each takes back something of its own.
void Transaction::undo_commands(UndoWhen when, bool booting) {
  for (const UndoCommand& one : journal_.undo) {
    if (one.when != when || !(booting ? one.booting : one.running) || one.words.empty()) continue;
    say("run " + shell_line(one.words));
    const auto ended = host_->run(one.words, std::chrono::seconds(90));
    if (!ended)
      say(ended.miss().why);
    else if (ended->exit_code != 0)
      say(fmt::format("ended with {}: {}", ended->exit_code, last_lines(ended->error_output)));
  }
}

// The last change first. Every file is tried, whatever became of the others.
Result<void> Transaction::restore_files() {
  Result<void> all;
  for (const std::string& folder : reversed(journal_.emptied))
    if (auto made = host_->make_folder(folder); !made) all = std::move(made);
  for (const KeptEdit& edit : reversed(journal_.files)) {
    auto done = edit.before ? host_->write(edit.path, *edit.before) : host_->remove(edit.path);
    if (done) continue;
    fail_with(done.error());
    all = std::move(done);
  }
  for (const std::string& folder : reversed(journal_.folders)) host_->remove_folder(folder);
  return all;
}

void Transaction::hear() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  (void)put("heard", std::to_string(std::chrono::nanoseconds(now).count()));
}

std::string Transaction::heard() const { return text_of("heard"); }

std::string boot_now(const WritableHost& host) {
  const auto file = host.read("/proc/sys/kernel/random/boot_id");
  return file && *file ? std::string(trim((*file)->content.bytes)) : "";
}

std::vector<std::string> apply_ids(const WritableHost& host) {
  auto names = host.list(std::string(kApplyFolder));
  std::erase_if(names, [](const std::string& name) { return !is_apply_id(name); });
  return names;
}

}  // namespace railbed
