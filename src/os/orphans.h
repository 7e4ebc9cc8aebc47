// The processes that a program leaves behind, for a process that is their subreaper (prctl(2),
// PR_SET_CHILD_SUBREAPER): then every orphan becomes its child.
#pragma once

namespace railbed {

// Sends a signal to each child of this process. A child's number cannot be reused before this process has waited
// for it, so nobody else is hit.
void signal_children(int number);

}  // namespace railbed
