#include "settings/remedy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "settings/files.h"
#include "settings/step.h"

namespace railbed {
namespace {

// Folders that packages create and that exist on every system of the kind.
constexpr std::array<std::string_view, 7> kFoldersThere = {"/etc",
                                                           "/etc/sysctl.d",
                                                           "/etc/security/limits.d",
                                                           "/etc/systemd/system",
                                                           "/etc/tmpfiles.d",
                                                           "/etc/modules-load.d",
                                                           "/etc/modprobe.d"};

// Returns the program of sed -E that corrects a line of hosts(5). Both texts have single spaces, and only
// characters that is_line_of_hosts() allows. The line's own white space before a comment stays.
std::string correction_of(std::string_view before, std::string_view after) {
  std::string pattern;
  for (const std::string_view word : words(before)) {
    pattern += pattern.empty() ? "[[:space:]]*" : "[[:space:]]+";
    for (const char c : word)
      pattern += std::string_view(".{}$").find(c) == std::string_view::npos ? std::string(1, c)
                                                                            : fmt::format("[{}]", c);
  }
  return fmt::format("s/^{}([[:space:]]*(#.*)?)$/{}\\1/", pattern, after);
}

// Removes railbed's lines, and appends the desired ones. A first mark without a second one stays, because the
// end of its block is unknown. A last line without a newline gets one first.
void add_block(const DesiredFile& file, std::vector<ShellCommand>& commands) {
  const std::string end = std::string(kBlockEnd.substr(0, kBlockEnd.size() - 1));
  const std::string range = fmt::format("/^{}/,/^{}$/d", sed_pattern(kBlockBegin), sed_pattern(end));
  commands.push_back(command("grep -qs {} {} && sed -i {} {}", ShellQuoted{"^" + end + "$"}, file.path,
                             ShellQuoted{range}, file.path));
  for (const auto& [before, after] : file.hosts.seen)
    commands.push_back(command("sed -i -E {} {}", ShellQuoted{correction_of(before, after)}, file.path));
  commands.push_back(command("test -s {} && sed -i {} {}", file.path, ShellQuoted{"$a\\"}, file.path));
  commands.push_back(
      command("printf {} >> {}", ShellQuoted{printf_text(with_block("", file.content))}, file.path));
}

void add_tables(const DesiredFile& file, std::vector<ShellCommand>& commands) {
  commands.push_back(command("test -s {} && sed -i {} {}", file.path, ShellQuoted{"$a\\"}, file.path));
  commands.push_back(command("printf {} >> {}", ShellQuoted{printf_text(file.content)}, file.path));
}

void add_whole(const DesiredFile& file, std::vector<ShellCommand>& commands) {
  // A file under a name that others use, too, may be theirs: it is kept beside the new one.
  if (file.path.find("railbed", file.path.rfind('/')) == std::string::npos)
    commands.push_back(command("test -e {} && cp -a {} {}", file.path, file.path, aside_name(file.path)));
  commands.push_back(command("printf {} > {}", ShellQuoted{printf_text(file.content)}, file.path));
  if (file.mode != 0644)
    commands.push_back(command("chmod {} {}", fmt::format("{:o}", file.mode), file.path));
}

void add_file(const DesiredFile& file, std::vector<ShellCommand>& commands) {
  const std::string folder = file.path.substr(0, file.path.rfind('/'));
  if (std::ranges::find(kFoldersThere, folder) == kFoldersThere.end())
    commands.push_back(command("mkdir -p {}", folder));
  if (file.json)  // docker's is the only one
    commands.push_back("nvidia-ctk runtime configure --runtime=docker");
  else if (file.toml)
    add_tables(file, commands);
  else
    file.block ? add_block(file, commands) : add_whole(file, commands);
}

}  // namespace

std::vector<ShellCommand> commands_by_hand(const Setting& setting, const Platform& platform) {
  std::vector<ShellCommand> commands;
  const auto add_steps = [&](bool before_files) {
    for (const NodeStep& step : setting.steps)
      if ((step.kind == StepKind::kFetchKey) == before_files && check_step(step))
        for (const auto& words : commands_of(step, platform))
          commands.push_back(command("{}", ShellWords{words}));
  };
  add_steps(true);
  for (const DesiredFile& file : setting.files) add_file(file, commands);
  for (const Contradiction& contradiction : setting.contradictions)
    commands.push_back(command("mv {} {}", contradiction.path, aside_name(contradiction.path)));
  add_steps(false);
  return commands;
}

}  // namespace railbed
