// Renderers of a verdict: text for people, JSON for programs, JUnit for CI and Prometheus text for a
// node_exporter. docs/reference/output.md describes each form.
#pragma once

#include <string>

#include "model/differences.h"
#include "verify/verify.h"

namespace railbed {

// Time and scope of a verdict.
struct Run {
  std::string cluster;                       // name; empty without a cluster.yaml
  std::string started_at;                    // RFC 3339, UTC; empty if unknown
  double seconds = 0;                        // wall time
  std::size_t nodes = 0;                     // nodes that were read or tried
  std::vector<Difference> differences = {};  // between those nodes
};

struct TextOptions {
  bool colour = false;
  std::size_t width = 80;
  bool all = false;  // also passes and rules that do not apply, and every line of long lists
};

std::string render_text(const Verdict& verdict, const Run& run, const TextOptions& options = {});
// Returns the document; ends with a newline (report/documents.h).
std::string render_json(const Verdict& verdict, const Run& run);
std::string render_junit(const Verdict& verdict, const Run& run);
std::string render_prometheus(const Verdict& verdict, const Run& run);
// Returns one line that names the worst cause first ("rdma.port-state mlx5_0/1: …"), or that there is none.
std::string render_line(const Verdict& verdict, std::size_t most_bytes);
std::string render_line(const Finding& finding, std::size_t most_bytes);
// Cuts the text to at most `most` bytes, between two characters, with "…" at the end if something is missing.
std::string shortened_bytes(std::string text, std::size_t most);

}  // namespace railbed
