// Which railbed this is.
#pragma once

namespace railbed {

// "1.2.0": of the project, in CMakeLists.txt.
const char* railbed_version();

}  // namespace railbed
