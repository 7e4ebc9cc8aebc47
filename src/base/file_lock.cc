#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

namespace railbed {

Fd take_file_lock(const FolderEntry& file) {
  Fd lock = file.open(O_RDWR | O_CREAT, 0600);
  if (lock && flock(lock.get(), LOCK_EX | LOCK_NB) != 0) lock.reset();
  return lock;
}

}  // namespace railbed
