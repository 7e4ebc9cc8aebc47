// A file of a fuzzer's own, in TMPDIR. It is gone with the process; after a crash fuzz/run removes it.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

// Nothing here has to outlive a power cut. The definitions of the program come before those of libraries.
extern "C" int fsync(int) { return 0; }
extern "C" int fdatasync(int) { return 0; }

namespace railbed {

class Scratch {
 public:
  explicit Scratch(const std::string& name) : folder_(make_folder()), path_(folder_ + "/" + name) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  const std::string& path() const { return path_; }
  const std::string& folder() const { return folder_; }
  // Alone there: what another program laid beside it is gone.
  void write(std::string_view bytes) const {
    for (const auto& beside : std::filesystem::directory_iterator(folder_))
      std::filesystem::remove_all(beside);
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  static std::string make_folder() {
    const auto folder = std::filesystem::temp_directory_path() / ("railbed-fuzz-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    return folder.string();
  }

  const std::string folder_;
  const std::string path_;
};

}  // namespace railbed
