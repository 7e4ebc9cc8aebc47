#include "campaign/measure/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"

namespace railbed {
namespace {

Result<BenchRun> from_file(const std::string& file) {
  const auto text = read_file(file);
  if (!text) return tl::unexpected<Error>(text.error());
  auto run = run_from_json(*text);
  if (!run) return fail(run.error(), file);
  return run;
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
                  "or a file that `railbed runs export` wrote",
                  word));
}

}  // namespace

Result<Store> open_history(const std::string& path) {
  return Store::open(path.empty() ? default_store_path() : path);
}

Result<BenchRun> find_run(const std::string& store_path, const std::string& word) {
  std::error_code ignored;
  if (word.ends_with(".json") && std::filesystem::exists(word, ignored)) return from_file(word);
  auto store = open_history(store_path);
  if (!store) return tl::unexpected<Error>(store.error());
  const auto id = id_of(*store, word);
  if (!id) return tl::unexpected<Error>(id.error());
  return store->get(*id);
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
}

}  // namespace railbed
