#include "settings/step.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "settings/words.h"

namespace railbed {
namespace {

using Commands = std::vector<Words>;

Words with(Words words, const Words& more) {
  append(words, more);
  return words;
}

Commands each(const Words& words, const Words& arguments) {
  Commands commands;
  for (const std::string& argument : arguments) commands.push_back(with(words, {argument}));
  return commands;
}

// NetworkManager activates a connection by the name of its file; `load` alone leaves the device as it is.
Commands load_connections(const Words& files) {
  Commands commands = {with({"nmcli", "connection", "load"}, files)};
  for (const std::string& file : files) {
    const auto slash = file.rfind('/') + 1;
    const auto dot = file.rfind(".nmconnection");
    commands.push_back({"nmcli", "connection", "up", "id", file.substr(slash, dot - slash)});
  }
  return commands;
}

Commands set_links(const Words& interfaces, const char* state) {
  Commands commands;
  for (const std::string& interface : interfaces)
    commands.push_back({"ip", "link", "set", "dev", interface, state});
  return commands;
}

Commands install(const Words& packages, OsFamily family) {
  if (family == OsFamily::kDebian)
    // No questions, and no replacement of a file that a person edited.
    return {with(
        {"apt-get", "--yes", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold", "install"},
        packages)};
  return {with({"dnf", "--assumeyes", "install"}, packages)};
}

Commands hold(const Words& packages, OsFamily family) {
  if (family == OsFamily::kDebian) return {with({"apt-mark", "hold"}, packages)};
  return {with({"dnf", "versionlock", "add"}, packages)};
}

Commands update_grub(OsFamily family) {
  if (family == OsFamily::kDebian) return {{"update-grub"}};
  return {{"grub2-mkconfig", "-o", "/boot/grub2/grub.cfg"}};
}

// A mistake would lock everyone out: sshd checks its settings first, and continues unchanged if they are
// invalid. It has to be called by its full path.
Commands reload_sshd(OsFamily family) {
  return {
      {"/usr/sbin/sshd", "-t"},
      {"systemctl", "try-reload-or-restart", family == OsFamily::kDebian ? "ssh.service" : "sshd.service"}};
}

// The form that a step's arguments must have.
enum class Form { kNothing, kFile, kName, kPackage, kKernelArgument };

Form form_of(StepKind kind) {
  switch (kind) {
    case StepKind::kLoadSysctl:
    case StepKind::kLoadConnections:
      return Form::kFile;
    case StepKind::kInstallPackages:
    case StepKind::kHoldPackages:
    case StepKind::kEnableStream:
      return Form::kPackage;
    case StepKind::kSetKernelArguments:
      return Form::kKernelArgument;
    case StepKind::kLoadModule:
    case StepKind::kEnableUnit:
    case StepKind::kRestartUnit:
    case StepKind::kDisableUnit:
    case StepKind::kReloadNetworkd:
    case StepKind::kSetLinkDown:
    case StepKind::kSetLinkUp:
      return Form::kName;
    default:
      return Form::kNothing;
  }
}

// Letters and digits that every form allows.
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

// Returns true if the text has 1 to 255 characters, all of them kLetters or in `more`, and does not begin
// with '-', which would make it an option.
bool consists_of(std::string_view text, std::string_view more) {
  return !text.empty() && text.size() <= 255 && text.front() != '-' && std::ranges::all_of(text, [&](char c) {
    return kLetters.find(c) != std::string_view::npos || more.find(c) != std::string_view::npos;
  });
}

bool fits(std::string_view argument, Form form) {
  switch (form) {
    case Form::kNothing:
      return false;
    case Form::kFile:
      return argument.starts_with("/etc/") && argument.find("/../") == std::string_view::npos &&
             consists_of(argument, "/._-@");
    case Form::kName:
      return consists_of(argument, "._-@:\\");
    case Form::kPackage:
      return consists_of(argument, "._-+=:~*?");
    case Form::kKernelArgument:
      return consists_of(argument, "._-=,:");
  }
  return false;
}

}  // namespace

std::vector<std::vector<std::string>> commands_of(const NodeStep& step, const Platform& platform) {
  const Words& given = step.arguments;
  switch (step.kind) {
    case StepKind::kLoadSysctl:
      return each({"sysctl", "--load"}, given);
    case StepKind::kLoadModule:
      return each({"modprobe", "--"}, given);
    case StepKind::kReloadUnits:
      return {{"systemctl", "daemon-reload"}};
    case StepKind::kEnableUnit:
      return each({"systemctl", "enable", "--now"}, given);
    case StepKind::kRestartUnit:
      return each({"systemctl", "try-restart"}, given);
    case StepKind::kDisableUnit:
      return each({"systemctl", "disable", "--now"}, given);
    case StepKind::kApplyNetplan:
      return {{"netplan", "apply"}};
    case StepKind::kLoadConnections:
      return load_connections(given);
    case StepKind::kReloadNetworkd:
      return {{"networkctl", "reload"}, with({"networkctl", "reconfigure"}, given)};
    case StepKind::kSetLinkDown:
      return set_links(given, "down");
    case StepKind::kSetLinkUp:
      return set_links(given, "up");
    case StepKind::kReloadUdev:
      return {{"udevadm", "control", "--reload"}};
    case StepKind::kUpdateGrub:
      return update_grub(platform.family);
    case StepKind::kSetKernelArguments:
      return {{"grubby", "--update-kernel=ALL", fmt::format("--args={}", fmt::join(given, " "))}};
    case StepKind::kInstallPackages:
      return install(given, platform.family);
    case StepKind::kHoldPackages:
      return hold(given, platform.family);
    case StepKind::kRefreshPackages:
      if (platform.family == OsFamily::kDebian) return {{"apt-get", "update"}};
      return {{"dnf", "makecache"}};
    case StepKind::kEnableStream:
      return each({"dnf", "--assumeyes", "module", "enable"}, given);
    case StepKind::kReloadSshd:
      return reload_sshd(platform.family);
  }
  return {};
}

Commands commands_of(const std::vector<NodeStep>& steps, const Platform& platform) {
  Commands commands;
  for (const NodeStep& step : steps)
    std::ranges::move(commands_of(step, platform), std::back_inserter(commands));
  return commands;
}

Result<void> check_step(const NodeStep& step) {
  const Form form = form_of(step.kind);
  const std::string_view kind = enum_names(step.kind)[static_cast<std::size_t>(step.kind)];
  if ((form == Form::kNothing) != step.arguments.empty())
    return fail(ErrorKind::kBadInput, fmt::format("step {} has {} arguments", kind, step.arguments.size()));
  for (const std::string& argument : step.arguments)
    if (!fits(argument, form))
      return fail(ErrorKind::kBadInput,
                  fmt::format("step {} does not take \"{}\"", kind, printable(argument)));
  return {};
}

}  // namespace railbed
