// Whoever may write a file that NCCL reads, or a profile, may write anything there: the lint and the
// prediction end, and say nothing that a terminal obeys. What leaves the machine in a capture keeps its
// lines.
//
// Rooms: nccl facts host base
// Seeds: tests/machines
#include <algorithm>
#include <cstdint>

#include "facts/facts.h"
#include "facts/nccl.h"
#include "facts/system.h"
#include "fuzz/require.h"
#include "host/tree.h"
#include "nccl/choice.h"
#include "nccl/lint.h"
#include "nccl/node_text.h"

using namespace railbed;

namespace {

// A node with eight GPUs and RDMA adapters, which the variables may name.
Facts sound_facts() {
  const auto tree = read_tree(RAILBED_SOURCE_DIR "/tests/machines/h100-cx7/gpu01.tree");
  require(tree.has_value());
  return collect_facts(*open_tree(*tree));
}

Nccl nccl_of(std::string_view text) {
  Tree tree;
  const TreeEntry file{TreeEntry::Kind::kFile, std::string(text), 0};
  for (const auto path : {"/etc/nccl.conf", "/root/.nccl.conf", "/etc/environment", "/etc/profile.d/nccl.sh"})
    require(tree.set(path, file).has_value());
  const Reading<std::vector<Service>> no_services(Miss{Missing::kAbsent, "none"}, "fuzz");
  return collect_nccl(*open_tree(std::move(tree)), no_services);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Facts facts = sound_facts();
  const std::string_view text = as_text(data, size);
  facts.nccl = nccl_of(text);
  const auto ids = nccl::complaint_ids();
  for (const bool separate_rails : {false, true}) {
    const auto complaints = nccl::lint(facts, {{}, 104, separate_rails});
    for (const auto& complaint : complaints) require(std::ranges::find(ids, complaint.id) != ids.end());
    require_printable(nccl::to_text(complaints));
  }
  require_printable(nccl::to_text(nccl::predict(facts, std::nullopt)));
  const std::string kept = only_nccl_lines(text);
  require(lines(kept).size() == lines(text).size());
  (void)only_nccl_environment(text);
  return 0;
}
