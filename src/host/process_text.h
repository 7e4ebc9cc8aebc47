// What stands in files of /proc/PID: plain functions of text, which may be of any process and any length.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "host/process_answer.h"

namespace railbed {

// environ: NAME=value, each ended by a zero byte. `name` of the first that fits; nothing when there is none
// or it holds a control character.
std::optional<std::string> variable_of(std::string_view environ, std::string_view name);
std::map<std::string, std::string> kept_variables(std::string_view environ);

// limits: "Max locked memory  65536  65536  bytes"; the soft one. UINT64_MAX: unlimited
std::optional<std::uint64_t> soft_limit(std::string_view limits, std::string_view name);

// stat: "PID (NAME) S PARENT …", where NAME may hold anything.
struct StatLine {
  int parent = 0;
  std::uint64_t started = 0;  // field 22
};
std::optional<StatLine> parse_stat(std::string_view stat);

// status: "CapEff:\t000001ffffffffff"
struct StatusLines {
  int user = 0;
  std::set<int> groups;  // its own and supplementary ones
  std::uint64_t capabilities = 0;
  bool has(int capability) const { return ((capabilities >> capability) & 1) != 0; }
};
std::optional<StatusLines> parse_status(std::string_view status);

// cgroup: "0::/system.slice/docker-<64 hexadecimal digits>.scope"
struct ContainerName {
  std::string id;
  std::string runtime;
};
ContainerName container_of(std::string_view cgroup);

// maps: the libraries that say how a job communicates, each once; at most kMostLibraries.
struct MappedFile {
  MappedLibrary library;
  std::string address;  // of its first mapping
};
std::vector<MappedFile> mapped_libraries(std::string_view maps);
inline constexpr std::size_t kMostLibraries = 64;

// etc/hosts: the addresses of the lines that hold this name.
std::vector<std::string> addresses_of(std::string_view hosts, std::string_view name);
// The lines that name a variable of NCCL's.
std::string nccl_lines(std::string_view conf);

// Interfaces with their addresses, of net/dev, net/route, net/fib_trie and net/if_inet6.
struct NetFiles {
  std::string dev, route, fib_trie, if_inet6;
};
std::vector<SeenInterface> interfaces_of(const NetFiles& files);
// Established connections whose socket is one of `inodes`, of net/tcp and net/tcp6.
std::vector<TcpFlow> flows_of(std::string_view tcp, const std::set<std::uint64_t>& inodes);
inline constexpr std::size_t kMostFlows = 256;
// Who carries it: the interface that has the local address.
void name_interfaces(std::vector<TcpFlow>& flows, const std::vector<SeenInterface>& interfaces);

// The library's "NCCL version 2.28.9+cuda13.0", which stands in its read-only data. Reads at most 64 MiB of
// the file, whoever made it.
struct NcclText {
  std::string version;
  std::string built_for;
};
NcclText nccl_text_in(int file);

}  // namespace railbed
