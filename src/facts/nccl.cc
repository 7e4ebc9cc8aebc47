#include "facts/nccl.h"

#include <algorithm>

#include "base/json.h"
#include "facts/nccl_environment.h"
#include "facts/nccl_file.h"
#include "facts/nccl_plugin.h"
#include "facts/readings.h"
#include "facts/system.h"

namespace railbed {
namespace {

using Variables = std::vector<NcclVariable>;

// Limit of the variables of one place. NCCL has about two hundred, and each unknown one is compared with all
// of them.
constexpr std::size_t kMostVariables = 1024;

// The syntax of a file.
enum class Syntax {
  kNccl,   // NAME=value to the letter; # only in the first column (NCCL src/misc/param.cc)
  kShell,  // [export] NAME='value'; also for pam_env and systemd
};

// Parses a line as NCCL does. NCCL takes everything before the first "=" as the name, including "export " and
// spaces. Lines whose plain name is known are kept as they are, so that the lint can report that they have no
// effect.
std::optional<NcclVariable> parse_nccl(std::string_view line, const std::string& from) {
  constexpr std::size_t kMost = 1023;  // NCCL's own buffers
  const auto equals = line.find('=');
  if (line.starts_with('#') || equals == std::string_view::npos) return std::nullopt;
  const std::string_view name = line.substr(0, equals);
  std::string_view plain = trim(name);
  if (plain.starts_with("export ")) plain = trim(plain.substr(7));
  if (!is_nccl_name(plain)) return std::nullopt;
  return NcclVariable{std::string(name.substr(0, kMost)), std::string(line.substr(equals + 1, kMost)), from};
}

std::optional<NcclVariable> parse_shell(std::string_view line, const std::string& from) {
  line = trim(line);
  if (line.starts_with("export ")) line = trim(line.substr(7));
  const auto equals = line.find('=');
  if (equals == std::string_view::npos || !is_nccl_name(line.substr(0, equals))) return std::nullopt;
  return NcclVariable{std::string(line.substr(0, equals)), first_shell_word(line.substr(equals + 1)), from};
}

// Returns the variables of a file; nullopt if there are more than kMostVariables, which no real file has.
std::optional<Variables> parse_file(std::string_view text, const std::string& path, Syntax syntax) {
  Variables found;
  int number = 0;
  while (!text.empty()) {  // not lines(): trailing spaces and carriage returns belong to the value
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    const std::string from = path + ":" + std::to_string(++number);
    auto variable = syntax == Syntax::kNccl ? parse_nccl(line, from) : parse_shell(line, from);
    if (variable) found.push_back(std::move(*variable));
    if (found.size() > kMostVariables) return std::nullopt;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return found;
}

Reading<Variables> read_file(Host& host, const std::string& path, Syntax syntax) {
  if (!path.starts_with('/')) return {Miss{Missing::kAbsent, "not a whole path"}, path};
  return host.read(path).parsed([&](const std::string& text) { return parse_file(text, path, syntax); });
}

// Reads /etc/environment, then /etc/profile.d/*.sh in the order in which a shell reads them: later ones win.
Reading<Variables> read_profile(Host& host) {
  const std::string folder = "/etc/profile.d";
  std::vector<std::string> files{"/etc/environment"};
  const auto names = host.list(folder);
  if (names.unknown()) return {names.miss(), folder};
  for (const auto& name : items(names))
    if (name.ends_with(".sh")) files.push_back(folder + "/" + name);
  Variables all;
  bool any = false;
  for (const auto& file : files) {
    const auto variables = read_file(host, file, Syntax::kShell);
    any = any || variables.ok();
    for (const auto& variable : items(variables)) all.push_back(variable);
  }
  const std::string from = "/etc/environment, /etc/profile.d/*.sh";
  if (!any) return {Miss{Missing::kAbsent, "none of these files is there"}, from};
  return {std::move(all), from};
}

using Strings = std::map<std::string, std::string>;

// Reads this process's own variables of NCCL, UCX and CUDA.
Reading<Variables> read_environment(Host& host) {
  auto all = host.call("environment NCCL").parsed([](const std::string& answer) -> std::optional<Variables> {
    const auto variables = json::read<Strings>(answer);
    if (!variables) return std::nullopt;
    Variables found;
    for (const auto& [name, value] : *variables)
      if (is_nccl_name(name)) found.push_back({name, value, "environment"});
    return found;
  });
  if (!all) return all;
  Variables found = *all;
  for (const char* const call : {"environment UCX_", "environment CUDA_VISIBLE_DEVICES"}) {
    const auto variables = json::read<Strings>(host.call(call).value_or("{}"));
    if (!variables) continue;
    for (const auto& [name, value] : *variables)
      if (is_nccl_name(name)) found.push_back({name, value, "environment"});
  }
  return {std::move(found), all.from()};
}

// Returns the path $NCCL_CONF_FILE unless it is empty, else ~/.nccl.conf.
std::string user_file(Host& host, const Nccl& nccl) {
  const NcclVariable* const named = effective(nccl, "NCCL_CONF_FILE");
  if (named != nullptr && !named->value.empty()) return named->value;
  const auto variables = json::read<Strings>(host.call("environment HOME").value_or("{}"));
  const auto found = variables ? variables->find("HOME") : Strings::const_iterator{};
  return (variables && found != variables->end() ? found->second : "/root") + "/.nccl.conf";
}

// Reads a service's variables. Files of EnvironmentFile= come after Environment= and win (systemd.exec(5)).
NcclService read_service(Host& host, const UnitEnvironment& unit) {
  Variables found;
  for (const auto& [name, value] : unit.variables)
    if (is_nccl_name(name)) found.push_back({name, value, unit.name + ".service"});
  for (const auto& file : unit.files)
    for (const auto& variable : read_file(host, file, Syntax::kShell).value_or({})) found.push_back(variable);
  return {unit.name, {std::move(found), "systemctl show " + unit.name}};
}

// Reads the environments of those services that exist, with one call of systemctl.
std::vector<NcclService> read_services(Host& host, const Reading<std::vector<Service>>& services) {
  constexpr std::string_view kStarters[] = {"slurmd", "containerd", "docker", "kubelet"};
  auto words = railbed::words(kShowEnvironment);
  std::vector<std::string> command(words.begin(), words.end());
  const std::size_t bare = command.size();
  for (const auto name : kStarters) {
    const auto same = [&](const Service& service) { return service.name == name; };
    if (services.ok() && std::ranges::any_of(*services, same))
      command.push_back(std::string(name) + ".service");
  }
  if (command.size() == bare) return {};
  const auto output = host.run(command);
  std::vector<NcclService> found;
  if (!output || output->exit_code != 0) {
    const Miss miss = output ? Miss{Missing::kUnsupported, "systemctl failed"} : output.miss();
    for (std::size_t i = bare; i < command.size(); ++i)
      found.push_back({command[i].substr(0, command[i].size() - 8), {miss, "systemctl show"}});
    return found;
  }
  for (const auto& unit : parse_unit_environments(output->output)) found.push_back(read_service(host, unit));
  return found;
}

// Reads the version from the link's target: libnccl.so.2 → libnccl.so.2.28.9, as NVIDIA's packages install
// it.
Reading<NcclFile> read_library(Host& host) {
  constexpr std::string_view kFolders[] = {
      "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib",
      "/usr/local/cuda/lib64"};
  constexpr std::string_view kName = "libnccl.so.";
  for (const auto folder : kFolders) {
    const auto file = host.resolve(std::string(folder) + "/libnccl.so.2");
    if (file.unknown()) return {file.miss(), file.from()};
    if (!file) continue;
    const std::string name = last_part(*file);
    const bool numbered = name.starts_with(kName) && name.find('.', kName.size()) != std::string::npos;
    if (!numbered) continue;
    return {NcclFile{*file, name.substr(kName.size())}, *file};
  }
  return {Miss{Missing::kAbsent, "no libnccl.so.2 in the usual folders"}, "/usr/lib*/libnccl.so.2"};
}

// Returns the line with the comment behind the value masked, and the value too if it may be a secret.
std::string without_site(std::string_view line) {
  std::string kept(line);
  for (std::size_t at = kept.find('#'); at != std::string::npos; at = kept.find('#', at + 1)) {
    if (at == 0 || (kept[at - 1] != ' ' && kept[at - 1] != '\t')) continue;
    kept.replace(at, std::string::npos, "# masked");
    break;
  }
  const auto equals = kept.find('=');
  const auto end = std::min(kept.find_first_of(" \t", equals + 1), kept.size());
  if (equals != std::string::npos &&
      looks_secret(std::string_view(kept).substr(equals + 1, end - equals - 1)))
    kept.replace(equals + 1, end - equals - 1, "masked");
  return kept;
}

}  // namespace

std::vector<NcclVariable> parse_nccl_file(std::string_view text, const std::string& path) {
  return parse_file(text, path, Syntax::kNccl).value_or(Variables{});
}

bool is_nccl_name(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("UCX_") || name == "CUDA_VISIBLE_DEVICES";
}

std::vector<const NcclVariable*> by_precedence(const Nccl& nccl) {
  std::vector<const NcclVariable*> all;
  const auto add = [&](const Reading<Variables>& variables, bool last_wins) {
    if (!variables.ok()) return;
    const auto begin = static_cast<std::ptrdiff_t>(all.size());
    for (std::size_t i = 0; i < std::min(variables->size(), kMostVariables); ++i)
      all.push_back(&(*variables)[i]);
    if (last_wins) std::reverse(all.begin() + begin, all.end());
  };
  add(nccl.environment, true);
  add(nccl.profile, true);
  add(nccl.user_file, false);
  add(nccl.system_file, false);
  return all;
}

const NcclVariable* effective(const Nccl& nccl, std::string_view name) {
  const auto all = by_precedence(nccl);
  const auto found = std::ranges::find(all, name, &NcclVariable::name);
  return found == all.end() ? nullptr : *found;
}

const Reading<Variables>* untold(const Nccl& nccl) {
  for (const auto* place : {&nccl.environment, &nccl.profile, &nccl.user_file, &nccl.system_file})
    if (place->unknown()) return place;
  return nullptr;
}

std::string only_nccl_lines(std::string_view text) {
  std::string kept;
  for (const auto line : lines(text)) {
    auto name = trim(line);
    if (name.starts_with("export ")) name = trim(name.substr(7));
    if (is_nccl_name(trim(name.substr(0, name.find('='))))) kept += without_site(line);
    kept.push_back('\n');
  }
  return kept;
}

Nccl collect_nccl(Host& host, const Reading<std::vector<Service>>& services) {
  Nccl nccl;
  nccl.environment = read_environment(host);
  nccl.profile = read_profile(host);
  nccl.user_file = read_file(host, user_file(host, nccl), Syntax::kNccl);
  nccl.system_file = read_file(host, "/etc/nccl.conf", Syntax::kNccl);
  nccl.root_file = read_file(host, "/root/.nccl.conf", Syntax::kNccl);
  nccl.services = read_services(host, services);
  nccl.library = read_library(host);
  nccl.net_plugins = collect_net_plugins(host, nccl);
  return nccl;
}

}  // namespace railbed
