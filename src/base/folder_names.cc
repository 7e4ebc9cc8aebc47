#include "base/folder_names.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace railbed {

std::optional<std::vector<std::string>> folder_names(Fd folder, std::size_t most) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(folder ? fdopendir(folder.get()) : nullptr, closedir);
  if (!stream) return std::nullopt;
  folder.release();  // closedir() closes it
  std::vector<std::string> names;
  while (const dirent* entry = names.size() < most ? readdir(stream.get()) : nullptr)
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  std::ranges::sort(names);
  return names;
}

Fd reopened(int folder) { return Fd(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }

}  // namespace railbed
