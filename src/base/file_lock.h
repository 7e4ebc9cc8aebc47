// A file by which one process at a time works on something.
#pragma once

#include "base/fd.h"
#include "base/trusted_path.h"

namespace railbed {

// Makes the file if it is missing, and locks it (flock(2)) until the returned Fd is closed. Returns an empty Fd if another
// process has the lock, or the file cannot be opened.
Fd take_file_lock(const FolderEntry& file);

}  // namespace railbed
