// cluster.yaml in, Cluster out; and back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inventory/cluster.h"

namespace railbed {

// Reads and validates. An error lists every complaint, each as
//   cluster.yaml:12:7: unknown key "raisl", did you mean "rails"?
//     raisl:
//     ^~~~~
// `file` is only the name to show.
Result<Cluster> parse_cluster(std::string_view text, std::string_view file);
Result<Cluster> load_cluster(const std::string& path);

// Whether a word names such a file, where nodes or folders could stand as well.
bool is_description(std::string_view word);

// A cluster.yaml that parse_cluster() reads back as the same Cluster, under comments of a line each.
std::string write_cluster(const Cluster& cluster, const std::vector<std::string>& comments = {});

}  // namespace railbed
