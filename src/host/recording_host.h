// A Host that records the results of another one, so that they can be replayed. Thread-safe if `inner` is.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "host/host.h"
#include "host/tree.h"

namespace railbed {

class RecordingHost : public Host {
 public:
  explicit RecordingHost(Host& inner) : inner_(inner) {}

  Reading<std::string> read(std::string_view path, std::size_t limit = 1 << 20) override;
  Reading<std::vector<std::string>> list(std::string_view path) override;
  Reading<std::string> resolve(std::string_view path) override;
  Reading<CommandOutput> run(const std::vector<std::string>& words,
                             std::chrono::milliseconds deadline = std::chrono::seconds(5)) override;
  Reading<std::string> call(std::string_view name) override;

  // Returns everything read so far. Files that were looked for and are absent are not in it.
  Tree tree() const;

 private:
  std::string locate(std::string_view path);
  void put(const std::string& real, TreeEntry entry);

  Host& inner_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> located_;  // requested path → path without links
  Tree tree_;
};

}  // namespace railbed
