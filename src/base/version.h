// The version of this railbed.
#pragma once

namespace railbed {

// Returns the project's version from CMakeLists.txt: "1.2.0".
const char* railbed_version();

}  // namespace railbed
