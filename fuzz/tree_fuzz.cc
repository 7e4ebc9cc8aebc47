// A tree file may come from anybody: it is a machine, or an Error that names the line. What is accepted is
// written and read again unchanged, collected from, and masked.

// Rooms: facts
// Seeds: tests/machines
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "facts/facts.h"
#include "facts/mask/mask.h"
#include "host/tree.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railbed;
  const auto tree = parse_tree({reinterpret_cast<const char*>(data), size}, "fuzz", nullptr);
  if (!tree) return 0;
  const std::string text = write_tree(*tree);
  const auto again = parse_tree(text, "again", nullptr);
  if (!again || write_tree(*again) != text) std::abort();
  const auto host = open_tree(*tree);
  CollectOptions options;
  options.load_seconds = kLoadSeconds;
  options.paths = {"/scratch"};
  collect_facts(*host, options);
  Mask mask;
  masked(*tree, mask);
  return 0;
}
