#include "facts/software/nccl_environment.h"

#include <algorithm>

#include "base/text.h"
#include "facts/mask/mask.h"
#include "facts/software/nccl.h"

namespace railbed {
namespace {

constexpr std::string_view kService = ".service";

// Removes the first word from the text and returns it with quotes and backslashes resolved. The word ends at
// the first unquoted character of `stops`.
std::string take_word(std::string_view& text, std::string_view stops) {
  std::string word;
  char quote = 0;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word.push_back(text[++i]);
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word.push_back(c);
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (stops.find(c) != std::string_view::npos) {
      break;
    } else {
      word.push_back(c);
    }
  }
  text.remove_prefix(i);
  return word;
}

// Adds the variables of a text such as "A=1 \"B=two words\"".
void add_variables(std::string_view text, UnitEnvironment& unit) {
  for (text = trim(text); !text.empty(); text = trim(text)) {
    const std::string word = take_word(text, " \t");
    const auto equals = word.find('=');
    if (equals != std::string::npos)
      unit.variables.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
}

}  // namespace

std::string take_shell_word(std::string_view& text) { return take_word(text, " \t;\r"); }
std::string first_shell_word(std::string_view text) { return take_shell_word(text); }

std::vector<UnitEnvironment> parse_unit_environments(std::string_view output) {
  std::vector<UnitEnvironment> units;
  UnitEnvironment unit;
  const auto keep = [&] {
    if (!unit.name.empty()) units.push_back(std::move(unit));
    unit = {};
  };
  for (const auto line : lines(output)) {
    const auto pair = key_value(line, '=');
    if (!pair) {
      keep();
      continue;
    }
    const auto& [key, value] = *pair;
    if (key == "Id")
      unit.name = value.ends_with(kService) ? value.substr(0, value.size() - kService.size()) : value;
    if (key == "Environment") add_variables(value, unit);
    if (key == "EnvironmentFiles") {  // "/etc/default/slurmd (ignore_errors=yes)"
      const auto path = value.substr(0, value.find(" ("));
      if (path.starts_with('/') && path.find_first_of("*?[") == std::string_view::npos)
        unit.files.emplace_back(path);
    }
  }
  keep();
  return units;
}

std::string first_values(std::string_view text) {
  std::string kept;
  for (const auto line : lines(text)) {
    const auto equals = line.find('=');
    std::string_view rest = equals == std::string_view::npos ? line : line.substr(equals + 1);
    (void)take_shell_word(rest);
    const std::string_view set = line.substr(0, line.size() - rest.size());
    kept += set;
    if (trim(rest).starts_with('#')) kept += rest;
    kept.push_back('\n');
  }
  return kept;
}

bool looks_secret(std::string_view value) {
  const auto has = [&](char low, char high) {
    return std::ranges::any_of(value, [&](char c) { return c >= low && c <= high; });
  };
  return value.size() >= 20 && value.find_first_of("/,.:^=") == std::string_view::npos && has('a', 'z') &&
         has('A', 'Z') && has('0', '9');
}

std::string only_nccl_environment(std::string_view output) {
  return only_nccl_environment(
      output, [](const std::string& value) { return looks_secret(value) ? "masked" : value; },
      [](const std::string& file) { return file; });
}

std::string only_nccl_environment(std::string_view output, const ReplaceText& value_of,
                                  const ReplaceText& file_of) {
  std::string kept;
  for (const auto& unit : parse_unit_environments(output)) {
    kept += (kept.empty() ? "Id=" : "\nId=") + unit.name + std::string(kService) + "\n";
    std::string variables;
    for (const auto& [name, value] : unit.variables) {
      if (!is_nccl_name(name)) continue;
      std::string quoted;
      for (const char c : value_of(value)) {
        if (c == '"' || c == '\\') quoted.push_back('\\');
        quoted.push_back(c);
      }
      variables += (variables.empty() ? "\"" : " \"") + name + "=" + quoted + "\"";
    }
    if (!variables.empty()) kept += "Environment=" + variables + "\n";
    for (const auto& file : unit.files) kept += "EnvironmentFiles=" + file_of(file) + " (ignore_errors=no)\n";
  }
  return kept;
}

std::string masked_unit_environments(std::string_view output, const KnownNames& known, Mask& mask) {
  return only_nccl_environment(
      output, [&](const std::string& value) { return masked_nccl_value(value, known, mask); },
      [&](const std::string& file) {
        return known.contains(file) ? file : "/" + mask.placeholder("masked", file);
      });
}

}  // namespace railbed
