// The agent that a railbed carries for nodes: a separate program with only the command `agent`, a fifth of
// the size. It is stored in the ELF section "railbed.agent" of the program, written by scripts/pack-agent
// when railbed is linked. The section starts with a line "SHA256 SIZE GZIP-BYTES ZSTD-BYTES\n" about the
// agent; the two streams follow. gzip is on every node; zstd is smaller and unpacks five times faster. A zstd
// stream of 0 bytes means that the machine that built railbed had no zstd. Because of the hash and the size
// in that line, neither the program nor the agent has to be read before a node needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace railbed::fleet {

// The position of the agent's streams in the program, and the agent's identity.
struct PackedAgent {
  struct Stream {
    std::uint64_t offset = 0;  // in the program's file
    std::size_t bytes = 0;
  };
  std::string hash;      // SHA-256 of the agent, 64 hexadecimal digits
  std::size_t size = 0;  // size of the agent in bytes
  Stream gzip;
  Stream zstd;
};

// Returns `count` bytes of a file from `offset` on, or fewer at its end.
using ReadAt = std::function<std::string(std::uint64_t offset, std::size_t count)>;

// Returns the packed agent; nullopt if the file is no little-endian ELF64, or has no valid section of this
// name.
std::optional<PackedAgent> find_packed_agent(const ReadAt& read);
std::optional<PackedAgent> packed_agent_of(const std::string& path);

// Returns a stream of the packed agent; empty if the file can no longer be read.
std::string read_packed(const std::string& path, const PackedAgent::Stream& stream);
// Returns the agent itself, for a node without gzip; empty if it is incomplete.
std::string unpacked_agent(const std::string& path, const PackedAgent& agent);

}  // namespace railbed::fleet
