// What kubectl prints of pods and nodes holds what anybody wrote as a reason: any bytes are read or passed
// over, what is taken of a name is one, and what is shown moves no terminal.
//
// Rooms: fleet inventory host nvidia os base
#include <cstdint>
#include <string>

#include "base/text.h"
#include "fleet/kubernetes_text.h"
#include "fuzz/require.h"

using namespace railbed;
using namespace railbed::fleet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kNonce = "0123456789abcdef";
  const std::string_view text = as_text(data, size);
  for (const KubernetesPod& pod : parse_kubernetes_pods(text, kNonce)) {
    require(is_kubernetes_name(pod.name) && is_kubernetes_name(pod.node) &&
            is_kubernetes_label(pod.container));
    require_printable(pod.why_not);
  }
  for (const KubernetesNode& node : parse_kubernetes_nodes(text, kNonce)) {
    require(is_kubernetes_name(node.name));
    require_printable(node.not_ready);
  }
  for (const std::string_view line : lines(text))
    if (is_kubernetes_selector(line)) require_printable(line);
  return 0;
}
