// One change of one node, whole or not at all: what was there is kept first, then files are written and steps
// carried out, then somebody decides. Without a decision, after a failure and after a power cut everything
// goes back.
//
//   staged ──▶ switching ──▶ switched ──▶ committed
//     │            └──────┬──────┘
//     ▼                   ▼
//   dropped           reverting ──▶ reverted
//
// On the node, /var/lib/railbed/apply/ID/ holds `journal` (the request, the files as they were, what undoes
// the steps; written once), `state` (one word), `decision` (the first that comes: commit or revert), `heard`
// (when a controller last asked for more time), `why` and `log`. Each is there whole or not at all, so that
// whoever comes after a power cut knows what to do.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apply/network_state.h"
#include "apply/request.h"
#include "apply/undo.h"
#include "apply/writable_host.h"
#include "base/result.h"

namespace railbed {

inline constexpr std::string_view kApplyFolder = "/var/lib/railbed/apply";

enum class ApplyState { kStaged, kSwitching, kSwitched, kCommitted, kReverting, kReverted, kDropped };
constexpr auto enum_names(ApplyState) {
  return std::array<std::string_view, 7>{"staged",    "switching", "switched", "committed",
                                         "reverting", "reverted",  "dropped"};
}
constexpr bool is_open(ApplyState state) {
  return state != ApplyState::kCommitted && state != ApplyState::kReverted && state != ApplyState::kDropped;
}

enum class Decision { kCommit, kRevert };
constexpr auto enum_names(Decision) { return std::array<std::string_view, 2>{"commit", "revert"}; }

struct KeptEdit {
  std::string path = {};
  std::optional<KeptFile> before = {};
  std::optional<KeptFile> after = {};
  static void fields(auto&& field) {
    field("path", &KeptEdit::path);
    field("before", &KeptEdit::before);
    field("after", &KeptEdit::after);
  }
};

struct TimedCommand {
  std::vector<std::string> words = {};
  int seconds = 90;
  bool must = true;  // the node goes back where it fails
  static void fields(auto&& field) {
    field("words", &TimedCommand::words);
    field("seconds", &TimedCommand::seconds);
    field("must", &TimedCommand::must);
  }
};

struct Journal {
  ApplyRequest request = {};
  std::string begun = {};  // RFC 3339
  std::string boot = {};   // boot_now() of then
  // In this order: what runs while the old files are there, files, what runs with the new ones.
  std::vector<TimedCommand> first = {};
  std::vector<KeptEdit> files = {};
  std::vector<std::string> folders = {};  // those that have to be made
  std::vector<std::string> emptied = {};  // those that go where nothing is in them: of a rollback only
  std::vector<TimedCommand> then = {};
  std::optional<NetworkState> to_network = {};  // at the end: of a rollback only
  std::vector<UndoCommand> undo = {};
  NetworkState network = {};  // as it was
  static void fields(auto&& field) {
    field("request", &Journal::request);
    field("begun", &Journal::begun);
    field("boot", &Journal::boot);
    field("first", &Journal::first);
    field("files", &Journal::files);
    field("folders", &Journal::folders);
    field("emptied", &Journal::emptied);
    field("then", &Journal::then);
    field("to_network", &Journal::to_network);
    field("undo", &Journal::undo);
    field("network", &Journal::network);
  }
};

class Transaction {
 public:
  // Looks, refuses what cannot be done (a file that is not as the plan saw it, a full disk), and keeps what
  // is there. Nothing is changed.
  static Result<Transaction> stage(WritableHost& host, const ApplyRequest& request);
  // Back to what was before the committed apply `target` and all that came after it: their files, and what
  // their steps had changed. It is a change like any other, and can be taken back as well.
  static Result<Transaction> stage_rollback(WritableHost& host, ApplyRequest request,
                                            const std::string& target);
  static Result<Transaction> open(WritableHost& host, const std::string& id);

  const Journal& journal() const { return journal_; }
  ApplyState state() const;
  std::string why() const;  // what went wrong; empty: nothing
  std::string log() const;

  // Files, then steps; the first failure ends it. Whoever called then decides to go back.
  Result<void> switch_over();
  // The first decision counts, and is the answer. A commit wants a node that has switched.
  Result<Decision> decide(Decision decision);
  std::optional<Decision> decided() const;
  // A controller reached this node after its switch and waits for others: its time begins anew. `heard`
  // differs after each such word.
  void hear();
  std::string heard() const;
  // Carries the decision out; without one it is to go back. Again after a power cut: it does no harm.
  Result<void> finish(bool booting);

 private:
  Transaction(WritableHost& host, Journal journal);
  static Result<Transaction> keep(WritableHost& host, Journal journal);
  // The committed applies from `id` on, oldest first.
  static std::vector<Transaction> committed_since(WritableHost& host, const std::string& id);
  std::optional<NetworkState> network_after() const;
  std::string at(std::string_view name) const;
  Result<void> put(std::string_view name, std::string_view text);
  std::string text_of(std::string_view name) const;
  Result<void> enter(ApplyState state);
  void say(std::string_view line);
  void fail_with(const Error& error);

  Result<void> write_files();
  Result<void> run_all(const std::vector<TimedCommand>& commands);
  void lead_network_to(const NetworkState& wanted);
  Result<void> revert(bool booting);
  void undo_commands(UndoWhen when, bool booting);
  Result<void> restore_files();

  WritableHost* host_;
  Journal journal_;
  std::string log_;
};

// The last first.
template <class T>
std::vector<T> reversed(std::vector<T> items) {
  std::ranges::reverse(items);
  return items;
}

// The kernel's name of this boot; empty where there is none.
std::string boot_now(const WritableHost& host);

// Names of all applies of this node, oldest first.
std::vector<std::string> apply_ids(const WritableHost& host);

}  // namespace railbed
