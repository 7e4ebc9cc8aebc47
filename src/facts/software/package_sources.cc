// The places that apt and dnf take packages from. sources.list(5), dnf.conf(5).
#include <algorithm>

#include "facts/collectors.h"
#include "facts/readings.h"
#include "host/host.h"

namespace railbed {
namespace {

constexpr std::size_t kLargestSourceFile = 256 << 10;
constexpr std::size_t kMostSourceFiles = 256;
constexpr std::size_t kMostSources = 1024;
constexpr std::size_t kLongestUri = 400;

bool is_switched_off(std::string_view value) {
  const std::string word = lower(value);
  return word == "no" || word == "0" || word == "false";
}

// Returns the address without user and password.
std::string without_user(std::string_view uri) {
  const std::size_t host = uri.find("//");
  if (host == std::string_view::npos) return std::string(uri);
  const std::size_t end = uri.find('/', host + 2);
  const std::size_t user = uri.substr(0, end).rfind('@');
  if (user == std::string_view::npos) return std::string(uri);
  return std::string(uri.substr(0, host + 2)) + std::string(uri.substr(user + 1));
}

void add_source(std::string_view uri, std::string_view file, std::vector<PackageSource>& sources) {
  if (is_plain_word(uri, kLongestUri) && sources.size() < kMostSources)
    sources.push_back({std::string(file), without_user(uri)});
}

// Parses "deb [signed-by=FILE arch=amd64] URI SUITE COMPONENT…".
void add_line(std::string_view line, std::string_view file, std::vector<PackageSource>& sources) {
  line = trim(line.substr(0, line.find('#')));
  if (!line.starts_with("deb ") && !line.starts_with("deb\t")) return;
  line = trim(line.substr(4));
  if (line.starts_with('[')) {
    const std::size_t end = line.find(']');
    if (end == std::string_view::npos) return;
    line = trim(line.substr(end + 1));
  }
  const auto columns = words(line);
  // apt takes one list of options: a second one is no address.
  if (!columns.empty() && !columns.front().starts_with('[')) add_source(columns.front(), file, sources);
}

// A paragraph of deb822, or a section of an ini file.
struct Paragraph {
  bool on = true;
  std::vector<std::string_view> uris = {};
};

void end_paragraph(Paragraph& paragraph, std::string_view file, std::vector<PackageSource>& sources) {
  if (paragraph.on)
    for (const std::string_view uri : paragraph.uris) add_source(uri, file, sources);
  paragraph = {};
}

}  // namespace

std::vector<PackageSource> parse_package_sources(std::string_view text, std::string_view file) {
  std::vector<PackageSource> sources;
  const bool ini = file.ends_with(".repo");
  Paragraph paragraph;
  bool goes_on = false;  // a line that begins with a blank belongs to "URIs:"
  for (const std::string_view line : lines(text)) {
    if (!ini && !file.ends_with(".sources")) {
      add_line(line, file, sources);
      continue;
    }
    if (ini ? line.starts_with('[') : trim(line).empty()) end_paragraph(paragraph, file, sources);
    if (line.starts_with('#')) continue;
    const bool more = line.starts_with(' ') || line.starts_with('\t');
    const auto pair = more ? std::nullopt : key_value(line, ini ? '=' : ':');
    const std::string key = pair ? lower(pair->first) : "";
    if (pair) goes_on = key == (ini ? "baseurl" : "uris");
    if (goes_on && (pair || more))
      for (const std::string_view uri : words(pair ? pair->second : line))
        if (paragraph.uris.size() < kMostSources) paragraph.uris.push_back(uri);
    if (key == "enabled" && is_switched_off(pair->second)) paragraph.on = false;
  }
  end_paragraph(paragraph, file, sources);
  return sources;
}

// Writes the sources anew: passwords, keys of licences and comments stay on the node.
std::string used_package_sources(std::string_view file, std::string_view text, std::string_view only) {
  const std::string_view before = file.ends_with(".repo")      ? "[source]\nbaseurl="
                                  : file.ends_with(".sources") ? "URIs: "
                                                               : "deb ";
  const std::string_view after = file.ends_with(".repo")      ? "\n"
                                 : file.ends_with(".sources") ? "\n\n"
                                                              : " /\n";
  std::string kept;
  for (const PackageSource& source : parse_package_sources(text, file))
    if (source.uri.starts_with(only)) kept += std::string(before) + source.uri + std::string(after);
  return kept;
}

bool is_package_source_file(std::string_view path) {
  return path == "/etc/apt/sources.list" ||
         (path.starts_with("/etc/apt/sources.list.d/") &&
          (path.ends_with(".list") || path.ends_with(".sources"))) ||
         (path.starts_with("/etc/yum.repos.d/") && path.ends_with(".repo"));
}

Reading<std::vector<PackageSource>> collect_package_sources(Host& host) {
  std::vector<PackageSource> all;
  const auto add_file = [&](const std::string& path) -> std::optional<Miss> {
    const auto text = host.read(path, kLargestSourceFile);
    if (!text) return text.absent() ? std::nullopt : std::optional(text.miss());
    for (PackageSource& source : parse_package_sources(*text, path))
      if (all.size() < kMostSources) all.push_back(std::move(source));
    return std::nullopt;
  };
  const std::string main = "/etc/apt/sources.list";
  const std::string parts = main + ".d";
  auto folder = host.list(parts);
  const std::string from = folder.absent() ? "/etc/yum.repos.d" : parts;
  if (folder.absent()) folder = host.list(from);
  if (!folder) return {folder.miss(), from};
  if (from == parts) add_file(main);
  std::size_t read = 0;
  for (const std::string& name : *folder) {
    const std::string path = from + "/" + name;
    if (!is_device_name(name, 255) || !is_package_source_file(path) || ++read > kMostSourceFiles) continue;
    // A file that cannot be read may name any source, so none can be said to be missing.
    if (const auto miss = add_file(path)) return {*miss, path};
  }
  return {std::move(all), from};
}

}  // namespace railbed
