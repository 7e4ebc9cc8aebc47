#include "bmc/bmc.h"

namespace railbed {

Result<void> Bmc::insert_media(const std::string&) {
  return fail(ErrorKind::kUnavailable,
              "its BMC is spoken with by a protocol that knows no virtual media: Redfish does");
}
Result<void> Bmc::eject_media() { return insert_media({}); }

std::unique_ptr<Bmc> open_bmc(BmcTarget target, BmcOptions options) {
  switch (target.access.protocol.value_or(BmcProtocol::kIpmi)) {
    case BmcProtocol::kSmash:
      return open_smash(std::move(target), std::move(options));
    case BmcProtocol::kRedfish:
    case BmcProtocol::kIpmi:
      break;
  }
  return open_ipmi(std::move(target), std::move(options));
}

}  // namespace railbed
