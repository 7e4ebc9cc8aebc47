// A machine packed into a tree: the inputs of the collectors, so that they can run again elsewhere.
#pragma once

#include "facts/facts.h"
#include "host/tree.h"

namespace railbed {

// Runs collect_facts() and returns all inputs that it read. Drops bulky inputs that no fact uses: empty GID
// slots (there may be a thousand) and unused options of the kernel's configuration. Also drops the parts of
// environments and configuration files that no collector uses, because they may hold secrets.
Tree capture(Host& host, const CollectOptions& options = {});

}  // namespace railbed
