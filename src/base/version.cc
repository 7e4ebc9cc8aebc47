#include "base/version.h"

namespace railbed {

const char* railbed_version() { return RAILBED_VERSION; }

}  // namespace railbed
