// The command line of fio, the storage benchmark, and the parser of its output. Pure functions.
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
  int depth = 1;                 // requests of each thread in flight
  int threads = 1;               // each with a file of its own
  double seconds = 0;            // time to loop over the file; 0: once through it
  bool direct = true;            // past the page cache
  bool sync_at_end = false;      // fsync, within the measured time
  bool native = true;            // a depth above 1 uses libaio; else one thread for each request
  FIELDS(FioJob, folder, pattern, block_bytes, file_bytes, depth, threads, seconds, direct, sync_at_end,
         native);
};

// Returns the file of thread `index`. All jobs with one thread use the first file.
std::string fio_file(const std::string& folder, int index);

// Returns the command line as separate words, without a shell. fio runs threads instead of processes: its
// processes leave its process group (setsid in its backend.c), and would outlive it when it is killed.
std::vector<std::string> fio_words(const FioJob& job);

// Parses the output of `fio --output-format=json`, which may have notes before the document. Takes the
// numbers of reads if `reads`, else those of writes. The text is untrusted: fails if it comes from another
// program that is called fio, or if its numbers are impossible.
Result<FioResult> parse_fio(std::string_view text, bool reads);

}  // namespace railbed
