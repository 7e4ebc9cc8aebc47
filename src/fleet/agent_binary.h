// The agents that can be pushed: of this program for its own architecture, of others by --agent-binary or, as
// a package installs them, from ../lib/railbed/agents/ARCHITECTURE/railbed beside the folder bin that holds
// this program. Of a program that carries a packed agent (packed_agent.h) only that is pushed, else the
// program itself.
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

// "x86_64", "aarch64": as `uname -m` says it, from the ELF header's e_machine; nothing for anything else.
std::string elf_architecture(std::string_view file);

// Architecture → path of what is installed beside `program` for other architectures than its `own`. A file of
// another owner than the program's counts for nothing: whoever could write beside it would run a program on
// every node.
std::map<std::string, std::string> installed_agents(const std::string& program, std::string_view own);

class AgentBinaries {
 public:
  struct Known {
    std::string architecture;
    std::string hash;
    std::size_t size = 0;
  };

  // `own` is the agent for its own architecture, `others` maps architecture → path and goes before what is
  // installed. `hashes` is the file that keeps what was hashed before (hashed_file.h); empty: none. `kWhole`:
  // the programs themselves, for nodes that may have them already.
  enum class Push { kPackedAgent, kWhole };
  AgentBinaries(std::string own, std::map<std::string, std::string> others, std::string hashes = "",
                Push push = Push::kPackedAgent)
      : own_(std::move(own)), others_(std::move(others)), hashes_(std::move(hashes)), push_(push) {}

  // Hashes the files at the first call. Thread-safe, as is payload().
  Result<std::vector<Known>> known();
  // The bytes to send for a known architecture, packed by the first of `packers` ("zstd gzip") that this
  // machine has too.
  struct Payload {
    std::shared_ptr<const std::string> bytes;
    std::string packer = "raw";
  };
  Payload payload(const std::string& architecture, std::string_view packers);

 private:
  struct Entry {
    Known known;
    std::string path;
    std::optional<PackedAgent> agent;                                  // within that file
    std::shared_ptr<const std::string> bytes;                          // once they were asked for
    std::map<std::string, std::shared_ptr<const std::string>> packed;  // as asked for; empty text: it failed
  };
  std::vector<Known> list() const;
  static std::string pack(const Entry& entry, std::string_view packer);
  static std::shared_ptr<const std::string> unpacked(const Entry& entry);
  // Adds an entry for the file; the architecture that it is for.
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
