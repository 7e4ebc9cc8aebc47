#include "facts/nccl.h"

#include "base/json.h"
#include "facts/readings.h"

namespace railbed {
namespace {

// "NAME=value", with "export " before it in shell files; only names that NCCL reads.
std::optional<NcclVariable> parse_line(std::string_view line, const std::string& from) {
  line = trim(line);
  if (line.starts_with("export ")) line = trim(line.substr(7));
  const auto pair = key_value(line, '=');
  if (!pair || !pair->first.starts_with("NCCL_")) return std::nullopt;
  auto value = pair->second;
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  return NcclVariable{std::string(pair->first), std::string(value), from};
}

std::vector<NcclVariable> parse_file(const std::string& text, const std::string& path) {
  std::vector<NcclVariable> found;
  int number = 0;
  for (const auto line : lines(text))
    if (auto variable = parse_line(line, path + ":" + std::to_string(++number)))
      found.push_back(std::move(*variable));
  return found;
}

Reading<std::vector<NcclVariable>> read_file(Host& host, const std::string& path) {
  return host.read(path).parsed(
      [&](const std::string& text) { return std::optional(parse_file(text, path)); });
}

// /etc/environment first, then /etc/profile.d/*.sh in the order a shell reads them: later ones win.
Reading<std::vector<NcclVariable>> read_profile(Host& host) {
  const std::string folder = "/etc/profile.d";
  std::vector<std::string> files{"/etc/environment"};
  for (const auto& name : host.list(folder).value_or({}))
    if (name.ends_with(".sh")) files.push_back(folder + "/" + name);
  std::vector<NcclVariable> all;
  bool any = false;
  for (const auto& file : files) {
    const auto variables = read_file(host, file);
    any = any || variables.ok();
    for (const auto& variable : variables.value_or({})) all.push_back(variable);
  }
  const std::string from = "/etc/environment, /etc/profile.d/*.sh";
  if (!any) return {Miss{Missing::kAbsent, "none of these files is there"}, from};
  return {std::move(all), from};
}

Reading<std::vector<NcclVariable>> read_environment(Host& host) {
  return host.call("environment NCCL")
      .parsed([](const std::string& answer) -> std::optional<std::vector<NcclVariable>> {
        const auto variables = json::read<std::map<std::string, std::string>>(answer);
        if (!variables) return std::nullopt;
        std::vector<NcclVariable> found;
        for (const auto& [name, value] : *variables) found.push_back({name, value, "environment"});
        return found;
      });
}

// $NCCL_CONF_FILE, else ~/.nccl.conf.
std::string user_file(Host& host, const Reading<std::vector<NcclVariable>>& environment) {
  for (const auto& variable : environment.value_or({}))
    if (variable.name == "NCCL_CONF_FILE") return variable.value;
  const auto home = host.call("environment HOME");
  const auto variables = json::read<std::map<std::string, std::string>>(home.value_or("{}"));
  const auto found =
      variables ? variables->find("HOME") : std::map<std::string, std::string>::const_iterator{};
  return (variables && found != variables->end() ? found->second : "/root") + "/.nccl.conf";
}

// Within one file the last line wins.
const NcclVariable* last_in(const Reading<std::vector<NcclVariable>>& variables, std::string_view name) {
  const NcclVariable* found = nullptr;
  if (variables)
    for (const auto& variable : *variables)
      if (variable.name == name) found = &variable;
  return found;
}

}  // namespace

Nccl collect_nccl(Host& host) {
  Nccl nccl;
  nccl.system_file = read_file(host, "/etc/nccl.conf");
  nccl.environment = read_environment(host);
  nccl.user_file = read_file(host, user_file(host, nccl.environment));
  nccl.profile = read_profile(host);
  return nccl;
}

const NcclVariable* effective(const Nccl& nccl, std::string_view name) {
  for (const auto* source : {&nccl.environment, &nccl.profile, &nccl.user_file, &nccl.system_file})
    if (const auto* found = last_in(*source, name)) return found;
  return nullptr;
}

}  // namespace railbed
