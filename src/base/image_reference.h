// Names of container images.
#pragma once

#include <string_view>

namespace railbed {

// [HOST[:PORT]/]PATH[:TAG][@DIGEST] as docker and podman take it (github.com/distribution/reference,
// reference.go). It begins with a letter or digit, so no program can take it for an option.
bool is_image_reference(std::string_view text);

}  // namespace railbed
