// A verdict as text for people, JSON for programs, JUnit for CI and Prometheus text for a node_exporter.
// docs/reference/output.md describes each form.
#pragma once

#include <string>

#include "model/differences.h"
#include "verify/verify.h"

namespace railbed {

// When and over what the verdict was reached.
struct Run {
  std::string cluster;                       // name; empty without a cluster.yaml
  std::string started_at;                    // RFC 3339, UTC; empty when not known
  double seconds = 0;                        // wall time
  std::size_t nodes = 0;                     // looked at or tried
  std::vector<Difference> differences = {};  // between those nodes
};

struct TextOptions {
  bool colour = false;
  std::size_t width = 80;
  bool all = false;  // also what passed or does not apply, and every line of long lists
};

std::string render_text(const Verdict& verdict, const Run& run, const TextOptions& options = {});
// Without documents around it; ends with a newline. schema/findings.schema.json is its schema.
std::string render_json(const Verdict& verdict, const Run& run);
std::string render_junit(const Verdict& verdict, const Run& run);
std::string render_prometheus(const Verdict& verdict, const Run& run);
// One line that names the worst cause first ("rdma.port-down mlx5_0/1: …"), or says that there is none.
std::string render_line(const Verdict& verdict, std::size_t most_bytes);
std::string render_line(const Finding& finding, std::size_t most_bytes);
// Cut between two characters, "…" at the end where something was left off; `most` counts bytes.
std::string shortened_bytes(std::string text, std::size_t most);

}  // namespace railbed
