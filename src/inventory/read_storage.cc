// Reads the keys of `storage:`.
#include <fmt/format.h>

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

// A path stands in units, in exports(5) and in the arguments of mount(8).
std::optional<std::string> parse_folder(std::string_view text) {
  const bool fine = text.starts_with('/') && text.size() > 1 && text.size() <= 200 && !text.ends_with('/') &&
                    text.find("/.") == std::string_view::npos && text.find("//") == std::string_view::npos &&
                    consists_of(text, "/._-+") && !is_system_folder(text);
  return fine ? std::optional(std::string(text)) : std::nullopt;
}

// nfs(5), "nconnect": 1 to 16
std::optional<int> parse_connections(std::string_view text) {
  const auto number = parse_number<int>(text);
  return number && *number >= 1 && *number <= 16 ? number : std::nullopt;
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

// Returns the spots of the keys that the entry has for the other kind of protocol.
std::vector<std::pair<std::string_view, Spot>> strangers_of(const RawStorage& made) {
  std::vector<std::pair<std::string_view, Spot>> found;
  const auto add = [&](std::string_view key, const auto& said) {
    if (said) found.emplace_back(key, said->spot);
  };
  if (is_nfs(made.protocol.value)) {
    add("device", made.device);
    add("shared", made.shared);
    add("nqn", made.nqn);
    if (is_rdma(made.protocol.value)) add("nconnect", made.nconnect);
  } else {
    add("path", made.path);
    add("mount", made.mount);
    add("read_only", made.read_only);
    add("no_root_squash", made.no_root_squash);
    add("nconnect", made.nconnect);
  }
  return found;
}

}  // namespace

void ClusterReader::check_kind(const RawStorage& made, const YamlValue& value) {
  const std::string_view protocol =
      enum_names(made.protocol.value)[static_cast<std::size_t>(made.protocol.value)];
  const auto need = [&](std::string_view key, const Said<std::string>& said, std::string_view why) {
    if (!said)
      complaints_.add(value.spot, fmt::format("this export has no \"{}\": {} {}", key, protocol, why));
  };
  for (const auto& [key, spot] : strangers_of(made))
    complaints_.add(spot, fmt::format("\"{}\" is not for {}", key, protocol));
  if (is_nfs(made.protocol.value)) {
    need("path", made.path, "exports a directory");
    need("mount", made.mount, "is mounted on its clients");
  } else {
    need("device", made.device, "serves a block device");
  }
}

std::optional<RawStorage> ClusterReader::read_export(const YamlValue& value) {
  RawStorage made;
  made.spot = value.spot;
  const std::size_t before = complaints_.count();
  constexpr std::string_view kFolder =
      "an absolute path in letters, digits and ._-+ that is no folder of the system (/, /etc, /usr, /var/lib, …), as in "
      "/srv/home";
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
      made.shared = parsed(at, item, parse_truth, "true or false");
    } else if (key == "path") {
      made.path = parsed(at, item, parse_folder, kFolder);
    } else if (key == "mount") {
      made.mount = parsed(at, item, parse_folder, kFolder);
    } else if (key == "read_only") {
      made.read_only = parsed(at, item, parse_truth, "true or false");
    } else if (key == "no_root_squash") {
      made.no_root_squash = parsed(at, item, parse_truth, "true or false");
    } else if (key == "nconnect") {
      made.nconnect = parsed(at, item, parse_connections, "a number from 1 to 16");
    } else {
      made.nqn = parsed(at, item, parse_nqn, "an NVMe qualified name, as in nqn.2026-01.com.example:scratch");
    }
  });
  if (complaints_.count() == before) check_kind(made, value);
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
