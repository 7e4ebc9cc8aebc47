#include "fleet/agent_binary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "host/child.h"

namespace railbed::fleet {
namespace {

constexpr std::size_t kMaxBinary = 1 << 30;

// Everything `words` prints, or nothing when it fails or is silent for 30 s.
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

Result<AgentBinaries::Entry> AgentBinaries::load(const std::string& path) const {
  auto bytes = read_file(path, kMaxBinary);
  if (!bytes) return fail(ErrorKind::kBadInput, "agent binary: " + bytes.error().text);
  Entry entry;
  entry.known = {elf_architecture(*bytes), sha256_hex(*bytes), bytes->size()};
  entry.path = path;
  entry.bytes = std::make_shared<const std::string>(std::move(*bytes));
  if (entry.known.architecture.empty())
    return fail(ErrorKind::kBadInput, fmt::format("agent binary {}: not an x86_64 or aarch64 program", path));
  return entry;
}

Result<std::vector<AgentBinaries::Known>> AgentBinaries::list() const {
  std::vector<Known> known;
  for (const auto& [architecture, entry] : entries_) known.push_back(entry.known);
  return known;
}

Result<std::vector<AgentBinaries::Known>> AgentBinaries::known() {
  const std::lock_guard lock(mutex_);
  if (loaded_) return list();
  auto own = load(own_);
  if (!own) return fail(own.error());
  auto others = others_;
  others.merge(installed_agents(own_, own->known.architecture));
  entries_.insert_or_assign(own->known.architecture, std::move(*own));
  for (const auto& [architecture, path] : others) {
    auto entry = load(path);
    if (!entry) return fail(entry.error());
    if (entry->known.architecture != architecture)
      return fail(ErrorKind::kBadInput, fmt::format("agent binary {}: built for {}, not for {}", path,
                                                    entry->known.architecture, architecture));
    entries_.insert_or_assign(architecture, std::move(*entry));
  }
  loaded_ = true;
  return list();
}

AgentBinaries::Payload AgentBinaries::payload(const std::string& architecture, std::string_view packers) {
  // Fast rather than small: the first node waits for it. Of zstd that is less than of gzip in either way.
  static const std::map<std::string, std::string, std::less<>> kLevels = {{"zstd", "-3"}, {"gzip", "-1"}};
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(architecture);
  if (found == entries_.end()) return {};
  Entry& entry = found->second;
  for (const auto word : words(packers)) {
    const auto level = kLevels.find(word);
    if (level == kLevels.end()) continue;
    auto& packed = entry.packed[level->first];
    if (!packed)
      packed = std::make_shared<const std::string>(
          output_of({level->first, level->second, "-c", "-q", "-f", "--", entry.path}));
    if (!packed->empty()) return {packed, level->first};
  }
  return {entry.bytes};
}

}  // namespace railbed::fleet
