// Any bytes as a program that carries an agent: what is found lies within the file's bounds or cannot be
// read, and unpacks to no more than it says, or to nothing.
//
// Rooms: fleet
#include <algorithm>
#include <cstdint>
#include <string>

#include "base/gzip.h"
#include "fleet/packed_agent.h"
#include "fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railbed;
  const std::string file(as_text(data, size));
  const auto read = [&](std::uint64_t offset, std::size_t count) {
    return offset < file.size() ? file.substr(offset, count) : std::string();
  };
  const auto agent = fleet::find_packed_agent(read);
  if (!agent) return 0;
  require(agent->hash.size() == 64);
  const std::size_t most = std::min<std::size_t>(agent->size, 1 << 20);
  const auto unpacked = gunzip(read(agent->gzip.offset, agent->gzip.bytes), most);
  require(!unpacked || unpacked->size() <= most);
  return 0;
}
