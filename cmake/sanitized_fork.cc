// A child of a process with several threads must not inherit a lock that another thread held when it was
// forked. glibc sees to that for its own malloc; clang's address sanitizer does so from version 17 on, and
// waits for ever in a child before. This is linked into what that compiler instruments: it takes the
// sanitizer's locks around each fork, in the order in which the sanitizer nests them.
#include <pthread.h>

// Of the sanitizer's runtime (compiler-rt, lsan_common.h and sanitizer_stackdepot.h).
namespace __lsan {
void LockThreadRegistry();
void UnlockThreadRegistry();
void LockAllocator();
void UnlockAllocator();
}  // namespace __lsan
namespace __sanitizer {
void StackDepotLockAll();
void StackDepotUnlockAll();
}  // namespace __sanitizer

namespace {

void lock() {
  __lsan::LockThreadRegistry();  // held by a thread that starts another
  __lsan::LockAllocator();
  __sanitizer::StackDepotLockAll();
}

void unlock() {
  __sanitizer::StackDepotUnlockAll();
  __lsan::UnlockAllocator();
  __lsan::UnlockThreadRegistry();
}

[[maybe_unused]] const int registered = pthread_atfork(lock, unlock, unlock);

}  // namespace
