// Reads single files of an ISO 9660 image, by the names of its Rock Ridge extension where it has one. An image is
// not trusted: a link in it is never followed, and reading costs no more time and memory than the caller allows.
// Sources: ECMA-119; IEEE P1281 (SUSP) and P1282 (Rock Ridge), drafts 1.12.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace railbed {

// A regular file in an image, as one run of bytes.
struct IsoFile {
  std::uint64_t at = 0;  // offset in the image
  std::uint64_t size = 0;
};

class IsoImage {
 public:
  // Opens an image. kBadInput if the file does not exist, is not regular, or is no ISO 9660 image.
  static Result<IsoImage> open(const std::string& path);

  std::uint64_t size() const { return size_; }  // of the file
  const std::string& label() const { return label_; }
  // Returns the 16 digits of the moment of its last change, which GRUB and udev take for its UUID.
  const std::string& modified() const { return modified_; }

  // Finds a regular file by its path, such as "/boot/grub/grub.cfg". kBadInput if there is none, or if it, or a
  // folder on the way, is a link.
  Result<IsoFile> find(std::string_view path) const;
  bool holds(std::string_view path) const { return find(path).has_value(); }
  // Reads a whole file of at most `limit` bytes.
  Result<std::string> read(std::string_view path, std::size_t limit) const;
  // Passes a file's bytes to `take` piece by piece, until it returns false.
  Result<void> pass(const IsoFile& file, const std::function<bool(std::string_view piece)>& take) const;

 private:
  Result<std::string> read_at(std::uint64_t at, std::size_t size) const;

  std::string path_;
  Fd file_;
  std::uint64_t size_ = 0;
  std::string label_;
  std::string modified_;
  IsoFile root_;
};

}  // namespace railbed
