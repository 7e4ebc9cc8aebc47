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
// whoever comes after a power cut knows what to do. `spare.N` hold the space that a decision, a state and a
// reason need on a disk that is full by then.
//
// A record is believed, and carried out as root, only if nobody else could have written it: the folder and
// each of its parents is ours, and so is the file (WritableHost::read_own). What it names is checked again
// all the same (check_journal). The order of applies is a number that the node counts, and no clock.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apply/file_swap.h"
#include "apply/network_state.h"
#include "apply/request.h"
#include "apply/undo.h"
#include "apply/writable_host.h"
#include "base/fields.h"
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

struct TimedCommand {
  std::vector<std::string> words = {};
  int seconds = 90;
  bool must = true;  // the node goes back where it fails
  FIELDS(TimedCommand, words, seconds, must);
};

struct Journal {
  ApplyRequest request = {};
  std::uint64_t number = 0;  // the node counts its applies; the next has a greater one
  std::string begun = {};    // RFC 3339, for people: clocks are set
  std::string boot = {};     // boot_now() of then
  double uptime = 0;         // seconds from that boot on, CLOCK_BOOTTIME
  // In this order: what runs while the old files are there, files, what runs with the new ones.
  std::vector<TimedCommand> first = {};
  std::vector<KeptEdit> files = {};
  std::vector<std::string> folders = {};  // those that have to be made
  std::vector<std::string> emptied = {};  // those that go where nothing is in them: of a rollback only
  std::vector<TimedCommand> then = {};
  std::optional<NetworkState> to_network = {};  // at the end: of a rollback only
  std::vector<UndoCommand> undo = {};
  NetworkState network = {};  // as it was
  FIELDS(Journal, request, number, begun, boot, uptime, first, files, folders, emptied, then, to_network,
         undo, network);
};

class Transaction {
 public:
  // Looks, refuses what cannot be done (a file that is not as the plan saw it, a full disk), and keeps what
  // is there. Nothing is changed.
  static Result<Transaction> stage(WritableHost& host, const ApplyRequest& request);
  // Back to what was before the committed apply `target` and all that came after it: their files, and what
  // their steps had changed. It is a change like any other, and can be rolled back as well. A person's lines
  // outside railbed's marks stay; any other edit since is an error that shows it, but with `discard`.
  static Result<Transaction> stage_rollback(WritableHost& host, ApplyRequest request,
                                            const std::string& target, bool discard = false);
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
  // The same, tried again until it succeeds or `patience` is over: a disk that is full now may have room
  // later.
  Result<void> finish_within(std::chrono::seconds patience, bool booting);

 private:
  Transaction(WritableHost& host, Journal journal);
  static Result<Transaction> keep(WritableHost& host, Journal journal);
  // The committed applies from `id` on, oldest first; empty: it is none of them.
  static Result<std::vector<Transaction>> committed_since(WritableHost& host, const std::string& id);
  std::optional<NetworkState> network_after() const;
  std::string at(std::string_view name) const;
  // Writes a file of the record; on a full disk into one of the spares.
  Result<void> put(std::string_view name, std::string_view text);
  // Calls `move` with a spare that holds `text` until one succeeds.
  bool use_spare(std::string_view text, const std::function<bool(const std::string& spare)>& move);
  void drop_spares();
  std::string text_of(std::string_view name) const;
  Result<void> enter(ApplyState state);
  void say(std::string_view line);
  void fail_with(const Error& error);

  Result<void> prepare_files();
  Result<void> write_files();
  Result<void> run_all(const std::vector<TimedCommand>& commands);
  void lead_network_to(const NetworkState& wanted);
  Result<void> revert(bool booting);
  void undo_commands(UndoWhen when, bool booting);
  Result<void> restore_files();
  Result<void> end_files();

  WritableHost* host_;
  Journal journal_;
  std::string log_;
  enum class Reverted { kNothing, kCommands, kAll };
  Reverted progress_ = Reverted::kNothing;  // of this process
};

// The last first.
template <class T>
std::vector<T> reversed(std::vector<T> items) {
  std::ranges::reverse(items);
  return items;
}

// The kernel's name of this boot; empty where there is none.
std::string boot_now(const WritableHost& host);

// Returns the seconds since this boot, sleep included.
double uptime_now();

// Returns the names of all records of this node; fails where another user could have put records there.
Result<std::vector<std::string>> apply_ids(const WritableHost& host);
// Returns the records that can be read, the oldest first.
Result<std::vector<Transaction>> past_applies(WritableHost& host);

// Fails if a record names more than an apply may do: files below /etc without special modes, and programs
// with arguments that railbed itself would write. Whoever wrote it had to be root; a disk may be damaged.
Result<void> check_journal(const Journal& journal);

}  // namespace railbed
