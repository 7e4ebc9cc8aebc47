#include "settings/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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

// Fetches keys into a folder of root's in memory, and writes the one with the fingerprint: whatever else came
// with it stays there. `gpg --list-keys` fails if there is none, `gpg --export` would not.
Commands fetch_key(const Words& given, OsFamily family) {
  if (given.size() != 3) return {};
  const std::string& file = given[0];
  const Words gpg = {"gpg",           "--homedir", std::string(kKeyFolder), "--batch", "--no-autostart",
                     "--trust-model", "always"};
  const std::string fetched = std::string(kKeyFolder) + "/fetched.asc";
  Commands commands = {{"mkdir", "-p", "-m", "0700", std::string(kKeyFolder)},
                       {"curl", "--fail", "--silent", "--show-error", "--location", "--proto", "=http,https",
                        "--max-time", "60", "--max-filesize", "1048576", "--output", fetched, given[1]},
                       with(gpg, {"--import", fetched}),
                       with(gpg, {"--list-keys", given[2]}),
                       with(gpg, {"--yes", "--armor", "--export", "--output", file, given[2]}),
                       {"chmod", "0644", file}};
  // Debian has neither program by default, RHEL both.
  if (family == OsFamily::kDebian) {
    commands.insert(commands.begin(), install({"ca-certificates", "curl", "gnupg"}, family).front());
    commands.insert(commands.begin(), {"apt-get", "update"});
  }
  return commands;
}

// The form that a step's arguments must have.
enum class Form { kNothing, kFile, kName, kPackage, kKernelArgument, kKey };

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
    case StepKind::kFetchKey:
      return Form::kKey;
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

// Returns true if `text` is an address of http or https without a user in it.
bool is_url(std::string_view text) {
  const bool web = text.starts_with("https://") || text.starts_with("http://");
  return web && consists_of(text, "/._-:~%");
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
      return argument.starts_with("console=") && consists_of(argument, "._-=,:");
    case Form::kKey:
      return is_key_file(argument) || is_url(argument) || is_openpgp_fingerprint(argument);
  }
  return false;
}

}  // namespace

bool is_key_file(std::string_view path) {
  return (path.starts_with("/etc/apt/railbed-") || path.starts_with("/etc/pki/rpm-gpg/railbed-")) &&
         path.ends_with(".asc") && std::ranges::count(path, '/') <= 4 &&
         path.find("..") == std::string_view::npos && consists_of(path, "/._-");
}

bool is_openpgp_fingerprint(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789ABCDEF") == std::string_view::npos;
}

namespace {

// grubby of RHEL 8 (rhboot/grubby, grubby-bls of 2018, update_args) replaces the first argument of a key by each given one in
// turn, so that another serial port would stay last; it removes the first match of a pattern of sed. Four removals take
// as many old arguments away, and what it then keeps of a key is the last that is given. Later ones drop all arguments of
// the key by themselves, and take the pattern for the name of an argument that nobody has.
std::vector<std::string> set_kernel_arguments(const std::vector<std::string>& given) {
  constexpr int kRemovals = 4;
  std::map<std::string, int> keys;
  for (const std::string& argument : given) ++keys[argument.substr(0, argument.find('='))];
  std::vector<std::string> removals;
  for (const auto& [key, count] : keys)
    if (count > 1) removals.insert(removals.end(), kRemovals, fmt::format("\\b{}=", key));
  std::vector<std::string> words = {"grubby", "--update-kernel=ALL"};
  if (!removals.empty()) words.push_back(fmt::format("--remove-args={}", fmt::join(removals, " ")));
  words.push_back(fmt::format("--args={}", fmt::join(given, " ")));
  return words;
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
      return {set_kernel_arguments(given)};
    case StepKind::kInstallPackages:
      return install(given, platform.family);
    case StepKind::kHoldPackages:
      return hold(given, platform.family);
    case StepKind::kRefreshPackages:
      if (platform.family == OsFamily::kDebian) return {{"apt-get", "update"}};
      return {{"dnf", "makecache"}};
    case StepKind::kEnableStream:
      return each({"dnf", "--assumeyes", "module", "enable"}, given);
    case StepKind::kFetchKey:
      return fetch_key(given, platform.family);
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
  if (form == Form::kKey && (step.arguments.size() != 3 || !is_key_file(step.arguments[0]) ||
                             !is_url(step.arguments[1]) || !is_openpgp_fingerprint(step.arguments[2])))
    return fail(ErrorKind::kBadInput,
                fmt::format("step {} takes a file, an address and a fingerprint", kind));
  return {};
}

}  // namespace railbed
