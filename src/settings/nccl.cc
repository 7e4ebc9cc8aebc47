// /etc/nccl.conf, which every NCCL process reads, however it was started: shells, services, ssh without a
// login. On request, also a profile for login shells.
//
// NCCL skips lines that begin with "#" (src/misc/param.cc); releases without comments skip lines without "=".
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/shell.h"
#include "settings/files.h"
#include "settings/nccl_wishes.h"
#include "settings/render.h"

namespace railbed {
namespace {

constexpr std::string_view kConfPath = "/etc/nccl.conf";
constexpr std::size_t kMostSubjects = 64;  // a user's file may hold any number of variables
constexpr std::string_view kProfilePath = "/etc/profile.d/railbed-nccl.sh";

DesiredFile conf_file(const std::vector<NcclWish>& wishes) {
  DesiredFile file{.path = std::string(kConfPath), .content = std::string(kFileMark)};
  for (const NcclWish& wish : wishes)
    file.content += fmt::format("# {}\n{}={}\n", wish.why, wish.name, wish.value);
  return file;
}

DesiredFile profile_file(const std::vector<NcclWish>& wishes) {
  DesiredFile file{.path = std::string(kProfilePath), .content = std::string(kFileMark)};
  for (const NcclWish& wish : wishes)
    file.content += fmt::format("export {}={}\n", wish.name, shell_quote(wish.value));
  return file;
}

Need in_profile(const Target& target, const NcclWish& wish) {
  Need need{.what = fmt::format("login shells have {}", wish.name)};
  const auto& profile = target.facts().nccl.profile;
  if (!target.looked() || (!profile.ok() && !profile.absent())) return need;
  const NcclVariable* last = nullptr;
  for (const NcclVariable& variable : items(profile))
    if (variable.name == wish.name) last = &variable;
  need.now = last != nullptr && means_the_same(target.facts(), wish, last->value);
  need.at_boot = need.now;
  if (!*need.now) need.found = last == nullptr ? "not set" : fmt::format("{} in {}", last->value, last->from);
  return need;
}

std::string file_of(const NcclVariable& variable) {
  return variable.from.substr(0, variable.from.rfind(':'));
}

const NcclWish* wish_for(const std::vector<NcclWish>& wishes, std::string_view name) {
  const auto found = std::ranges::find(wishes, name, &NcclWish::name);
  return found == wishes.end() ? nullptr : &*found;
}

// Returns true if the file exists for NCCL, so that it may be moved aside. The environment of all logins is not
// railbed's to edit, and $NCCL_CONF_FILE may be on a file system that many nodes share.
bool is_for_nccl(const Nccl& nccl, const std::string& path) {
  return path.starts_with("/etc/profile.d/") ||
         (path.ends_with("/.nccl.conf") && path == nccl.user_file.from());
}

std::string joined(const std::vector<const NcclVariable*>& variables) {
  std::string text;
  for (const NcclVariable* const one : variables)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", one->name, one->value);
  return text;
}

// One file's variables: those that contradict ours, and the others.
struct Overriding {
  std::vector<const NcclVariable*> against = {};
  std::vector<const NcclVariable*> besides = {};
};

void name_overriding(const Target& target, const std::vector<NcclWish>& wishes, Setting& setting) {
  const Nccl& nccl = target.facts().nccl;
  std::map<std::string, Overriding> files;
  for (const NcclVariable* const set : by_precedence(nccl)) {
    const NcclWish* const wish = wish_for(wishes, set->name);
    if (wish == nullptr)
      files[file_of(*set)].besides.push_back(set);
    else if (!means_the_same(target.facts(), *wish, set->value))
      files[file_of(*set)].against.push_back(set);
  }
  for (const auto& [path, says] : files) {
    if (says.against.empty() || path == kConfPath || path == kProfilePath) continue;
    const std::string text = fmt::format("{}: wins over {}", joined(says.against), kConfPath);
    if (!is_for_nccl(nccl, path))
      setting.notes.push_back(fmt::format("{} has {}; take it out", path, text));
    else
      setting.contradictions.push_back(
          {path,
           says.besides.empty() ? text : fmt::format("{}; with it goes {}", text, joined(says.besides))});
  }
}

void name_dropped(const Target& target, const std::vector<NcclWish>& wishes, Setting& setting) {
  for (const NcclVariable& variable : items(target.facts().nccl.system_file))
    if (wish_for(wishes, variable.name) == nullptr)
      setting.notes.push_back(fmt::format("{}={} of {} is not kept: the file says what the rails need",
                                          variable.name, variable.value, variable.from));
}

// Returns true if another source than /etc/nccl.conf sets the variable: then it stays set without its line there.
bool is_set_elsewhere(const Nccl& nccl, std::string_view name) {
  const auto in = [&](const auto& source) {
    return std::ranges::any_of(items(source),
                               [&](const NcclVariable& variable) { return variable.name == name; });
  };
  return in(nccl.user_file) || in(nccl.profile) || in(nccl.environment);
}

// Returns what a new /etc/nccl.conf decides: the variables in it, those that it drops, and the interfaces of the rails,
// whose GIDs NCCL chooses by them.
std::vector<std::string> subjects_of(const Target& target, const std::vector<NcclWish>& wishes) {
  std::vector<std::string> subjects;
  for (const NcclWish& wish : wishes) subjects.push_back(wish.name);
  for (const NcclVariable& variable : items(target.facts().nccl.system_file))
    if (wish_for(wishes, variable.name) == nullptr && !is_set_elsewhere(target.facts().nccl, variable.name) &&
        std::ranges::find(subjects, variable.name) == subjects.end() && subjects.size() < kMostSubjects)
      subjects.push_back(variable.name);
  for (const RailEnd& end : target.view.ends) subjects.push_back(end.name);
  return subjects;
}

}  // namespace

void render_nccl(const Target& target, std::vector<Setting>& settings) {
  NcclWishes wishes = nccl_wishes(target);
  if (wishes.variables.empty()) return;
  Setting setting{.section = Section::kNccl,
                  .name = "nccl/variables",
                  .title = fmt::format("{} variables of NCCL in {}", wishes.variables.size(), kConfPath),
                  .reason =
                      "NCCL uses the rails and nothing else, whatever starts the job; a shell's profile is "
                      "not read by services and by ssh with a command",
                  .needs = std::move(wishes.needs)};
  setting.files.push_back(conf_file(wishes.variables));
  if (target.configure().nccl_profile.value_or(false)) {
    setting.files.push_back(profile_file(wishes.variables));
    for (const NcclWish& wish : wishes.variables) setting.needs.push_back(in_profile(target, wish));
  }
  setting.subjects = subjects_of(target, wishes.variables);
  name_overriding(target, wishes.variables, setting);
  name_dropped(target, wishes.variables, setting);
  std::ranges::move(wishes.notes, std::back_inserter(setting.notes));
  settings.push_back(std::move(setting));
}

}  // namespace railbed
