// The files of `railbed tour`, as part of the program: examples/sick-pair and the sound machines that it
// starts from (cmake/tour_files.cmake writes them into C++).
#pragma once

#include <span>
#include <string_view>

namespace railbed {

struct TourFile {
  std::string_view name;  // below the tour's folder: "gpu01.tree"
  std::string_view text;
};

std::span<const TourFile> tour_files();

}  // namespace railbed
