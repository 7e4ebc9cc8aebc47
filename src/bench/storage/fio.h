// fio, the storage benchmark: what it is asked for, and what it answers. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "results/storage.h"

namespace railbed {

// One run of fio on files of its own in one folder.
struct FioJob {
  std::string folder;
  std::string pattern = "write";  // fio's --rw: write, read, randwrite, randread
  std::uint64_t block_bytes = 0;
  std::uint64_t file_bytes = 0;  // of each file
  int depth = 1;                 // requests under way at once, of each thread
  int threads = 1;               // each with a file of its own
  double seconds = 0;            // again and again over the file; 0: once through it
  bool direct = true;            // past the page cache
  bool sync_at_end = false;      // fsync, within the measured time
  bool native = true;            // several under way by libaio; else by one thread each
  FIELDS(FioJob, folder, pattern, block_bytes, file_bytes, depth, threads, seconds, direct, sync_at_end,
         native);
};

// The file of thread `index`: jobs of one thread share the first.
std::string fio_file(const std::string& folder, int index);

// The command line, without a shell. Threads instead of processes: fio's processes leave its group
// (setsid in its backend.c), and would outlive it when it is killed.
std::vector<std::string> fio_words(const FioJob& job);

// Reads `fio --output-format=json`, which may have notes before the document. `reads`: which direction to
// take. Untrusted: another program that is called fio, or one whose numbers make no sense, is an Error.
Result<FioResult> parse_fio(std::string_view text, bool reads);

}  // namespace railbed
