#include "campaign/measure/kept_burns.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/file_lock.h"
#include "base/files.h"
#include "base/folder_names.h"
#include "base/json.h"
#include "base/kept_format.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/user_folders.h"

namespace railbed {
namespace {

constexpr std::string_view kSuffix = ".json";
constexpr std::size_t kLongestFile = 64 << 20;
constexpr std::size_t kMostBurnFiles = 1000;
constexpr std::size_t kIdDigits = 8;

bool is_id(std::string_view text) {
  return text.size() == kIdDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string held_name(const std::string& id, std::size_t node) { return fmt::format("{}-{}", id, node); }

Result<KeptBurns> KeptBurns::open() {
  const auto state = state_folder();
  if (state.empty())
    return fail(ErrorKind::kUnavailable,
                "HOME and XDG_STATE_HOME are not set, so there is no place for its file");
  const std::string path = (state / "burns").string();
  ASSIGN_OR_RETURN(Fd folder, open_state_folder(path));
  return KeptBurns(std::move(folder), path);
}

Result<void> KeptBurns::write(const KeptBurn& burn) const {
  const std::string name = burn.id + std::string(kSuffix);
  return write_file(entry_in(folder_, name, path_), path_ + '/' + name, json::dump(json::encode(burn)), 0600);
}

Result<KeptBurn> KeptBurns::read(const std::string& id) const {
  if (!is_id(id))
    return fail(ErrorKind::kBadInput,
                fmt::format("\"{}\" is not the ID of a burn-in, which has {} hexadecimal digits",
                            printable(id), kIdDigits));
  const std::string name = id + std::string(kSuffix);
  const std::string path = path_ + '/' + name;
  ASSIGN_OR_RETURN(const std::string text, read_file(entry_in(folder_, name, path_), path, kLongestFile));
  ASSIGN_OR_RETURN(const auto stamp, json::read<KeptStamp>(text));
  RETURN_IF_ERROR(check_kept(Kept::kBurn, path, stamp));
  return json::read<KeptBurn>(text);
}

std::vector<std::string> KeptBurns::ids() const {
  std::vector<std::string> ids;
  for (std::string& name :
       folder_names(reopened(folder_.get()), kMostBurnFiles).value_or(std::vector<std::string>()))
    if (name.ends_with(kSuffix) && is_id(name.substr(0, name.size() - kSuffix.size())))
      ids.push_back(name.substr(0, name.size() - kSuffix.size()));
  return ids;
}

void KeptBurns::remove(const std::string& id) const {
  for (const std::string& name :
       folder_names(reopened(folder_.get())).value_or(std::vector<std::string>()))
    if (name.starts_with(id + '.')) unlinkat(folder_.get(), name.c_str(), 0);
}

Fd KeptBurns::lock(const std::string& id) const {
  return take_file_lock(entry_in(folder_, id + ".lock", path_));
}

}  // namespace railbed
