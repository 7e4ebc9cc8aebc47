#include "apply/file_swap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "settings/files.h"

namespace railbed {
namespace {

constexpr int kMostEdited = 100;
constexpr std::size_t kMostLines = 12;  // of a difference

tl::unexpected<Error> changed(const std::string& path) {
  return fail(ErrorKind::kUnavailable, path + " has changed since the plan was made: plan again");
}

std::string content_of(const std::optional<KeptFile>& file) { return file ? file->content.bytes : ""; }

// Renames an edited file to a name that is not in use.
Result<std::string> keep_edited(WritableHost& host, const std::string& from, const std::string& path) {
  for (int i = 1; i <= kMostEdited; ++i) {
    const std::string name = fmt::format("{}.{}railbed-edited~", path, i == 1 ? "" : fmt::format("{}.", i));
    ASSIGN_OR_RETURN(const auto moved, host.rename_new(from, name));
    if (moved) return fmt::format("{} was edited after the change; that version is now {}", path, name);
  }
  return fail(ErrorKind::kUnavailable,
              fmt::format("{} has {} edited versions beside it: remove those that are not needed", path,
                          kMostEdited));
}

// Removes the version next to a file if it is the expected one. Anything else there is a person's edit and is
// kept.
Result<std::string> drop_side(WritableHost& host, const KeptEdit& edit,
                              const std::optional<KeptFile>& expected) {
  const std::string side = side_name(edit.path);
  ASSIGN_OR_RETURN(const auto there, host.read(side));
  if (!there) return std::string();
  if (!is_same_file(there, expected)) return keep_edited(host, side, edit.path);
  RETURN_IF_ERROR(host.remove(side));
  return std::string();
}

Result<std::string> remove_side(WritableHost& host, const KeptEdit& edit) {
  RETURN_IF_ERROR(host.remove(side_name(edit.path)));
  return std::string();
}

Result<void> put_back(WritableHost& host, const KeptEdit& edit, bool side_is_old) {
  if (!edit.before) return {};
  if (!side_is_old) return host.write(edit.path, *edit.before);
  ASSIGN_OR_RETURN(const auto moved, host.rename_new(side_name(edit.path), edit.path));
  return moved ? Result<void>()
               : Result<void>(fail(ErrorKind::kUnavailable, edit.path + " was made again meanwhile"));
}

// Swaps back a file that is as the change left it.
Result<std::string> swap_unedited(WritableHost& host, const KeptEdit& edit, bool side_is_old) {
  const std::string side = side_name(edit.path);
  if (!edit.after) {
    RETURN_IF_ERROR(put_back(host, edit, side_is_old));
    return std::string();
  }
  if (edit.before && !side_is_old) {
    RETURN_IF_ERROR(host.write(edit.path, *edit.before));
    return remove_side(host, edit);
  }
  RETURN_IF_ERROR(edit.before ? host.exchange(edit.path, side) : host.rename_over(edit.path, side));
  return drop_side(host, edit, edit.after);
}

// Swaps back a file that a person has written or removed since.
Result<std::string> swap_edited(WritableHost& host, const KeptEdit& edit, const std::optional<KeptFile>& now,
                                bool side_is_old) {
  if (now)
    if (const auto merged = without_change(edit, *now); merged && host.write(edit.path, *merged)) {
      if (auto removed = remove_side(host, edit); !removed) return removed;
      return edit.path + " was edited after the change; what was added stays";
    }
  std::string note = edit.path + " was removed after the change, and is there again";
  if (now) {
    auto kept = keep_edited(host, edit.path, edit.path);
    if (!kept) return kept;
    note = *std::move(kept);
  }
  RETURN_IF_ERROR(put_back(host, edit, side_is_old));
  if (auto removed = remove_side(host, edit); !removed) return removed;
  return note;
}

// Returns `text` with each line outside of railbed's marks that the change corrected as it was before; nullopt
// if a line cannot be identified: a person changed it, or it is there more than once.
std::optional<std::string> with_old_lines(const std::string& text, const std::string& before,
                                          const std::string& after) {
  const std::string outside_before = with_block(before, "");
  const std::string outside_after = with_block(after, "");
  const auto old = lines(outside_before);
  const auto fresh = lines(outside_after);
  if (old.size() != fresh.size()) return std::nullopt;
  std::vector<std::string> kept;
  std::vector<std::size_t> outside;  // indexes of the lines outside of the marks
  bool inside = false;
  for (const auto line : split(text, '\n')) {
    inside = inside || line.starts_with(kBlockBegin);
    if (!inside) outside.push_back(kept.size());
    inside = inside && !kBlockEnd.starts_with(std::string(line) + "\n");
    kept.emplace_back(line);
  }
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (old[i] == fresh[i]) continue;
    const auto is_it = [&](std::size_t at) { return kept[at] == fresh[i]; };
    const auto found = std::ranges::find_if(outside, is_it);
    if (found == outside.end() || std::find_if(found + 1, outside.end(), is_it) != outside.end())
      return std::nullopt;
    kept[*found] = old[i];
    outside.erase(found);
  }
  return fmt::format("{}", fmt::join(kept, "\n"));
}

}  // namespace

