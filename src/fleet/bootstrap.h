// How an agent gets onto a node: the POSIX shell script that ssh starts there, and what it says to us.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/agent_binary.h"

namespace railbed::fleet {

// The remote command. It starts the agent that the node already has, or says what it needs; see
// docs/reference/agent-protocol.md. `nonce` marks its lines, so that no greeting can be mistaken for one.
// `start` is the shell function that becomes the agent whose path it gets (root_start.h has another).
// `shared` is a path at which the node may have the agent already; empty: none.
inline constexpr std::string_view kStartAsUser = "start() { exec \"$1\" agent 3>&-; }\n";
std::string bootstrap_command(const std::vector<AgentBinaries::Known>& agents, std::string_view nonce,
                              std::string_view start = kStartAsUser, std::string_view shared = "");

// "push x86_64 zstd gzip", "architecture riscv64", "nowhere /root/.cache/railbed: No space left on device", …
struct BootstrapLine {
  std::string word;
  std::string rest;
};
// The last line of the script's own in `noise`, once it is complete.
std::optional<BootstrapLine> bootstrap_line(std::string_view noise, std::string_view nonce);
// What others said: a greeting, a shell's complaint.
std::string without_bootstrap_lines(std::string_view noise, std::string_view nonce);

// An agent is sent in pieces of so many bytes; the script says "more" for each that it took.
inline constexpr std::size_t kPiece = 512 << 10;
// How many bytes of the agent may have been sent, by what the script has said.
std::size_t bootstrap_allowance(std::string_view noise, std::string_view nonce);

// What the script reads before it takes `bytes` bytes.
std::string bootstrap_reply(std::size_t bytes, std::string_view packer);

// 16 hexadecimal digits.
std::string make_nonce();

}  // namespace railbed::fleet
