// Names of container images.
#pragma once

#include <string_view>

namespace railbed {

// Returns whether `text` is [HOST[:PORT]/]PATH[:TAG][@DIGEST] as docker and podman accept it
// (github.com/distribution/reference, reference.go). Such a name begins with a letter or digit, so no program
// can mistake it for an option.
bool is_image_reference(std::string_view text);

}  // namespace railbed
