// Reads the keys of `storage:`.
#include "base/text.h"
#include "inventory/reader.h"

namespace railbed {
namespace {

constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

// Returns true if the text has letters, digits and characters of `more` only. A device's path and an NQN stand in
// units and in the arguments of programs.
bool consists_of(std::string_view text, std::string_view more) {
  return text.find_first_not_of(std::string(kPlain) + std::string(more)) == std::string_view::npos;
}

std::optional<std::string> parse_device(std::string_view text) {
  const bool fine = text.starts_with("/dev/") && text.size() > 5 && text.size() <= 200 &&
                    !text.ends_with('/') && text.find("/.") == std::string_view::npos &&
                    text.find("//") == std::string_view::npos && consists_of(text, "/._-:+");
  return fine ? std::optional(std::string(text)) : std::nullopt;
}

// "nqn.2014-08.org.nvmexpress:uuid:…", "nqn.2026-01.com.example:scratch"
std::optional<std::string> parse_nqn(std::string_view text) {
  constexpr std::string_view kShape = "nqn.dddd-dd.";
  if (text.size() <= kShape.size() || text.size() > kLongestNqn || !consists_of(text, "._-:"))
    return std::nullopt;
  for (std::size_t i = 0; i < kShape.size(); ++i)
    if (kShape[i] == 'd' ? !is_digit(text[i]) : text[i] != kShape[i]) return std::nullopt;
  const auto colon = text.find(':');
  return colon != std::string_view::npos && colon > kShape.size() && colon + 1 < text.size()
             ? std::optional(std::string(text))
             : std::nullopt;
}

}  // namespace

std::optional<RawStorage> ClusterReader::read_export(const YamlValue& value) {
  RawStorage made;
  made.spot = value.spot;
  const std::size_t before = complaints_.count();
  each_key(value, "export", [&](std::string_view key, const YamlKey& at, const YamlValue& item) {
    if (key == "name") {
      if (auto name = parsed(at, item, parse_plain_name, "small letters, digits, _ and -, at most 64"))
        made.name = std::move(*name);
    } else if (key == "server") {
      made.server = text(at, item);
    } else if (key == "device") {
      made.device = parsed(at, item, parse_device,
                           "the path of a block device in letters, digits and ._-:+, as in "
                           "/dev/disk/by-id/nvme-eui.0025384b11b4c1a2");
    } else if (key == "protocol") {
      if (const auto protocol = word<StorageProtocol>(at, item)) made.protocol = {*protocol, item.spot};
    } else if (key == "rail") {
      made.rail = text(at, item);
    } else if (key == "clients") {
      read_patterns(at, item, made.clients);
    } else if (key == "shared") {
      if (const auto shared = parsed(at, item, parse_truth, "true or false")) made.shared = shared->value;
    } else {
      made.nqn = parsed(at, item, parse_nqn, "an NVMe qualified name, as in nqn.2026-01.com.example:scratch");
    }
  });
  return complaints_.count() == before ? std::optional(std::move(made)) : std::nullopt;
}

std::vector<RawStorage> ClusterReader::read_storage(const YamlKey& at, const YamlValue& value) {
  std::vector<RawStorage> storage;
  if (!is(YamlValue::Kind::kList, value, at)) return storage;
  for (const YamlValue& item : value.items)
    if (is(YamlValue::Kind::kMapping, item, "an export", item.spot))
      if (auto made = read_export(item)) storage.push_back(std::move(*made));
  return storage;
}

}  // namespace railbed
