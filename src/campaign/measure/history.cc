#include "campaign/measure/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/wording.h"
#include "results/foreign/foreign.h"

namespace railbed {
namespace {

constexpr std::size_t kMostOfOneSide = 100;
constexpr int kMostEarlier = 200;

Result<BenchRun> from_file(const std::string& file, const Caller& caller) {
  ASSIGN_OR_RETURN(const auto text, read_file(file));
  return run_of_text(text, file, caller);
}

bool is_file(const std::string& path) {
  if (path == "-") return true;  // standard input
  // A file that this user may not look at counts as one: reading it gives the reason.
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return error == std::errc::permission_denied ||
         (std::filesystem::exists(status) && !std::filesystem::is_directory(status));
}

// Returns whether a document has what only a run of railbed's has. All members of a run may be missing, so
// any object would be decoded as one.
bool is_own_run(const json::Value& document) {
  return document.is_object() && (document.contains("measurements") || document.contains("started_at"));
}

Result<std::int64_t> id_of(Store& store, const std::string& word) {
  if (const auto number = parse_number<std::int64_t>(word)) return *number;
  if (word == "baseline") {
    const auto chosen = store.baseline();
    if (!chosen) return tl::unexpected<Error>(chosen.error());
    if (!*chosen) return fail(ErrorKind::kBadInput, "no baseline was chosen yet: railbed runs baseline RUN");
    return **chosen;
  }
  const auto runs = store.list();
  if (!runs) return tl::unexpected<Error>(runs.error());
  const auto found =
      std::ranges::find_if(*runs, [&](const BenchRun& run) { return word == "last" || run.label == word; });
  if (found != runs->end()) return found->id;
  if (word == "last")
    return fail(ErrorKind::kBadInput, "no run is kept yet: railbed bench keeps what it measures");
  return fail(
      ErrorKind::kBadInput,
      fmt::format("\"{}\" is no run: give a number or a label that `railbed runs` lists, last, baseline, "
                  "or a file: what `railbed runs export` wrote, or the output of another tool",
                  word));
}

}  // namespace

Result<Store> open_history(const std::string& path) {
  return Store::open(path.empty() ? default_store_path() : path);
}

bool is_run_file(const std::string& word) {
  const bool named = word.find('/') != std::string::npos ||
                     std::ranges::any_of(std::array{".json", ".txt", ".log", ".out"},
                                         [&](const char* ending) { return word.ends_with(ending); });
  return named && is_file(word);
}

Result<BenchRun> run_of_text(std::string_view text, const std::string& file, const Caller& caller) {
  if (find_foreign_tool(text)) {
    auto read = parse_foreign(text);
    if (!read) return fail(std::move(read.error()), file);
    for (const std::string& what : read->left_out) caller.note(fmt::format("{}: not read: {}", file, what));
    read->run.label = std::filesystem::path(file).filename();
    return std::move(read->run);
  }
  const auto unknown = [&](std::string_view why) {
    return fail(
        ErrorKind::kBadInput,
        fmt::format("{}: {}\nA run is read from what `railbed runs export` writes, or from the output of "
                    "{}",
                    file, why, kForeignKinds));
  };
  if (!trim(text.substr(0, 4096)).starts_with('{')) return unknown("the file is of no known kind");
  const auto document = json::parse(text);
  if (!document) return fail(document.error(), file);
  if (!is_own_run(*document)) return unknown("a JSON document of no known kind");
  auto run = run_from_json(text);
  if (!run) return fail(run.error(), file);
  return run;
}

Result<BenchRun> find_run(const std::string& store_path, const std::string& word, const Caller& caller) {
  if (is_run_file(word)) return from_file(word, caller);
  auto store = open_history(store_path);
  if (!store) return tl::unexpected<Error>(store.error());
  const auto id = id_of(*store, word);
  if (!id && id.error().kind == ErrorKind::kBadInput && is_file(word)) return from_file(word, caller);
  if (!id) return tl::unexpected<Error>(id.error());
  return store->get(*id);
}

Result<std::vector<BenchRun>> find_runs(const std::string& store_path, const std::string& words,
                                        const Caller& caller) {
  std::vector<BenchRun> runs;
  auto whole = find_run(store_path, words, caller);
  if (whole) {
    runs.push_back(std::move(*whole));
    return runs;
  }
  const std::vector<std::string_view> parts = split(words, ',');
  if (parts.size() < 2 || whole.error().kind != ErrorKind::kBadInput || is_run_file(words))
    return tl::unexpected<Error>(whole.error());
  if (parts.size() > kMostOfOneSide)
    return fail(ErrorKind::kBadInput, fmt::format("more than {} runs on one side", kMostOfOneSide));
  for (const std::string_view part : parts) {
    auto run = find_run(store_path, std::string(trim(part)), caller);
    if (!run) return tl::unexpected<Error>(run.error());
    runs.push_back(std::move(*run));
  }
  return runs;
}

std::vector<BenchRun> earlier_runs(const std::string& store_path, const BenchRun& like,
                                   const Caller& caller) {
  const std::string path = store_path.empty() ? default_store_path() : store_path;
  if (!is_file(path)) return {};
  auto store = open_history(path);
  auto runs = store ? store->asked_for(like.asked, kMostEarlier)
                    : Result<std::vector<BenchRun>>(tl::unexpected<Error>(store.error()));
  if (runs) return std::move(*runs);
  caller.note(fmt::format("nothing learned from the history: {}", runs.error().text));
  return {};
}

void keep_run(const std::string& store_path, BenchRun& run, const Caller& caller) {
  auto store = open_history(store_path);
  const auto id = store ? store->add(run) : Result<std::int64_t>(tl::unexpected<Error>(store.error()));
  if (!id) {
    caller.note(fmt::format("not kept in the history: {}", id.error().text));
    return;
  }
  run.id = *id;
  caller.note(fmt::format("kept as run {}", *id));
  const auto pruned = store->prune({});
  if (!pruned)
    caller.note(fmt::format("the history is not kept within its limits: {}", pruned.error().text));
  else if (pruned->runs > 0)
    caller.note(fmt::format("the history is full: {} removed, the oldest", counted(pruned->runs, "run")));
}

}  // namespace railbed
