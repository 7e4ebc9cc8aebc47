// Converts cluster.yaml to Cluster and back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inventory/cluster.h"

namespace railbed {

// Parse and validate. An error lists all mistakes in the text, each as
//   cluster.yaml:12:7: unknown key "raisl", did you mean "rails"?
//     raisl:
//     ^~~~~
// `file` is used for messages, and relative paths in the text start from its folder.
Result<Cluster> parse_cluster(std::string_view text, std::string_view file);
Result<Cluster> load_cluster(const std::string& path);

// Returns true if a command-line argument names such a file and not a node or a folder: it ends in .yaml or
// .yml.
bool is_description(std::string_view word);

// Returns a cluster.yaml that parse_cluster() reads back as the same Cluster. It starts with the comments,
// one line each.
std::string write_cluster(const Cluster& cluster, const std::vector<std::string>& comments = {});

}  // namespace railbed
