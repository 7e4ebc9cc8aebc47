#include "facts/software/engine_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <span>
#include <utility>

#include "base/toml.h"
#include "facts/readings.h"
#include "host/host.h"

namespace railbed {
namespace {

constexpr std::size_t kLargestEngineFile = 1 << 20;
constexpr std::size_t kMostEngineRuntimes = 32;
constexpr std::size_t kMostRuntimeSettings = 64;
constexpr std::size_t kLongestRuntimeValue = 400;
constexpr std::size_t kMostEngineFiles = 32;
constexpr std::size_t kMostEngineImports = 16;

constexpr std::string_view kContainerdFile = "/etc/containerd/config.toml";
constexpr std::string_view kContainerdFolder = "/etc/containerd/";
constexpr std::string_view kCrioFile = "/etc/crio/crio.conf";
constexpr std::string_view kCrioFolder = "/etc/crio/crio.conf.d";

// The place of the runtimes in a file.
struct Place {
  std::vector<std::string_view> table;  // the table that has "runtimes"
  std::string_view default_runtime;
  std::string_view program;  // within `options` for containerd
  bool options;              // a runtime has a table of options
};

Place place_of(std::string_view plugin) {
  return {{"plugins", plugin, "containerd"}, "default_runtime_name", "BinaryName", true};
}
Place crio_place() { return {{"crio", "runtime"}, "default_runtime", "runtime_path", false}; }

// Returns the table at the path; null if there is none.
const json::Value* table_at(const json::Value& root, std::span<const std::string_view> path) {
  const json::Value* at = &root;
  for (const std::string_view part : path) {
    const auto found = at->find(std::string(part));
    if (found == at->end() || !found->is_object()) return nullptr;
    at = &*found;
  }
  return at;
}
const json::Value* table_in(const json::Value& table, std::string_view name) {
  return table_at(table, std::array{name});
}

std::string text_in(const json::Value& table, std::string_view name) {
  const auto found = table.find(std::string(name));
  return found != table.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> texts_in(const json::Value& table, std::string_view name) {
  std::vector<std::string> texts;
  const auto found = table.find(std::string(name));
  if (found == table.end() || !found->is_array()) return texts;
  for (const json::Value& text : *found)
    if (text.is_string() && texts.size() < kMostEngineImports) texts.push_back(text.get<std::string>());
  return texts;
}

bool is_plain_text(const json::Value& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.size() <= kLongestRuntimeValue &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7f'; });
}

void keep_settings(const json::Value& table, const std::string& before, std::string_view program,
                   EngineRuntime& runtime) {
  for (const auto& [key, value] : table.items()) {
    if (!is_device_name(key, kLongestDevice) || runtime.settings.size() >= kMostRuntimeSettings) continue;
    if (key == program) {
      if (is_plain_text(value)) runtime.program = value.get<std::string>();
    } else if (auto text = toml_value(value)) {
      runtime.settings.emplace(before + key, *std::move(text));
    }
  }
}

std::vector<EngineRuntime> runtimes_at(const json::Value& table, const Place& place) {
  std::vector<EngineRuntime> runtimes;
  const json::Value* const all = table_in(table, "runtimes");
  if (all == nullptr) return runtimes;
  for (const auto& [name, member] : all->items()) {
    if (!member.is_object() || !is_device_name(name, kLongestDevice) ||
        runtimes.size() >= kMostEngineRuntimes)
      continue;
    EngineRuntime runtime{.name = name, .program = {}, .settings = {}};
    keep_settings(member, "", place.options ? "" : place.program, runtime);
    const json::Value* const options = place.options ? table_in(member, "options") : nullptr;
    if (options != nullptr) keep_settings(*options, "options.", place.program, runtime);
    runtimes.push_back(std::move(runtime));
  }
  return runtimes;
}

bool switches_cri_off(const std::vector<std::string>& disabled, std::string_view plugin) {
  return std::ranges::any_of(disabled, [&](const std::string& name) {
    return name == "cri" || name == "io.containerd.grpc.v1.cri" || name == plugin;
  });
}

int version_in(const json::Value& root) {
  const auto found = root.find("version");
  if (found == root.end() || !found->is_number_integer()) return 0;
  const auto version = found->get<std::int64_t>();
  return version >= 0 && version < 100 ? static_cast<int>(version) : 0;
}

// Returns a name as a part of a header.
std::string toml_text(std::string_view name) { return json::dump(json::Value(std::string(name))); }

void add_runtimes(const json::Value& root, const Place& place, std::string& text) {
  const json::Value* const table = table_at(root, place.table);
  if (table == nullptr) return;
  std::string header;
  for (const std::string_view part : place.table) header += (header.empty() ? "" : ".") + toml_text(part);
  text += "[" + header + "]\n";
  const std::string chosen = text_in(*table, place.default_runtime);
  if (is_device_name(chosen, kLongestDevice))
    text += fmt::format("{} = {}\n", place.default_runtime, toml_text(chosen));
  for (const EngineRuntime& runtime : runtimes_at(*table, place)) {
    const std::string path = header + ".runtimes." + toml_text(runtime.name);
    std::string options;
    text += "[" + path + "]\n";
    for (const auto& [key, value] : runtime.settings)
      if (key.starts_with("options."))
        options += fmt::format("{} = {}\n", toml_text(key.substr(8)), value);
      else
        text += fmt::format("{} = {}\n", toml_text(key), value);
    if (!runtime.program.empty())
      (place.options ? options : text) += fmt::format("{} = {}\n", place.program, toml_text(runtime.program));
    if (!options.empty()) text += "[" + path + ".options]\n" + options;
  }
}

void add_texts(const json::Value& root, std::string_view name, std::string& text) {
  json::Value kept = json::Value::array();
  for (const std::string& one : texts_in(root, name))
    if (is_plain_word(one, kLongestRuntimeValue)) kept.push_back(one);
  if (!kept.empty()) text += fmt::format("{} = {}\n", name, json::dump(kept));
}

// Merges a file into those that were read before: a runtime of the same name gets its settings.
void join(EngineFiles& all, EngineFile&& file) {
  all.cri = all.cri && file.says.cri;
  if (!file.says.default_runtime.empty()) all.default_runtime = std::move(file.says.default_runtime);
  for (EngineRuntime& runtime : file.says.runtimes) {
    const auto known = std::ranges::find(all.runtimes, runtime.name, &EngineRuntime::name);
    if (known == all.runtimes.end()) {
      if (all.runtimes.size() < kMostEngineRuntimes) all.runtimes.push_back(std::move(runtime));
      continue;
    }
    if (!runtime.program.empty()) known->program = std::move(runtime.program);
    for (auto& [key, value] : runtime.settings) known->settings.insert_or_assign(key, std::move(value));
  }
}

// Returns the file's content, parsed; a miss has the reason why there is none.
Reading<EngineFile> read_engine_file(Host& host, const std::string& path, int version) {
  return host.read(path, kLargestEngineFile).parsed([&](const std::string& text) {
    return parse_engine_file(text, version);
  });
}

// Adds the imports of a file; a relative one is beside it.
void add_imports(const EngineFile& file, std::string_view path, std::vector<std::string>& imports) {
  for (const std::string& import : file.imports)
    imports.push_back(import.starts_with('/') ? import
                                              : std::string(path.substr(0, path.rfind('/') + 1)) + import);
}

// Returns the paths of an import; nullopt if it is nothing that railbed reads.
std::optional<std::vector<std::string>> imported(Host& host, std::string path) {
  if (!is_plain_word(path, kLongestRuntimeValue) || !path.starts_with(kContainerdFolder) ||
      path.find("/../") != std::string::npos)
    return std::nullopt;
  const std::size_t star = path.find('*');
  if (star == std::string::npos)
    return is_engine_file(path) ? std::optional(std::vector{std::move(path)}) : std::nullopt;
  const std::size_t slash = path.rfind('/');
  if (star < slash || path.find('*', star + 1) != std::string::npos || !path.ends_with(".toml"))
    return std::nullopt;
  const std::string folder = path.substr(0, slash);
  const std::string begin = path.substr(slash + 1, star - slash - 1);
  const std::string end = path.substr(star + 1);
  std::vector<std::string> paths;
  for (const std::string& name : host.list(folder).value_or({}))
    if (name.size() >= begin.size() + end.size() && name.starts_with(begin) && name.ends_with(end) &&
        is_device_name(name, 255) && paths.size() < kMostEngineFiles)
      paths.push_back(folder + "/" + name);
  return paths;
}

}  // namespace

std::optional<std::string> toml_value(const json::Value& value) {
  const bool list =
      value.is_array() && value.size() <= kMostEngineImports && std::ranges::all_of(value, is_plain_text);
  if (!list && !value.is_boolean() && !value.is_number_integer() && !is_plain_text(value))
    return std::nullopt;
  return json::dump(value);  // JSON's form of these kinds is TOML's, too
}

std::string_view containerd_plugin(int version) {
  return version >= 3 ? "io.containerd.cri.v1.runtime" : version == 2 ? "io.containerd.grpc.v1.cri" : "cri";
}

std::optional<EngineFile> parse_engine_file(std::string_view text, int version) {
  const auto root = parse_toml(text);
  if (!root) return std::nullopt;
  EngineFile file;
  file.says.version = version_in(*root);
  file.says.blank = root->empty();
  file.imports = texts_in(*root, "imports");
  if (file.says.version != 0) version = file.says.version;
  const std::string_view plugin = containerd_plugin(version);
  file.says.cri = !switches_cri_off(texts_in(*root, "disabled_plugins"), plugin);
  file.has_section = table_at(*root, std::array<std::string_view, 2>{"plugins", plugin}) != nullptr;
  for (const Place& place : {place_of(plugin), crio_place()})
    if (const json::Value* const table = table_at(*root, place.table)) {
      const std::string chosen = text_in(*table, place.default_runtime);
      if (is_device_name(chosen, kLongestDevice)) file.says.default_runtime = chosen;
      for (EngineRuntime& runtime : runtimes_at(*table, place))
        file.says.runtimes.push_back(std::move(runtime));
    }
  return file;
}

std::string used_engine_file(std::string_view text) {
  const auto root = parse_toml(text);
  if (!root) return "[\n";
  std::string kept;
  if (const int version = version_in(*root); version != 0) kept += fmt::format("version = {}\n", version);
  add_texts(*root, "imports", kept);
  add_texts(*root, "disabled_plugins", kept);
  for (const int version : {1, 2, 3}) {
    const std::string_view plugin = containerd_plugin(version);
    const bool section = table_at(*root, std::array<std::string_view, 2>{"plugins", plugin}) != nullptr;
    if (section) kept += fmt::format("[plugins.{}]\n", toml_text(plugin));
    add_runtimes(*root, place_of(plugin), kept);
  }
  add_runtimes(*root, crio_place(), kept);
  // Other settings count, too: a file that has some is not blank.
  return kept.empty() && !root->empty() ? "[other]\n" : kept;
}

bool is_engine_file(std::string_view path) {
  return path == kCrioFile || path.starts_with(std::string(kCrioFolder) + "/") ||
         (path.starts_with(kContainerdFolder) && path.ends_with(".toml"));
}

Reading<EngineFiles> read_containerd(Host& host) {
  const auto folder = host.list(std::string(kContainerdFolder.substr(0, kContainerdFolder.size() - 1)));
  if (!folder) return {folder.miss(), folder.from()};
  const auto main = read_engine_file(host, std::string(kContainerdFile), 0);
  if (!main && !main.absent()) return {main.miss(), main.from()};
  EngineFiles all;
  all.blank = !main || main->says.blank;
  all.version = main ? main->says.version : 0;
  // From 2.2 on containerd without a file of its own takes these in.
  std::vector<std::string> imports;
  if (main) {
    add_imports(*main, kContainerdFile, imports);
    join(all, EngineFile(*main));
  } else {
    imports = {"/etc/containerd/conf.d/*.toml"};
  }
  std::set<std::string> seen = {std::string(kContainerdFile)};
  for (std::size_t i = 0; i < imports.size(); ++i) {
    const auto paths = imported(host, imports[i]);
    if (!paths || seen.size() > kMostEngineFiles)
      return {Miss{Missing::kUnsupported, "it imports " + printable(imports[i].substr(0, 200))},
              std::string(kContainerdFile)};
    for (const std::string& path : *paths) {
      if (!seen.insert(path).second) continue;
      auto file = read_engine_file(host, path, all.version);
      if (file.absent()) continue;
      if (!file) return {file.miss(), file.from()};
      if (file->has_section || !main) all.overriding.push_back(path);
      add_imports(*file, path, imports);
      join(all, EngineFile(*file));
    }
  }
  return {std::move(all), std::string(kContainerdFile)};
}

Reading<EngineFiles> read_crio(Host& host) {
  const auto names = host.list(std::string(kCrioFolder));
  std::vector<std::string> paths = {std::string(kCrioFile)};
  for (const std::string& name : names.value_or({}))
    if (is_device_name(name, 255) && paths.size() < kMostEngineFiles)
      paths.push_back(std::string(kCrioFolder) + "/" + name);
  EngineFiles all;
  bool any = names.ok();
  all.blank = true;
  for (const std::string& path : paths) {
    auto file = read_engine_file(host, path, 0);
    if (file.absent()) continue;
    if (!file) return {file.miss(), file.from()};
    any = true;
    all.blank = all.blank && file->says.blank;
    join(all, EngineFile(*file));
  }
  if (!any) return {Miss{Missing::kAbsent, "there is no configuration of CRI-O"}, std::string(kCrioFile)};
  return {std::move(all), std::string(kCrioFile) + ", " + std::string(kCrioFolder)};
}

}  // namespace railbed
