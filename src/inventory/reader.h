// Converts a YAML tree to a RawCluster: checks keys, kinds and the syntax of single values. Private to this
// room.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wording.h"
#include "inventory/raw.h"

namespace railbed {

class ClusterReader {
 public:
  explicit ClusterReader(Complaints& complaints) : complaints_(complaints) {}

  RawCluster read(const YamlValue& root);

 private:
  using Visit = std::function<void(std::string_view key, const YamlKey& at, const YamlValue& value)>;

  // Returns whether `value` is of this kind, and reports an error if not. For an empty value the error points
  // at its key.
  bool is(YamlValue::Kind kind, const YamlValue& value, std::string_view what, Spot key_spot);
  bool is(YamlValue::Kind kind, const YamlValue& value, const YamlKey& key) {
    return is(kind, value, '"' + key.text + '"', key.spot);
  }
  // Calls `visit` for every known key. Reports unknown, repeated and missing ones.
  void each_key(const YamlValue& mapping, std::string_view thing, const Visit& visit);
  // Reports the required keys that are missing, except those that seem to be misspelled.
  void complain_of_missing(const YamlValue& mapping, std::string_view thing);

  // Return a text of one line and at most 1024 bytes that is not empty, or report an error.
  Said<std::string> text(const YamlKey& key, const YamlValue& value);
  std::optional<RawPattern> pattern(std::string_view key, Spot key_spot, const YamlValue& value);
  // Returns the value that `parse` accepts, or reports an error; `wanted` completes "must be …".
  template <class Parse>
  auto parsed(const YamlKey& key, const YamlValue& value, Parse parse, std::string_view wanted)
      -> Said<typename decltype(parse(std::string_view()))::value_type>;
  // Returns a rate that `parse` accepts, or reports an error with the rate that was meant.
  template <class Parse>
  Said<BitRate> rate(const YamlKey& key, const YamlValue& value, Parse parse, std::string_view wanted);
  // Returns the enumerator with this name, or reports an error.
  template <class Enum>
  std::optional<Enum> word(const YamlKey& key, const YamlValue& value);
  // Returns a text that is one of `words`, or reports an error.
  Said<std::string> choice(const YamlKey& key, const YamlValue& value,
                           const std::vector<std::string_view>& words);

  // Reads one key of a link's settings; returns false if it is not such a key.
  bool read_link(std::string_view key, const YamlKey& at, const YamlValue& value, RawLink& link);
  void read_ssh(const YamlKey& at, const YamlValue& value, RawCluster& cluster);
  void read_bmc(const YamlKey& at, const YamlValue& value, BmcAccess& access);
  std::optional<std::map<std::string, std::string>> read_firmware(const YamlKey& at, const YamlValue& value);
  RawExpect read_expect(const YamlKey& at, const YamlValue& value);
  // Returns the items of a list. A single value counts as a list of itself.
  template <class Parse>
  auto parsed_list(const YamlKey& key, const YamlValue& value, Parse parse, std::string_view wanted)
      -> std::optional<std::vector<typename decltype(parse(std::string_view()))::value_type>>;
  std::optional<std::vector<MigLayout>> read_mig(const YamlKey& at, const YamlValue& value);
  std::optional<MigLayout> read_mig_layout(const YamlValue& value);
  std::optional<GpuSharing> read_gpu_sharing(const YamlKey& at, const YamlValue& value);
  RawConfigure read_configure(const YamlKey& at, const YamlValue& value);
  void read_management(std::string_view key, const YamlKey& at, const YamlValue& value, RawConfigure& raw);
  void read_nodes(const YamlKey& at, const YamlValue& value, RawCluster& cluster);
  // Reads an entry of `nodes:`; nullopt if it has no valid name.
  std::optional<RawNode> read_node(const YamlValue& value);
  std::vector<RawRail> read_rails(const YamlKey& at, const YamlValue& value);
  RawRail read_rail(const YamlValue& value);
  void read_ports(const YamlKey& at, const YamlValue& value, RawRail& rail);
  std::vector<RawPart> read_parts(const YamlKey& at, const YamlValue& value);
  RawPart read_part(PartKind kind, const YamlValue& value);
  std::vector<RawCheck> read_checks(const YamlKey& at, const YamlValue& value);
  std::optional<RawCheck> read_check(const YamlValue& value);
  std::vector<ExitCode> read_exit(const YamlKey& at, const YamlValue& value);
  std::vector<RawStorage> read_storage(const YamlKey& at, const YamlValue& value);
  // Reads an entry of `storage:`; nullopt if a part of it was rejected.
  std::optional<RawStorage> read_export(const YamlValue& value);
  // Reports keys of `storage:` that the entry's protocol lacks or does not know.
  void check_kind(const RawStorage& made, const YamlValue& value);
  void read_patterns(const YamlKey& at, const YamlValue& value, std::vector<RawPattern>& patterns);

  Complaints& complaints_;
};

template <class Parse>
auto ClusterReader::parsed(const YamlKey& key, const YamlValue& value, Parse parse, std::string_view wanted)
    -> Said<typename decltype(parse(std::string_view()))::value_type> {
  const auto said = text(key, value);
  if (!said) return std::nullopt;
  if (auto result = parse(std::string_view(said->value))) return {{*std::move(result), said->spot}};
  complaints_.add(said->spot, fmt::format("\"{}\" must be {}", key.text, wanted));
  return std::nullopt;
}

template <class Parse>
Said<BitRate> ClusterReader::rate(const YamlKey& key, const YamlValue& value, Parse parse,
                                  std::string_view wanted) {
  const auto said = text(key, value);
  if (!said) return std::nullopt;
  if (const auto rate = parse(std::string_view(said->value))) return {{*rate, said->spot}};
  complaints_.add(said->spot,
                  fmt::format("\"{}\" must be {}{}", key.text, wanted, did_you_mean_rate(said->value)));
  return std::nullopt;
}

template <class Enum>
std::optional<Enum> ClusterReader::word(const YamlKey& key, const YamlValue& value) {
  const auto names = enum_names(Enum{});
  const auto said = choice(key, value, {names.begin(), names.end()});
  if (!said) return std::nullopt;
  return static_cast<Enum>(std::find(names.begin(), names.end(), said->value) - names.begin());
}

template <class Parse>
auto ClusterReader::parsed_list(const YamlKey& key, const YamlValue& value, Parse parse,
                                std::string_view wanted)
    -> std::optional<std::vector<typename decltype(parse(std::string_view()))::value_type>> {
  std::vector<typename decltype(parse(std::string_view()))::value_type> list;
  const std::vector<YamlValue> one = {value};
  for (const YamlValue& item : value.kind == YamlValue::Kind::kList ? value.items : one) {
    auto said = parsed(key, item, parse, wanted);
    if (!said) return std::nullopt;
    list.push_back(std::move(said->value));
  }
  return list;
}

// Parses the name of a check or of an export: it stands in reports, in metrics and in file names.
inline std::optional<std::string> parse_plain_name(std::string_view text) {
  const bool plain =
      !text.empty() && text.size() <= 64 && text.front() >= 'a' && text.front() <= 'z' &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string_view::npos;
  return plain ? std::optional(std::string(text)) : std::nullopt;
}

inline std::optional<bool> parse_truth(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  return std::nullopt;
}

}  // namespace railbed
