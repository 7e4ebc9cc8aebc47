// One change of one node, as a whole or not at all: the old state is recorded first, then files are written
// and steps are run, then a controller decides. Without a decision, after a failure, and after a power cut,
// everything is rolled back.
//
//   staged ──▶ switching ──▶ switched ──▶ committed
//     │            └──────┬──────┘
//     ▼                   ▼
//   dropped           reverting ──▶ reverted
//
// On the node, /var/lib/railbed/apply/ID/ holds `journal` (the request, the old files, the commands that undo
// the steps; written once), `state` (one word), `decision` (the first one made: commit or revert), `heard`
// (the last time at which a controller requested more time), `network` (the network after the commit),
// `why`, `log` and `lock` (keeper.h). Each file exists completely or not at all, so a process that recovers
// after a power cut knows what to do. The `spare.N` files reserve the space that a decision, a state and a
// reason need if the disk is full by then.
//
// A record is trusted, and carried out as root, only if no other user could have written it: the folder, each
// of its parents, and the file belong to root or the caller, and no one else can write to them
// (WritableHost::read_own). Its content is checked again all the same (check_journal). Applies are ordered by
// a number that the node counts, not by a clock.
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
#include "base/kept_format.h"
#include "base/result.h"
#include "base/version.h"

namespace railbed {

inline constexpr std::string_view kApplyFolder = "/var/lib/railbed/apply";

// The states in the diagram above.
enum class ApplyState { kStaged, kSwitching, kSwitched, kCommitted, kReverting, kReverted, kDropped };
constexpr auto enum_names(ApplyState) {
  return std::array<std::string_view, 7>{"staged",    "switching", "switched", "committed",
                                         "reverting", "reverted",  "dropped"};
}
// Returns true for states that are not final.
constexpr bool is_open(ApplyState state) {
  return state != ApplyState::kCommitted && state != ApplyState::kReverted && state != ApplyState::kDropped;
}

// The decision of an apply.
enum class Decision { kCommit, kRevert };
constexpr auto enum_names(Decision) { return std::array<std::string_view, 2>{"commit", "revert"}; }

// A command with its time limit.
struct TimedCommand {
  std::vector<std::string> words = {};
  int seconds = 90;
  bool must = true;  // its failure rolls the node back
  FIELDS(TimedCommand, words, seconds, must);
};

// The record of an apply, written before the first change.
struct Journal {
  int version = format_of(Kept::kApply).written;
  std::string railbed = railbed_version();  // the railbed that wrote the record
  ApplyRequest request = {};
  std::uint64_t number = 0;  // the node numbers its applies; each number is greater than the last
  std::string begun = {};    // RFC 3339, for people: clocks may be set
  std::string boot = {};     // boot_now() when it began
  double uptime = 0;         // seconds since that boot, CLOCK_BOOTTIME
  // Order of execution: commands that need the old files, the files, commands that need the new files.
  std::vector<TimedCommand> first = {};
  std::vector<KeptEdit> files = {};
  std::vector<std::string> folders = {};  // folders to create
  std::vector<std::string> emptied = {};  // folders to remove if empty; rollbacks only
  std::vector<TimedCommand> then = {};
  std::optional<NetworkState> to_network = {};  // state to reach at the end; rollbacks only
  std::vector<UndoCommand> undo = {};
  NetworkState network = {};  // the state before
  FIELDS(Journal, version, railbed, request, number, begun, boot, uptime, first, files, folders, emptied,
         then, to_network, undo, network);
};

// One apply of a node. Keeps a pointer to the host, which must outlive it.
class Transaction {
 public:
  // Records the present state and prepares the change. Fails if it cannot be done (a file differs from the
  // plan's, a full disk). Changes nothing but the record.
  static Result<Transaction> stage(WritableHost& host, const ApplyRequest& request);
  // Prepares the rollback to the state before the committed apply `target`: it restores the files of that
  // apply and of all later ones, and undoes their steps. It is a change like any other, and can itself be
  // rolled back. A person's lines outside railbed's marks stay. Any other edit since then is an error that
  // shows the edit, unless `discard` is set.
  static Result<Transaction> stage_rollback(WritableHost& host, ApplyRequest request,
                                            const std::string& target, bool discard = false);
  // Opens a record. Fails if it is not trusted or is damaged; with kBadInput if it does not exist.
  static Result<Transaction> open(WritableHost& host, const std::string& id);

  const Journal& journal() const { return journal_; }
  ApplyState state() const;
  std::string why() const;  // what went wrong; empty: nothing
  std::string log() const;

  // Writes the files, then runs the steps; stops at the first failure. The caller then decides to roll back.
  Result<void> switch_over();
  // Records the decision. Only the first one counts; returns that one. A commit requires a node that has
  // switched.
  Result<Decision> decide(Decision decision);
  std::optional<Decision> decided() const;
  // Extends the waiting time: a controller reached this node after its switch and waits for others. heard()
  // returns another text after each call.
  void hear();
  std::string heard() const;
  // Carries out the decision; without one, it rolls back. May be repeated after a power cut.
  Result<void> finish(bool booting);
  // Like finish(), repeated until it succeeds or `patience` has passed: a disk that is full now may have
  // space later.
  Result<void> finish_within(std::chrono::seconds patience, bool booting);

 private:
  Transaction(WritableHost& host, Journal journal);
  static Result<Transaction> keep(WritableHost& host, Journal journal);
  // Returns the committed applies from `id` on, oldest first; empty if it is not among them.
  static Result<std::vector<Transaction>> committed_since(WritableHost& host, const std::string& id);
  std::optional<NetworkState> network_after() const;
  std::string at(std::string_view name) const;
  // Writes a file of the record; if the disk is full, into one of the spares.
  Result<void> put(std::string_view name, std::string_view text);
  // Calls `move` with a spare that holds `text`, until it succeeds for one. Returns false if it never does.
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

// Returns the items in reverse order.
template <class T>
std::vector<T> reversed(std::vector<T> items) {
  std::ranges::reverse(items);
  return items;
}

// Returns the kernel's id of this boot; empty if there is none.
std::string boot_now(const WritableHost& host);

// Returns the seconds since this boot, including sleep.
double uptime_now();

// Returns the names of all records of this node; fails if another user could have put records there.
Result<std::vector<std::string>> apply_ids(const WritableHost& host);
// Returns the records that can be read, oldest first. Fails if a newer railbed wrote one of them: what follows from
// the others alone could undo half of a change.
Result<std::vector<Transaction>> past_applies(WritableHost& host);

// Fails if a record contains more than an apply may do: only files below /etc without special modes, and
// programs with arguments that railbed itself would write. Its author must have been root, but a disk may be
// damaged.
Result<void> check_journal(const Journal& journal);

}  // namespace railbed
