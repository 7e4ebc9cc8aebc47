#include "fleet/agent_binary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "base/files.h"
#include "base/text.h"
#include "os/child.h"

namespace railbed::fleet {
namespace {

// Returns the output of a program; empty if the program fails or prints nothing for 30 s.
std::string output_of(const std::vector<std::string>& words) {
  auto program = start_program(words);
  if (!program) return "";
  program->in.reset();
  std::string bytes;
  char chunk[kChunkBytes];
  pollfd ready = {program->out.get(), POLLIN, 0};
  while (poll(&ready, 1, 30'000) > 0) {
    const ssize_t count = read(program->out.get(), chunk, sizeof chunk);
    if (count > 0) bytes.append(chunk, static_cast<std::size_t>(count));
    if (count == 0) return bytes;
    if (count < 0 && errno != EAGAIN && errno != EINTR) break;
  }
  return "";
}

// Returns the bytes that elf_architecture() needs.
std::string beginning_of(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char header[64];
  const ssize_t count = file ? read(file.get(), header, sizeof header) : 0;
  return {header, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

}  // namespace

std::string elf_architecture(std::string_view file) {
  // elf.h: e_machine at 18, here little-endian (EI_DATA 1); 62 = EM_X86_64, 183 = EM_AARCH64.
  if (!file.starts_with("\177ELF") || file.size() < 20 || file[5] != 1) return "";
  const int machine = static_cast<std::uint8_t>(file[18]) | static_cast<std::uint8_t>(file[19]) << 8;
  return machine == 62 ? "x86_64" : machine == 183 ? "aarch64" : "";
}

std::map<std::string, std::string> installed_agents(const std::string& program, std::string_view own) {
  const std::filesystem::path bin = std::filesystem::path(program).parent_path();
  struct stat mine = {};
  if (bin.filename() != "bin" || stat(program.c_str(), &mine) != 0) return {};
  std::map<std::string, std::string> found;
  for (const std::string architecture : {"aarch64", "x86_64"}) {
    const auto path = bin.parent_path() / "lib/railbed/agents" / architecture / "railbed";
    struct stat other = {};
    if (architecture != own && stat(path.c_str(), &other) == 0 && other.st_uid == mine.st_uid)
      found[architecture] = path;
  }
  return found;
}

Result<std::string> AgentBinaries::add(const std::string& path, HashedFiles& hashed) {
  const std::string architecture = elf_architecture(beginning_of(path));
  auto agent = push_ == Push::kPackedAgent ? packed_agent_of(path) : std::nullopt;
  if (agent && !architecture.empty()) {
    entries_.insert_or_assign(architecture,
                              Entry{{architecture, agent->hash, agent->size}, path, agent, nullptr, {}});
    return architecture;
  }
  auto file = hash_file(path, hashed);
  if (!file) return fail(ErrorKind::kBadInput, "agent binary: " + file.error().text);
  if (architecture.empty())
    return fail(ErrorKind::kBadInput, fmt::format("agent binary {}: not an x86_64 or aarch64 program", path));
  entries_.insert_or_assign(architecture,
                            Entry{{architecture, file->hash, file->size}, path, std::nullopt, nullptr, {}});
  hashed.insert_or_assign(path, std::move(*file));
  return architecture;
}

std::vector<AgentBinaries::Known> AgentBinaries::list() const {
  std::vector<Known> known;
  for (const auto& [architecture, entry] : entries_) known.push_back(entry.known);
  return known;
}

Result<std::vector<AgentBinaries::Known>> AgentBinaries::known() {
  const std::lock_guard lock(mutex_);
  if (loaded_) return list();
  const HashedFiles before = read_hashed_files(hashes_);
  HashedFiles hashed = before;
  ASSIGN_OR_RETURN(const auto own, add(own_, hashed));
  auto others = others_;
  others.merge(installed_agents(own_, own));
  for (const auto& [architecture, path] : others) {
    ASSIGN_OR_RETURN(const auto built_for, add(path, hashed));
    if (built_for != architecture)
      return fail(ErrorKind::kBadInput,
                  fmt::format("agent binary {}: built for {}, not for {}", path, built_for, architecture));
  }
  if (hashed != before) keep_hashed_files(hashed, hashes_);
  loaded_ = true;
  return list();
}

std::string AgentBinaries::pack(const Entry& entry, std::string_view packer) {
  if (entry.agent) return read_packed(entry.path, packer == "zstd" ? entry.agent->zstd : entry.agent->gzip);
  // Prefers speed to size, because the first node waits for the result. zstd is smaller and faster than gzip.
  return output_of({std::string(packer), packer == "zstd" ? "-3" : "-1", "-c", "-q", "-f", "--", entry.path});
}

std::shared_ptr<const std::string> AgentBinaries::unpacked(const Entry& entry) {
  if (entry.agent) {
    std::string bytes = unpacked_agent(entry.path, *entry.agent);
    return bytes.empty() ? nullptr : std::make_shared<const std::string>(std::move(bytes));
  }
  auto bytes = read_file(entry.path, kMaxProgram);
  return bytes ? std::make_shared<const std::string>(std::move(*bytes)) : nullptr;
}

AgentBinaries::Payload AgentBinaries::payload(const std::string& architecture, std::string_view packers) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(architecture);
  if (found == entries_.end()) return {};
  Entry& entry = found->second;
  for (const auto word : words(packers)) {
    if (word != "zstd" && word != "gzip") continue;  // a node may send any word
    auto& packed = entry.packed[std::string(word)];
    if (!packed) packed = std::make_shared<const std::string>(pack(entry, word));
    if (!packed->empty()) return {packed, std::string(word)};
  }
  if (!entry.bytes) entry.bytes = unpacked(entry);
  return {entry.bytes};
}

}  // namespace railbed::fleet
