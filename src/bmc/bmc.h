// One BMC, whatever is spoken with it. Asking changes nothing; what changes something says so by its name.
// Every call ends within the BMC's own deadlines, and a BMC that is dead, refuses the login or talks nonsense
// costs no more than its own answer.
//
//   const auto bmc = open_bmc({node.name, *node.bmc, cluster.bmc, login, trust}, options);
//   if (bmc) power = (*bmc)->power();
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bmc/certificates.h"
#include "bmc/login.h"
#include "facts/bmc.h"
#include "inventory/cluster.h"

namespace railbed {

enum class PowerAction { kOn, kOff, kSoft, kCycle, kReset };
constexpr auto enum_names(PowerAction) {
  return std::array<std::string_view, 5>{"on", "off", "soft", "cycle", "reset"};
}

enum class BootDevice { kNone, kPxe, kDisk, kBios, kCd };  // kNone: as the BIOS is set up
constexpr auto enum_names(BootDevice) {
  return std::array<std::string_view, 5>{"none", "pxe", "disk", "bios", "cd"};
}

struct BootOrder {
  BootDevice device = BootDevice::kNone;
  bool once = true;     // the next boot alone
  bool legacy = false;  // as a PC's BIOS boots, not by EFI
};

struct BmcTarget {
  std::string node;
  std::string address;
  BmcAccess access;
  BmcLogin login;
  CertificateTrust trust = {};
};

struct BmcOptions {
  std::chrono::milliseconds silence =
      std::chrono::seconds(3);  // a BMC that says nothing for so long is given up
  std::chrono::milliseconds deadline = std::chrono::seconds(60);  // of one question, however long its answer
  std::string
      cache;  // a folder of ours for what BMCs say of their sensors; empty: none, and sensors take longer
  std::stop_token stop = {};
};

class Bmc {
 public:
  virtual ~Bmc() = default;

  virtual Reading<PowerState> power() = 0;
  virtual Reading<BmcDevice> device() = 0;
  virtual Reading<std::vector<BmcSensor>> sensors() = 0;
  virtual Reading<std::vector<BmcEvent>> events() = 0;
  virtual Reading<double> clock_offset() = 0;
  virtual Reading<SerialOverLan> serial() = 0;
  // That the last answer came by.
  virtual BmcProtocol protocol() const = 0;
  // The suite that the last answer came by, where there are such.
  virtual std::optional<int> cipher() const { return std::nullopt; }

  virtual Result<void> change_power(PowerAction action) = 0;
  virtual Result<void> set_boot(const BootOrder& order) = 0;
  // The light that finds a machine in a rack, for so many seconds; 0 turns it off.
  virtual Result<void> set_identify(int seconds) = 0;
  virtual Result<void> clear_events() = 0;
  virtual Result<void> set_serial_rate(int rate) = 0;
  // Of the user who is logged in.
  virtual Result<void> set_password(const std::string& password) = 0;
  // A CD that is a file somewhere: an http or https address that the BMC itself can reach.
  virtual Result<void> insert_media(const std::string& image);
  virtual Result<void> eject_media();
};

// By the protocol that cluster.yaml names. Where it names none: IPMI, and Redfish where only that answers; an
// error says that neither does.
Result<std::unique_ptr<Bmc>> open_bmc(BmcTarget target, BmcOptions options);

std::unique_ptr<Bmc> open_ipmi(BmcTarget target, BmcOptions options);
// This machine's own, through the kernel (/dev/ipmi0) and without a login. Its power is that of whoever asks.
std::unique_ptr<Bmc> open_own_ipmi(BmcOptions options);
std::unique_ptr<Bmc> open_redfish(BmcTarget target, BmcOptions options);
std::unique_ptr<Bmc> open_smash(BmcTarget target, BmcOptions options);

// Why a BMC did not do it, as an error.
inline tl::unexpected<Error> refused(const Miss& miss) {
  return fail(miss.missing == Missing::kTimeout ? ErrorKind::kTimeout : ErrorKind::kUnavailable, miss.why);
}
// A reading that an action needs, as a Result.
template <class T>
Result<T> required(const Reading<T>& reading) {
  if (reading.ok()) return reading.value();
  return refused(reading.miss());
}

}  // namespace railbed
