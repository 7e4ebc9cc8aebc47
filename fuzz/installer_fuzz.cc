// An installer's ISO comes from a stranger's mirror: its records, and the menus and descriptions in it.
//
// Rooms: configure settings verify model nccl hardware facts results host nvidia os inventory base
#include <cstdint>
#include <string>
#include <string_view>

#include "base/iso9660.h"
#include "configure/installer_medium.h"
#include "fuzz/require.h"
#include "fuzz/scratch.h"

namespace {

constexpr std::size_t kLimit = 4096;

// The image without its first sectors, which hold nothing that is read.
void read_image(std::string_view text) {
  static const railbed::Scratch scratch("image.iso");
  scratch.write(std::string(16 * 2048, '\0').append(text));
  const auto image = railbed::IsoImage::open(scratch.path());
  if (!image) return;
  for (const std::string_view path :
       {"/.disk/info", "/boot/grub/grub.cfg", "/a/a/a/a/a/a/a/a/a/a/a/a", ".."}) {
    const auto found = image->read(path, kLimit);
    if (found) railbed::require(found->size() <= kLimit);
  }
}

void read_texts(std::string_view text) {
  const auto medium = railbed::medium_of({std::string(text), {}, {}, {}});
  railbed::require_printable(medium ? medium->name : medium.error().text);
  const auto kin = railbed::medium_of({{}, std::string(text), std::string(text), std::string(text)});
  railbed::require_printable(kin ? kin->name + kin->os : kin.error().text);
  const railbed::MenuWish wish{{{"gpu1", {"a;b"}}}, "ttyS0", 115200};
  for (const auto kind : {railbed::MediumKind::kUbuntuServer, railbed::MediumKind::kRhel}) {
    const auto menu = railbed::grub_with_entries(text, railbed::medium_paths(kind), wish);
    if (menu) railbed::require(menu->starts_with(text) && menu->find("a\\;b") != std::string::npos);
  }
  const auto menu = railbed::isolinux_with_entries(text, wish);
  if (menu) railbed::require(menu->find("label railbed-gpu1\n") != std::string::npos);
  railbed::require(railbed::sums_without(text, {"/a"}).size() <= text.size() + 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = railbed::as_text(data, size);
  read_image(text);
  read_texts(text);
  return 0;
}
