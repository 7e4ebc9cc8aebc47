// A machine packed into a tree: exactly what the collectors looked at, so that it can be looked at again.
#pragma once

#include "facts/facts.h"
#include "host/tree.h"

namespace railbed {

// Runs collect_facts() and keeps what it touched. What is bulky and says nothing is left out: empty GID slots
// (there may be a thousand) and lines of the kernel's configuration that no fact is made of.
Tree capture(Host& host, const CollectOptions& options = {});

}  // namespace railbed
