// The agent of the campaigns' tests: what `railbed agent` answers, without a command line.
#include <unistd.h>

#include "campaign/agent_handlers.h"

int main() { _exit(railbed::serve_agent() == 0 ? 0 : 1); }
