// Starts an agent that the bootstrap script found intact as root: by sudo, or directly if the user is root.
#pragma once

#include <string>
#include <string_view>

namespace railbed::fleet {

// Returns the `start` function of the bootstrap script (bootstrap.h). Root runs a copy that only root can
// change and that root itself has verified: docs/reference/agent-protocol.md. Without a password, sudo is
// told not to prompt.
std::string root_start(bool with_password);

// Returns whether sudo has prompted for the password. Only then may it be sent: if sudo does not prompt, the
// agent would read it.
bool asks_for_password(std::string_view errors, std::string_view nonce);

}  // namespace railbed::fleet
