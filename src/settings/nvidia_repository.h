// NVIDIA's CUDA network repository: where a system finds it, the key that signs it, and what puts both in place.
#pragma once

#include <string>
#include <string_view>

#include "settings/setting.h"
#include "settings/target.h"

namespace railbed {

// Adds to a setting what makes packages of NVIDIA's repository available on this node: the key, checked by its
// fingerprint, the file that names the repository, and notes. Adds notes only if another file already names a
// repository of NVIDIA's for this system, if cluster.yaml says "none", or if NVIDIA has none for it. The steps are put
// before those that the setting already has.
void use_nvidia_repository(const Target& target, std::string_view package, Setting& setting);

}  // namespace railbed
