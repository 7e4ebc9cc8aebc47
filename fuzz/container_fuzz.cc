// What an image's programs print in a container, what a runtime says on stderr, an image's name, the files of
// container engines (TOML), and those of toolkits: each ends as what it is or as nothing, within its limits, and says nothing that a
// terminal obeys.
//
// Rooms: facts host nvidia os base
// Seeds: tests/machines
#include <cstdint>

#include "base/image_reference.h"
#include "facts/collectors.h"
#include "facts/software/container.h"
#include "facts/software/engine_files.h"
#include "facts/software/toolkit.h"
#include "fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railbed;
  const std::string_view text = as_text(data, size);
  (void)why_not_started(text);
  if (const auto sight = parse_container_sight(text)) {
    require(sight->gpus.size() <= 1024 && sight->rdma_nodes.size() <= 1024);
    require_printable(sight->complaint);
    for (const std::string& node : sight->rdma_nodes) require(node.find('/') == std::string::npos);
  }
  if (is_image_reference(text)) {
    require(text.size() <= 512 && text.front() != '-' && text.find(' ') == std::string_view::npos);
    require_printable(text);
  }
  if (const auto version = parse_cuda_version(std::string(text))) require_printable(*version);
  if (const auto version = parse_nccl_header(text)) require(version->size() <= 16);
  if (const auto spec = parse_cdi_spec(text)) {
    require_printable(spec->driver_version);
    require(spec->gone.size() <= 512);
    for (const std::string& path : spec->gone)
      require(path.starts_with('/') && path.find("/../") == std::string::npos);
    const auto kept = parse_cdi_spec(used_cdi_spec(text));
    require(kept && kept->gone == spec->gone && kept->driver_version == spec->driver_version);
    require(spec->gpus.size() <= 256 && spec->uuids.size() <= 256);
    require(kept->gpus == spec->gpus && kept->uuids == spec->uuids);
  }
  const std::string used = used_engine_file(text);
  require(used_engine_file(used) == used);
  if (const auto file = parse_engine_file(text)) {
    const auto kept = parse_engine_file(used);
    require(kept && kept->says.version == file->says.version && kept->says.cri == file->says.cri);
    require(kept->says.runtimes.size() == file->says.runtimes.size());
    for (std::size_t i = 0; i < file->says.runtimes.size(); ++i) {
      const EngineRuntime& runtime = file->says.runtimes[i];
      require_printable(runtime.name);
      require_printable(runtime.program);
      require(runtime.settings.size() <= 64 && kept->says.runtimes[i].settings == runtime.settings);
      require(kept->says.runtimes[i].name == runtime.name &&
              kept->says.runtimes[i].program == runtime.program);
    }
  }
  const std::string runtimes = used_docker_runtimes(text);
  require(used_docker_runtimes(runtimes) == runtimes);
  return 0;
}
