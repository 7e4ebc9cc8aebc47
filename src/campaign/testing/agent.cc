// The agent for the campaigns' tests: serves the same requests as `railbed agent`, without a command line.
#include <unistd.h>

#include <string_view>

#include "campaign/agent_handlers.h"
#include "os/supervisor.h"

int main(int argc, char** argv) {
  if (std::string_view(argv[argc - 1]) == "--supervise") return railbed::supervise(STDIN_FILENO);
  _exit(railbed::serve_agent() == 0 ? 0 : 1);
}
