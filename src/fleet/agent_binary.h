// The agents that can be pushed to nodes. For its own architecture that is this program. For others it is the
// program given by --agent-binary, or one that a package has installed as
// ../lib/railbed/agents/ARCHITECTURE/railbed, relative to the folder bin that holds this program. If a
// program carries a packed agent (packed_agent.h), only that agent is pushed, otherwise the program itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fleet/hashed_file.h"
#include "fleet/packed_agent.h"

namespace railbed::fleet {

// Returns the architecture as `uname -m` prints it, "x86_64" or "aarch64", from e_machine in the ELF header.
// Empty for any other file.
std::string elf_architecture(std::string_view file);

// Returns the path of each agent that is installed beside `program` for another architecture than `own`. A
// file whose owner differs from the program's is ignored: otherwise a user who can write there could run a
// program on every node.
std::map<std::string, std::string> installed_agents(const std::string& program, std::string_view own);

// The set of agents. Reads and packs each file at most once.
class AgentBinaries {
 public:
  // One agent.
  struct Known {
    std::string architecture;
    std::string hash;
    std::size_t size = 0;
  };

  // `own` is the agent for this machine's architecture. `others` maps an architecture to a path, and takes
  // precedence over installed agents. `hashes` is the path of the file with saved hashes (hashed_file.h);
  // empty for none. kWhole pushes the programs themselves, for nodes that may already have them.
  enum class Push { kPackedAgent, kWhole };
  AgentBinaries(std::string own, std::map<std::string, std::string> others, std::string hashes = "",
                Push push = Push::kPackedAgent)
      : own_(std::move(own)), others_(std::move(others)), hashes_(std::move(hashes)), push_(push) {}

  // Returns all agents. The first call hashes the files. Fails if a file cannot be read or is for another
  // architecture. Thread-safe, as is payload().
  Result<std::vector<Known>> known();
  // The bytes to send for an architecture, and how they are packed.
  struct Payload {
    std::shared_ptr<const std::string> bytes;
    std::string packer = "raw";
  };
  // Returns the agent, packed by the first of `packers` ("zstd gzip") that this machine has too, or unpacked.
  // `bytes` is null if the agent is unknown or cannot be read.
  Payload payload(const std::string& architecture, std::string_view packers);

 private:
  struct Entry {
    Known known;
    std::string path;
    std::optional<PackedAgent> agent;          // the packed agent within that file
    std::shared_ptr<const std::string> bytes;  // null until needed
    // Packed bytes by packer; empty if packing failed.
    std::map<std::string, std::shared_ptr<const std::string>> packed;
  };
  std::vector<Known> list() const;
  static std::string pack(const Entry& entry, std::string_view packer);
  static std::shared_ptr<const std::string> unpacked(const Entry& entry);
  // Adds an entry for the file and returns its architecture.
  Result<std::string> add(const std::string& path, HashedFiles& hashed);

  std::string own_;
  std::map<std::string, std::string> others_;
  std::string hashes_;
  Push push_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  bool loaded_ = false;
};

}  // namespace railbed::fleet
