#include "os/library_look.h"

#include <link.h>

#include "os/library.h"
#include "os/process.h"

namespace railbed {
namespace {

constexpr auto kOpenDeadline = std::chrono::seconds(5);
constexpr char kOpened = '+';
constexpr char kRefused = '-';

std::string open_first(const std::vector<std::string>& files) {
  const Library library(files);
  if (!library) return kRefused + library.error();
  link_map* map = nullptr;
  const bool known = dlinfo(library.handle(), RTLD_DI_LINKMAP, &map) == 0;
  return kOpened + (known ? std::string(map->l_name) : library.file());
}

}  // namespace

Reading<std::string> find_library(const std::vector<std::string>& files) {
  const std::string& name = files.front();
  const auto answer = ask_in_child(
      name,
      [&](const Say& about_to) {
        about_to("opening " + name);
        return open_first(files);
      },
      kOpenDeadline);
  if (!answer) return {answer.miss(), name};
  if (!answer->starts_with(kOpened)) return {Miss{Missing::kAbsent, answer->substr(1)}, name};
  return {answer->substr(1), name};
}

}  // namespace railbed
