// Keys come from whoever answers at a node's address, names from anybody's files: any bytes are read or
// refused, and what is taken is one line of known_hosts.
//
// Rooms: fleet facts host base
#include <cstdint>
#include <string>

#include "facts/ssh.h"
#include "fleet/ssh_words.h"
#include "fuzz/require.h"

namespace {

using namespace railbed;

void require_sound(const PublicKey& key) {
  require_printable(key.to_text());
  require(key.to_text().find('\n') == std::string::npos);
  require(PublicKey::parse(key.to_text()) == key);
  require(is_fingerprint(fingerprint_of(key)));
}

void known_host(std::string_view line) {
  const auto host = parse_known_host(line);
  if (!host) return;
  require_sound(host->key);
  for (const std::string& name : host->names) require_printable(name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  for (const auto line : lines(text)) {
    known_host(line);
    if (const auto key = PublicKey::parse(line)) require_sound(*key);
  }
  for (const fleet::FoundKey& key : fleet::parse_found(text)) require_sound(key.key);
  fleet::SshWay way{.host = "gpu1"};
  if (const auto keys = fleet::parse_scan(text, way))
    for (const PublicKey& key : *keys) require_sound(key);
  if (const auto said = fleet::parse_ssh_way(text)) {
    require_printable(said->known_name());
    require(said->known_name().find_first_of(" \t\n") == std::string::npos);
  }
  for (const std::string_view path : {"/etc/ssh/ssh_known_hosts", "/etc/ssh/sshd_config", "/etc/ssh/x.pub"}) {
    const std::string used = used_ssh(path, text);
    require(used_ssh(path, used) == used);
  }
  return 0;
}
