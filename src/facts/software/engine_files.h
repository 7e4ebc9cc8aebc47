// The files of container engines that serve Kubernetes: containerd's config.toml, CRI-O's crio.conf, and what they take in.
// Formats: containerd, docs/cri/config.md and docs/man/containerd-config.toml.5.md; CRI-O, docs/crio.conf.5.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "facts/system.h"

namespace railbed {

// One such file, as far as it is read.
struct EngineFile {
  EngineFiles says;                  // of this file alone; `overriding` is empty
  std::vector<std::string> imports;  // containerd: paths, the last part of which may have a *
  bool has_section = false;          // containerd: it has settings of the plugin for Kubernetes
};

// Returns a value of a runtime's settings as TOML; nullopt unless it is true or false, a whole number, a text of printable
// ASCII, or a list of such texts.
std::optional<std::string> toml_value(const json::Value& value);

// Returns the name of containerd's plugin that starts Kubernetes' containers, in a file of this version.
std::string_view containerd_plugin(int version);

// Returns the content of the file; nullopt if it is no TOML. `version` is that of the main file, for one that names none. Untrusted
// text.
std::optional<EngineFile> parse_engine_file(std::string_view text, int version = 0);

// Returns such a file with what parse_engine_file() reads and nothing else: others of its settings are registries and
// their passwords. A file that is no TOML stays one that is none.
std::string used_engine_file(std::string_view text);

// Returns true for files that collect_engines() reads by parse_engine_file().
bool is_engine_file(std::string_view path);

class Host;

Reading<EngineFiles> read_containerd(Host& host);
Reading<EngineFiles> read_crio(Host& host);

}  // namespace railbed
