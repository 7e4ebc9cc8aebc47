// A client of one BMC over IPMI, Redfish or SMASH CLP. Methods that return a Reading change nothing; a method
// that changes something has a verb in its name. Every call ends within BmcOptions' limits, and a BMC that is
// dead, refuses the login or returns nonsense costs no more than its own result.
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
  bool once = true;     // for the next boot alone
  bool legacy = false;  // boot as a PC's BIOS does, not by EFI
};

struct BmcTarget {
  std::string node;
  std::string address;
  BmcAccess access;
  BmcLogin login;
  CertificateTrust trust = {};
};

struct BmcOptions {
  // A BMC that sends nothing for this long counts as dead.
  std::chrono::milliseconds silence = std::chrono::seconds(3);
  // Limit of one call, however long its result. IPMI applies it to each program that a call runs.
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
  // A folder of ours where FreeIPMI caches the descriptions of sensors; without one, sensors take longer.
  std::string cache;
  std::stop_token stop = {};  // ends a running call early
};

// One BMC. Calls block. Not thread-safe: an implementation keeps its session and what it found out.
class Bmc {
 public:
  virtual ~Bmc() = default;

  // State of the machine's power, which is not the BMC's.
  virtual Reading<PowerState> power() = 0;
  virtual Reading<BmcDevice> device() = 0;
  virtual Reading<std::vector<BmcSensor>> sensors() = 0;
  // The event log, the oldest event first.
  virtual Reading<std::vector<BmcEvent>> events() = 0;
  // Returns the room that the event log has left.
  virtual Reading<BmcLog> log() = 0;
  // Returns the access by network that the BMC grants.
  virtual Reading<BmcLan> lan() = 0;
  // Seconds that the BMC's clock is ahead of this machine's.
  virtual Reading<double> clock_offset() = 0;
  virtual Reading<SerialOverLan> serial() = 0;
  // The protocol of this client.
  virtual BmcProtocol protocol() const = 0;
  // The IPMI cipher suite that the BMC accepted; none with another protocol or before the first response.
  virtual std::optional<int> cipher() const { return std::nullopt; }

  virtual Result<void> change_power(PowerAction action) = 0;
  virtual Result<void> set_boot(const BootOrder& order) = 0;
  // Turns on the light that finds a machine in a rack, for `seconds`; 0 turns it off. Redfish has no timer:
  // its light stays on until it is turned off.
  virtual Result<void> set_identify(int seconds) = 0;
  virtual Result<void> clear_events() = 0;
  virtual Result<void> set_serial_rate(int rate) = 0;
  // Changes the password of the user who is logged in, and uses the new one from then on. Fails if the BMC
  // then refuses it.
  virtual Result<void> set_password(const std::string& password) = 0;
  // Inserts an image as a virtual CD. `image` is an http or https address that the BMC itself can reach. Only
  // Redfish supports it.
  virtual Result<void> insert_media(const std::string& image);
  virtual Result<void> eject_media();
};

// Opens a BMC with the protocol that cluster.yaml names. If it names none: IPMI if the BMC responds to it,
// else Redfish; an error if it responds to neither.
Result<std::unique_ptr<Bmc>> open_bmc(BmcTarget target, BmcOptions options);

// These connect at their first call, so they cannot fail.
std::unique_ptr<Bmc> open_ipmi(BmcTarget target, BmcOptions options);
// This machine's own BMC, through the kernel (/dev/ipmi0) and without a login. Its rights are those of the
// user who runs railbed.
std::unique_ptr<Bmc> open_own_ipmi(BmcOptions options);
std::unique_ptr<Bmc> open_redfish(BmcTarget target, BmcOptions options);
std::unique_ptr<Bmc> open_smash(BmcTarget target, BmcOptions options);

// Returns the reason of a miss as an error: kTimeout for a timeout, kUnavailable for the rest.
inline tl::unexpected<Error> refused(const Miss& miss) {
  return fail(miss.missing == Missing::kTimeout ? ErrorKind::kTimeout : ErrorKind::kUnavailable, miss.why);
}
// Returns the value of a reading that an action needs, or the reason of its miss as an error.
template <class T>
Result<T> required(const Reading<T>& reading) {
  if (reading.ok()) return reading.value();
  return refused(reading.miss());
}

}  // namespace railbed
