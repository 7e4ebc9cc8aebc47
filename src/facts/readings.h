// Helpers for collectors: from a file or a command to a typed Reading.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "base/reading.h"
#include "base/text.h"
#include "host/host.h"

namespace railbed {

// Reads the first line of a file as a number. If it has words instead ("N/A (no PMA)", "Unknown"), or -1 for
// an unsigned type, the driver has no value: unsupported. Any other text is garbled.
template <std::integral T>
Reading<T> read_number(Host& host, const std::string& path, int base = 10) {
  const auto line = host.read_line(path);
  if (!line) return {line.miss(), line.from()};
  if (const auto number = parse_number<T>(*line, base)) return {*number, path};
  const bool words = !line->empty() && ((line->front() >= 'A' && line->front() <= 'Z') || *line == "-1");
  return {Miss{words ? Missing::kUnsupported : Missing::kGarbled, "it says \"" + line->substr(0, 80) + "\""},
          path};
}

// Reads a number from a file; true unless it is 0.
inline Reading<bool> read_flag(Host& host, const std::string& path) {
  return read_number<int>(host, path).parsed([](int value) { return std::optional<bool>(value != 0); });
}

// Returns the part of a path behind its last slash.
inline std::string last_part(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

inline constexpr std::size_t kLongestInterface = 15;  // IFNAMSIZ - 1, linux/if.h
inline constexpr std::size_t kLongestDevice = 63;     // IB_DEVICE_NAME_MAX - 1, rdma/ib_verbs.h
inline constexpr std::size_t kLongestHost = 253;      // RFC 1035
inline constexpr std::size_t kLongestNqn = 223;       // NVMe Base Specification, "NVMe Qualified Names"

// Most entries of a list that are read. A machine has far fewer, but a captured tree may be hostile.
// Facts::left_out reports the rest.
inline constexpr std::size_t kMostOfAKind = 4096;
inline constexpr std::size_t kMostRdmaDevices = 1024;

// Returns true if the word can name a device: it is safe in paths, in commands and in YAML.
inline bool is_device_name(std::string_view name, std::size_t most) {
  return is_plain_word(name, most) && name.find('/') == std::string_view::npos;
}

// Returns the names in a folder of devices. Names that no device can have are left out, as they must be
// forged.
inline Reading<std::vector<std::string>> device_names(Host& host, const std::string& folder,
                                                      std::size_t longest, std::size_t most = kMostOfAKind) {
  return host.list(folder).parsed([&](std::vector<std::string> names) {
    std::erase_if(names, [&](const std::string& name) { return !is_device_name(name, longest); });
    names.resize(std::min(names.size(), most));
    return std::optional(std::move(names));
  });
}

// Returns the name of a link's target: /sys/.../device/driver → mlx5_core.
inline Reading<std::string> read_link_name(Host& host, const std::string& path) {
  return host.resolve(path).parsed([](const std::string& target) {
    std::string name = last_part(target);
    return is_device_name(name, kLongestDevice) ? std::optional(std::move(name)) : std::nullopt;
  });
}

// Returns the output of a command; unsupported if it exits with an error.
inline Reading<std::string> run_and_read(Host& host, const std::vector<std::string>& words) {
  const auto output = host.run(words);
  if (!output) return {output.miss(), output.from()};
  if (output->exit_code != 0)
    return {Miss{Missing::kUnsupported, "it ended with " + std::to_string(output->exit_code)}, output.from()};
  return {output->output, output.from()};
}

// Parses lines of "key<separator>value". Removes quotes around a value. The first line with a key wins.
inline std::map<std::string, std::string, std::less<>> key_values(std::string_view text, char separator) {
  std::map<std::string, std::string, std::less<>> found;
  for (const auto line : lines(text)) {
    const auto pair = key_value(line, separator);
    if (!pair) continue;
    auto value = pair->second;
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
      value = value.substr(1, value.size() - 2);
    found.emplace(pair->first, value);
  }
  return found;
}

// Returns one value of such a text. A missing key and a missing file give different reasons.
inline Reading<std::string> pick(const Reading<std::string>& text, char separator, std::string_view key) {
  if (!text) return text;
  const auto values = key_values(*text, separator);
  const auto found = values.find(key);
  if (found == values.end())
    return {Miss{Missing::kAbsent, "no " + std::string(key) + " in it"}, text.from()};
  return {found->second, text.from()};
}

}  // namespace railbed
