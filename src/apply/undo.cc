// The effect of a step depends on the state before it, so that state is read first:
//
//   load-sysctl       the present values of its keys are set again
//   load-module       a module that was not loaded is unloaded, if it is not in use by then
//   enable-unit       a unit that was not enabled is disabled, one that did not run is stopped, while its
//                     file exists
//   disable-unit      a unit that was enabled is enabled, one that ran is started, once its file is back
//   restart-unit      a unit that ran is restarted with its old files
//   load-connections  the old files are read, and each device gets its previous connection, or none
//   apply-netplan, reload-networkd, reload-udev, reload-sshd, update-grub, reload-units
//                     the same step again, with the old files
//   set-kernel-arguments  the arguments of its keys become those that were there, in their order, for each kernel
//   hold-packages     packages that were not held are released
//   fetch-key         a key that was not there is removed
//   set-link-down, set-link-up  network_state.h sets the link as it was
//
// Installed packages, package lists and enabled streams stay. Settings of a unit that was stopped (the
// governor, QoS) stay until the next boot.
#include "apply/undo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "settings/step.h"

namespace railbed {
namespace {

using UndoWords = std::vector<std::string>;

// Programs with their actions: those of steps (settings/step.cc), of their undo, and of a rollback of both.
using Action = std::vector<std::string_view>;
const std::vector<Action> kActions = {
    {"sysctl", "--load"},
    {"sysctl", "--write"},
    {"modprobe", "--"},
    {"modprobe", "--remove", "--"},
    {"systemctl", "daemon-reload"},
    {"systemctl", "enable", "--now"},
    {"systemctl", "enable"},
    {"systemctl", "disable", "--now"},
    {"systemctl", "disable"},
    {"systemctl", "start"},
    {"systemctl", "stop"},
    {"systemctl", "try-restart"},
    {"systemctl", "try-reload-or-restart"},
    {"netplan", "apply"},
    {"netplan", "generate"},
    {"networkctl", "reload"},
    {"networkctl", "reconfigure"},
    {"nmcli", "connection", "load"},
    {"nmcli", "connection", "reload"},
    {"nmcli", "connection", "up", "id"},
    {"nmcli", "--wait", "30", "connection", "up", "uuid"},
    {"nmcli", "device", "disconnect"},
    {"ip", "link", "set", "dev"},
    {"udevadm", "control", "--reload"},
    {"update-grub"},
    {"grub2-mkconfig", "-o", "/boot/grub2/grub.cfg"},
    {"apt-get", "--yes", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold", "install"},
    {"apt-get", "update"},
    {"apt-mark", "hold"},
    {"apt-mark", "unhold"},
    {"dnf", "--assumeyes", "install"},
    {"dnf", "--assumeyes", "module", "enable"},
    {"dnf", "makecache"},
    {"dnf", "versionlock", "add"},
    {"dnf", "versionlock", "delete"},
    {"/usr/sbin/sshd", "-t"}};

// Commands of the step fetch-key and its undo: each is the step's own, to the letter, or removes its file.
bool is_about_key(const UndoWords& words) {
  if (words.size() == 4 && words[0] == "rm")
    return words[1] == "--force" && words[2] == "--" && is_key_file(words[3]);
  // A file, an address and a fingerprint, as far as this command has them.
  NodeStep step{StepKind::kFetchKey, {"/etc/apt/railbed-.asc", "https://-", std::string(40, '0')}};
  for (const std::string& word : words) {
    if (is_key_file(word)) step.arguments[0] = word;
    if (word.starts_with("http")) step.arguments[1] = word;
    if (is_openpgp_fingerprint(word)) step.arguments[2] = word;
  }
  if (!check_step(step)) return false;
  const auto known = commands_of(step, Platform{.family = OsFamily::kRhel});
  return std::ranges::find(known, words) != known.end();
}

std::string key_of(std::string_view argument) { return std::string(argument.substr(0, argument.find('='))); }

std::set<std::string> keys_of(const std::vector<std::string>& arguments) {
  std::set<std::string> keys;
  for (const std::string& argument : arguments) keys.insert(key_of(argument));
  return keys;
}

// An entry of the boot menu, with its kernel arguments of certain keys, in their order.
struct BootEntry {
  std::string kernel;
  std::vector<std::string> arguments;
};

constexpr std::size_t kMostBootEntries = 32;

// Reads what `grubby --info` prints: "kernel=" and "args=" of each entry, in quotes or not. An argument of another form than a
// step's is left out: no command could restore it.
std::vector<BootEntry> boot_entries(std::string_view info, const std::set<std::string>& keys) {
  std::vector<BootEntry> entries;
  std::string kernel;
  for (const std::string_view line : lines(info)) {
    const auto pair = key_value(line, '=');
    if (!pair) continue;
    std::string_view value = pair->second;
    if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"'))
      value = value.substr(1, value.size() - 2);
    if (pair->first == "kernel") kernel = value;
    if (pair->first != "args" || entries.size() >= kMostBootEntries) continue;
    BootEntry& entry = entries.emplace_back(BootEntry{std::exchange(kernel, ""), {}});
    for (const std::string_view word : words(value))
      if (keys.contains(key_of(word)) && check_step({StepKind::kSetKernelArguments, {std::string(word)}}))
        entry.arguments.emplace_back(word);
  }
  return entries;
}

bool is_kernel_path(std::string_view path) {
  return path.starts_with("/boot/vmlinuz-") && path.size() < 200 && path.find("..") == path.npos &&
         path.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-") ==
             path.npos;
}

// The form of grubby's commands: which kernels, and arguments of the serial console alone. `\\bconsole=` is a pattern
// (settings/step.cc).
bool is_about_console(const UndoWords& words) {
  constexpr std::string_view kWhich = "--update-kernel=", kRemove = "--remove-args=", kAdd = "--args=";
  if (words.size() < 3 || words[0] != "grubby" || !words[1].starts_with(kWhich)) return false;
  const std::string_view which = std::string_view(words[1]).substr(kWhich.size());
  if (which != "ALL" && !is_kernel_path(which)) return false;
  return std::all_of(words.begin() + 2, words.end(), [&](std::string_view word) {
    const bool removes = word.starts_with(kRemove);
    if (!removes && !word.starts_with(kAdd)) return false;
    const auto arguments = railbed::words(word.substr(removes ? kRemove.size() : kAdd.size()));
    return !arguments.empty() && std::ranges::all_of(arguments, [&](std::string_view argument) {
      if (removes && argument == "\\bconsole=") return true;
      return check_step({StepKind::kSetKernelArguments, {std::string(argument)}}).has_value();
    });
  });
}

class UndoMaker {
 public:
  UndoMaker(const ApplyRequest& request, const WritableHost& host) : request_(request), host_(host) {}

  void add(const NodeStep& step) {
    switch (step.kind) {
      case StepKind::kLoadSysctl:
        return each(step, &UndoMaker::sysctl);
      case StepKind::kLoadModule:
        return each(step, &UndoMaker::module);
      case StepKind::kEnableUnit:
        return each(step, &UndoMaker::enabled);
      case StepKind::kDisableUnit:
        return each(step, &UndoMaker::disabled);
      case StepKind::kRestartUnit:
        return each(step, &UndoMaker::restarted);
      case StepKind::kApplyNetplan:
        after(true, false, {"netplan", "apply"});
        return after(false, true, {"netplan", "generate"});
      case StepKind::kLoadConnections:
        return connections(step);
      case StepKind::kSetKernelArguments:
        return kernel_arguments(step);
      case StepKind::kHoldPackages:
        return holds(step);
      case StepKind::kFetchKey:
        return key(step);
      case StepKind::kUpdateGrub:
        return again(step, true);
      case StepKind::kReloadUnits:
        return again(step, true);
      case StepKind::kReloadNetworkd:
      case StepKind::kReloadUdev:
      case StepKind::kReloadSshd:
        return again(step, false);
      case StepKind::kSetLinkDown:
      case StepKind::kSetLinkUp:
      case StepKind::kInstallPackages:
      case StepKind::kRefreshPackages:
      case StepKind::kEnableStream:
        return;
    }
  }

  std::vector<UndoCommand> take() { return std::move(commands_); }

 private:
  void each(const NodeStep& step, void (UndoMaker::*one)(const std::string&)) {
    for (const std::string& argument : step.arguments) (this->*one)(argument);
  }
  void before(bool running, bool booting, UndoWords words) {
    commands_.push_back({UndoWhen::kBeforeFiles, running, booting, std::move(words)});
  }
  void after(bool running, bool booting, UndoWords words) {
    commands_.push_back({UndoWhen::kAfterFiles, running, booting, std::move(words)});
  }
  void again(const NodeStep& step, bool booting) {
    for (UndoWords& words : commands_of(step, Platform{.family = request_.family}))
      after(true, booting, std::move(words));
  }

  // Returns the first line of a program's output; empty if it could not be run.
  std::string answer(const UndoWords& words) const {
    const auto said = host_.ask(words);
    return said ? std::string(trim(said->output.substr(0, said->output.find('\n')))) : "";
  }

  // Returns the file's content after the apply: from the request, else from the node.
  std::string new_content(const std::string& path) const {
    const auto found = std::ranges::find(request_.files, path, &FileEdit::path);
    if (found != request_.files.end()) return found->after ? found->after->bytes : "";
    const auto there = host_.read(path);
    return there && *there ? (*there)->content.bytes : "";
  }

  void sysctl(const std::string& file) {
    const std::string content = new_content(file);
    for (const std::string_view line : lines(content)) {
      const auto pair = key_value(line, '=');
      if (!pair || pair->first.empty() || pair->first.starts_with('#') || pair->first.starts_with(';'))
        continue;
      std::string key(pair->first);
      if (key.starts_with('-')) key.erase(0, 1);
      const std::string value = answer({"sysctl", "--values", key});
      if (!value.empty()) after(true, false, {"sysctl", "--write", key + "=" + value});
    }
  }

  void module(const std::string& name) {
    std::string folder = name;
    std::ranges::replace(folder, '-', '_');
    if (!host_.is_folder("/sys/module/" + folder)) after(true, false, {"modprobe", "--remove", "--", name});
  }

  void enabled(const std::string& unit) {
    const bool runs = answer({"systemctl", "is-active", unit}) == "active";
    if (!runs) before(true, false, {"systemctl", "stop", unit});
    if (answer({"systemctl", "is-enabled", unit}) != "enabled")
      before(true, true, {"systemctl", "disable", unit});
  }

  void disabled(const std::string& unit) {
    if (answer({"systemctl", "is-enabled", unit}) == "enabled")
      after(true, true, {"systemctl", "enable", unit});
    if (answer({"systemctl", "is-active", unit}) == "active")
      after(true, false, {"systemctl", "start", unit});
  }

  void restarted(const std::string& unit) {
    if (answer({"systemctl", "is-active", unit}) == "active")
      after(true, false, {"systemctl", "try-restart", unit});
  }

  // A connection that is read again becomes active by itself only if its device has no other active
  // connection.
  void connections(const NodeStep& step) {
    after(true, false, {"nmcli", "connection", "reload"});
    for (const std::string& file : step.arguments) {
      const std::string content = new_content(file);
      for (const std::string_view line : lines(content)) {
        const auto pair = key_value(line, '=');
        if (!pair || pair->first != "interface-name") continue;
        const std::string device(pair->second);
        const std::string uuid = answer({"nmcli", "-g", "GENERAL.CON-UUID", "device", "show", device});
        if (uuid.empty())
          after(true, false, {"nmcli", "device", "disconnect", device});
        else
          after(true, false, {"nmcli", "--wait", "30", "connection", "up", "uuid", uuid, "ifname", device});
      }
    }
  }

  // All kernels get what the default one had; those that had other arguments get theirs. A key that had none loses those of
  // the step alone, so that what somebody adds meanwhile stays.
  void kernel_arguments(const NodeStep& step) {
    const std::set<std::string> keys = keys_of(step.arguments);
    const auto info = [&](const char* which) {
      const auto said = host_.ask({"grubby", std::string("--info=") + which});
      return boot_entries(said ? said->output : "", keys);
    };
    const auto standard = info("DEFAULT");
    const std::vector<std::string> usual =
        standard.empty() ? std::vector<std::string>{} : standard.front().arguments;
    restore_arguments(step, "ALL", usual);
    std::set<std::string> known;
    for (const BootEntry& entry : info("ALL"))
      if (entry.arguments != usual && is_kernel_path(entry.kernel) && known.insert(entry.kernel).second)
        restore_arguments(step, entry.kernel, entry.arguments);
  }

  void restore_arguments(const NodeStep& step, const std::string& kernel,
                         const std::vector<std::string>& arguments) {
    const std::string which = "--update-kernel=" + kernel;
    const std::set<std::string> had = keys_of(arguments);
    UndoWords fresh;
    for (const std::string& argument : step.arguments)
      if (!had.contains(key_of(argument))) fresh.push_back(argument);
    if (!fresh.empty())
      after(true, true, {"grubby", which, fmt::format("--remove-args={}", fmt::join(fresh, " "))});
    if (arguments.empty()) return;
    for (UndoWords& words :
         commands_of({StepKind::kSetKernelArguments, arguments}, Platform{.family = request_.family})) {
      words[1] = which;
      after(true, true, std::move(words));
    }
  }

  void holds(const NodeStep& step) {
    const bool debian = request_.family == OsFamily::kDebian;
    const auto held =
        debian ? host_.ask({"apt-mark", "showhold"}) : host_.ask({"dnf", "versionlock", "list"});
    const std::string known = held ? held->output : "";
    for (const std::string& package : step.arguments) {
      if (known.find(package) != std::string::npos) continue;
      after(true, false,
            debian ? UndoWords{"apt-mark", "unhold", package}
                   : UndoWords{"dnf", "versionlock", "delete", package});
    }
  }

  void key(const NodeStep& step) {
    const std::string& file = step.arguments.front();
    const auto there = host_.read(file);
    if (there && !*there) after(true, true, {"rm", "--force", "--", file});
  }

  const ApplyRequest& request_;
  const WritableHost& host_;
  std::vector<UndoCommand> commands_;
};

}  // namespace

bool is_command_of_ours(const UndoWords& words) {
  if (is_about_key(words) || is_about_console(words)) return true;
  const auto is_argument = [](const std::string& word) {
    return !word.starts_with('-') && (!word.starts_with('/') || is_path_of_settings(word));
  };
  return std::ranges::any_of(kActions, [&](const Action& action) {
    const auto differ = std::ranges::mismatch(action, words);
    return differ.in1 == action.end() && std::all_of(differ.in2, words.end(), is_argument);
  });
}

std::string changed_kernel_arguments(const ApplyRequest& request, const WritableHost& host) {
  for (const NodeStep& step : request.steps) {
    if (step.kind != StepKind::kSetKernelArguments) continue;
    const auto info = host.ask({"grubby", "--info=DEFAULT"});
    if (!info || info->exit_code != 0) continue;
    const auto entries = boot_entries(info->output, keys_of(step.arguments));
    if (entries.empty()) continue;
    const std::vector<std::string>& now = entries.front().arguments;
    // grubby of RHEL 8 keeps the last argument of a key alone.
    if (now == step.arguments || now == std::vector<std::string>{step.arguments.back()}) continue;
    return fmt::format("the kernel's arguments are \"{}\", and the apply set \"{}\"",
                       printable(fmt::format("{}", fmt::join(now, " "))), fmt::join(step.arguments, " "));
  }
  return "";
}

std::vector<UndoCommand> undo_of(const ApplyRequest& request, const WritableHost& host) {
  UndoMaker maker(request, host);
  for (const NodeStep& step : request.steps) maker.add(step);
  return maker.take();
}

}  // namespace railbed