std::string side_name(const std::string& path) { return path + ".railbed-other~"; }

bool is_same_file(const std::optional<KeptFile>& a, const std::optional<KeptFile>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->content == b->content && a->mode == b->mode && a->owner == b->owner && a->group == b->group;
}

Result<void> prepare_swap(WritableHost& host, const KeptEdit& edit) {
  if (is_same_file(edit.before, edit.after)) return {};
  const std::string side = side_name(edit.path);
  return edit.after ? host.write(side, *edit.after) : host.remove(side);
}

Result<void> swap_in(WritableHost& host, const KeptEdit& edit) {
  if (is_same_file(edit.before, edit.after)) return {};
  const std::string side = side_name(edit.path);
  if (!edit.before) {
    ASSIGN_OR_RETURN(const auto moved, host.rename_new(side, edit.path));
    return moved ? Result<void>() : Result<void>(changed(edit.path));
  }
  const auto swap = [&]() -> Result<void> {
    if (edit.after) return host.exchange(edit.path, side);
    ASSIGN_OR_RETURN(const auto moved, host.rename_new(edit.path, side));
    return moved ? Result<void>() : Result<void>(changed(edit.path));
  };
  if (auto swapped = swap(); !swapped) return swapped;
  const auto old = host.read(side);
  if (old && is_same_file(*old, edit.before)) return {};
  if (edit.after)
    (void)host.exchange(edit.path, side);
  else
    (void)host.rename_new(side, edit.path);
  return changed(edit.path);
}

Result<std::string> swap_back(WritableHost& host, const KeptEdit& edit) {
  if (is_same_file(edit.before, edit.after)) return std::string();
  const auto now = host.read(edit.path);
  if (!now) {
    // A link or a folder was put in its place.
    auto kept = keep_edited(host, edit.path, edit.path);
    if (!kept) return fail(now.error());
    auto back = swap_back(host, edit);
    return back ? std::move(kept) : std::move(back);
  }
  ASSIGN_OR_RETURN(const auto side, host.read(side_name(edit.path)));
  const bool side_is_old = edit.before && is_same_file(side, edit.before);
  if (is_same_file(*now, edit.before)) return remove_side(host, edit);
  if (is_same_file(*now, edit.after)) return swap_unedited(host, edit, side_is_old);
  const bool was_swapped = edit.before ? side_is_old : !is_same_file(side, edit.after);
  if (was_swapped) return swap_edited(host, edit, *now, side_is_old);
  if (auto removed = remove_side(host, edit); !removed) return removed;
  return edit.path + " was changed by somebody else meanwhile, and stays so";
}

Result<std::string> end_swap(WritableHost& host, const KeptEdit& edit) {
  return is_same_file(edit.before, edit.after) ? Result<std::string>(std::string())
                                               : drop_side(host, edit, edit.before);
}

std::optional<KeptFile> without_change(const KeptEdit& edit, const KeptFile& now) {
  const std::string& text = now.content.bytes;
  const std::string before = content_of(edit.before);
  const std::string after = content_of(edit.after);
  const auto block = block_in(text);
  if (!block || block != block_in(after)) return std::nullopt;
  const auto with_lines = with_old_lines(text, before, after);
  if (!with_lines) return std::nullopt;
  KeptFile merged = now;
  merged.content.bytes = with_block(*with_lines, block_in(before).value_or(""));
  return merged;
}

std::string difference(const std::optional<KeptFile>& left, const std::optional<KeptFile>& now) {
  if (!now) return "  it was removed";
  if (!left) return "  it was made again";
  std::vector<std::string_view> old = lines(left->content.bytes);
  std::vector<std::string_view> fresh = lines(now->content.bytes);
  const auto first = std::ranges::mismatch(old, fresh);
  old.erase(old.begin(), first.in1);
  fresh.erase(fresh.begin(), first.in2);
  while (!old.empty() && !fresh.empty() && old.back() == fresh.back()) {
    old.pop_back();
    fresh.pop_back();
  }
  std::string text;
  const auto add = [&text](char mark, const std::vector<std::string_view>& some) {
    for (std::size_t i = 0; i < std::min(some.size(), kMostLines); ++i)
      text += fmt::format("{}  {} {}", text.empty() ? "" : "\n", mark, printable(some[i]).substr(0, 160));
    if (some.size() > kMostLines)
      text += fmt::format("\n  {} … {} more lines", mark, some.size() - kMostLines);
  };
  add('-', old);
  add('+', fresh);
  if (text.empty())
    text = fmt::format("  its mode or owner changed: {:o} of {}:{}, it was {:o} of {}:{}", now->mode,
                       now->owner, now->group, left->mode, left->owner, left->group);
  return text;
}

}  // namespace railbed
