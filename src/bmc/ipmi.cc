// IPMI 2.0 client that runs FreeIPMI's programs, each as a process: a BMC that makes one of them hang or
// crash costs only that call. User and password reach them in a configuration file in memory (os/child.h).
//
// Cipher suites. The first attempt uses 17 (HMAC-SHA256). If the BMC refuses in a way that may come from the
// suite, one more attempt uses 3 (HMAC-SHA1), unless cluster.yaml names a suite. The suite that the BMC
// accepted is kept for later calls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/moment.h"
#include "base/text.h"
#include "bmc/bmc.h"
#include "bmc/freeipmi_text.h"
#include "os/process.h"

namespace railbed {
namespace {

constexpr int kCipher = 17;
constexpr int kOlderCipher = 3;
// Rates from IPMI's enumeration (26.3), in bit/s; FreeIPMI supports no others.
constexpr std::array kRates = {9600, 19200, 38400, 57600, 115200};

using Words = std::vector<std::string>;

std::string_view device_word(BootDevice device) {
  switch (device) {
    case BootDevice::kNone:
      return "NO-OVERRIDE";
    case BootDevice::kPxe:
      return "PXE";
    case BootDevice::kDisk:
      return "HARD-DRIVE";
    case BootDevice::kBios:
      return "BIOS-SETUP";
    case BootDevice::kCd:
      return "CD-DVD";
  }
  return "NO-OVERRIDE";
}

class IpmiBmc final : public Bmc {
 public:
  // Without a target: this machine's own BMC.
  IpmiBmc(std::optional<BmcTarget> target, BmcOptions options)
      : own_(!target), target_(std::move(target).value_or(BmcTarget{})), options_(std::move(options)) {}

  Reading<PowerState> power() override {
    if (own_) return ask({"ipmi-chassis", "--get-chassis-status"}, parse_power);
    return ask({"ipmipower", "--stat"}, parse_power);
  }
  Reading<BmcDevice> device() override { return ask({"bmc-info", "--get-device-id"}, parse_device); }

  Reading<std::vector<BmcSensor>> sensors() override {
    return ask(cached({"ipmi-sensors", "--comma-separated-output", "--no-header-output",
                       "--output-sensor-state", "--output-sensor-thresholds"}),
               [](std::string_view text) { return std::optional(parse_sensors(text)); });
  }
  Reading<std::vector<BmcEvent>> events() override {
    return ask(cached({"ipmi-sel", "--comma-separated-output", "--no-header-output", "--output-event-state"}),
               [](std::string_view text) { return std::optional(parse_events(text)); });
  }
  Reading<BmcLog> log() override { return ask({"ipmi-sel", "--info"}, parse_log); }
  Reading<BmcLan> lan() override {
    return ask({"ipmi-config", "--category=core", "--checkout", "-S", "Rmcpplus_Conf_Privilege"}, parse_lan);
  }
  Reading<double> clock_offset() override {
    return ask({"bmc-device", "--get-sel-time"}, [](std::string_view text) {
      const auto time = parse_sel_time(text);
      return time ? std::optional(*time - now_unix()) : std::nullopt;
    });
  }
  Reading<SerialOverLan> serial() override {
    return ask({"ipmi-config", "--category=core", "--checkout", "-S", "SOL_Conf"}, parse_serial);
  }
  BmcProtocol protocol() const override { return BmcProtocol::kIpmi; }
  std::optional<int> cipher() const override { return cipher_; }

  Result<void> change_power(PowerAction action) override {
    const auto names = enum_names(action);
    const auto said = run({"ipmipower", fmt::format("--{}", names[static_cast<std::size_t>(action)])});
    if (!said.ok()) return refused(said.miss());
    // ipmipower prints "ADDRESS: ok" if it succeeds, and exits with 0 in any case.
    if (trim(said->output).ends_with(": ok")) return {};
    return refused(why_refused(after_colon(said->output)));
  }
  Result<void> set_boot(const BootOrder& order) override {
    return configure("chassis",
                     fmt::format("Section Chassis_Boot_Flags\n Boot_Flags_Persistent {}\n BIOS_Boot_Type "
                                 "{}\n Boot_Device {}\nEndSection\n",
                                 order.once ? "No" : "Yes", order.legacy ? "PC-COMPATIBLE" : "EFI",
                                 device_word(order.device)));
  }
  Result<void> set_identify(int seconds) override {
    // Chassis Identify (28.5) with its first byte alone, which every version of IPMI knows.
    const auto said = run({"ipmi-raw", "0", "0", "4", fmt::format("{:02x}", seconds)});
    if (!said.ok()) return refused(said.miss());
    const auto bytes = words(said->output);
    if (bytes.size() >= 3 && bytes[0] == "rcvd:" && bytes[2] == "00") return {};
    return fail(ErrorKind::kUnavailable, "its BMC has no light that finds it");
  }
  Result<void> clear_events() override { return done(run({"ipmi-sel", "--clear"})); }
  Result<void> set_serial_rate(int rate) override {
    if (std::ranges::find(kRates, rate) == kRates.end())
      return fail(ErrorKind::kBadInput,
                  fmt::format("{} is no rate of IPMI's: {}", rate, fmt::join(kRates, ", ")));
    return configure("core",
                     fmt::format("Section SOL_Conf\n Volatile_Bit_Rate {0}\n Non_Volatile_Bit_Rate {0}\n"
                                 "EndSection\n",
                                 rate));
  }
  Result<void> set_password(const std::string& password) override {
    const auto users = run({"ipmi-config", "--category=core", "--checkout"});
    if (!users.ok()) return refused(users.miss());
    const auto section = find_user_section(users->output, target_.login.user);
    if (!section) return fail(ErrorKind::kUnavailable, "its BMC does not say which user this is");
    if (auto set =
            configure("core", fmt::format("Section {}\n Password {}\nEndSection\n", *section, password));
        !set)
      return set;
    target_.login.password = password;
    if (const auto now = power(); !now.ok())
      return fail(ErrorKind::kUnavailable,
                  "its BMC took the new password and refuses it now: " + now.miss().why);
    return {};
  }

 private:
  static std::string after_colon(std::string_view text) {
    const std::size_t colon = text.find(": ");
    return std::string(colon == std::string_view::npos ? text : text.substr(colon + 2));
  }
  static Result<void> done(const Reading<CommandOutput>& said) {
    if (!said.ok()) return refused(said.miss());
    if (said->exit_code == 0) return {};
    return refused(why_refused(after_colon(said->error_output)));
  }

  Words cached(Words words) const {
    words.push_back("--quiet-cache");
    words.push_back("--sdr-cache-recreate");
    if (!options_.cache.empty()) words.push_back("--sdr-cache-directory=" + options_.cache);
    return words;
  }
  std::string login() const {
    // opensesspriv: many BMCs, and the simulator, expect the privilege level in the request that opens the
    // session (FreeIPMI's list of workarounds, freeipmi(7)); the others accept that as well.
    return fmt::format(
        "username {}\npassword {}\ndriver-type LAN_2_0\nprivilege-level ADMIN\nworkaround-flags "
        "opensesspriv\nsession-timeout {}\nretransmission-timeout 500\n",
        in_configuration(target_.login.user), in_configuration(target_.login.password),
        options_.silence.count());
  }
  Reading<CommandOutput> run_with(const Words& command, int cipher, const Words& texts) const {
    Words words = {command.front(), "--config-file=" + SecretFiles::path(0)};
    if (!own_) words.insert(words.end(), {"-h", target_.address, "-I", std::to_string(cipher)});
    words.insert(words.end(), command.begin() + 1, command.end());
    Words secrets = {own_ ? "driver-type OPENIPMI\n" : login()};
    secrets.insert(secrets.end(), texts.begin(), texts.end());
    auto said = run_program(words, options_.deadline, options_.stop, SecretFiles(secrets));
    if (!said.ok() && said.absent())
      return {Miss{Missing::kAbsent,
                   fmt::format("{} is not installed on this machine: install FreeIPMI (Debian and "
                               "Ubuntu: freeipmi-tools, RHEL: freeipmi)",
                               command.front())},
              said.from()};
    return said;
  }
  // Runs a program. The first call finds the suite that the BMC accepts; see the head of this file.
  Reading<CommandOutput> run(const Words& command, const Words& texts = {}) {
    const int first = cipher_.value_or(target_.access.cipher.value_or(kCipher));
    auto said = run_with(command, first, texts);
    if (!said.ok()) return said;
    if (own_) return said;
    const bool refused = may_be_the_cipher(said->error_output) || may_be_the_cipher(said->output);
    if (!refused) {
      cipher_ = first;
      return said;
    }
    if (cipher_ || target_.access.cipher || first == kOlderCipher) return said;
    said = run_with(command, kOlderCipher, texts);
    if (said.ok() && !may_be_the_cipher(said->error_output) && !may_be_the_cipher(said->output))
      cipher_ = kOlderCipher;
    return said;
  }
  template <class Parse>
  auto ask(const Words& command, Parse&& parse)
      -> Reading<typename decltype(parse(std::string_view()))::value_type> {
    using Value = typename decltype(parse(std::string_view()))::value_type;
    const auto said = run(command);
    const std::string from =
        own_ ? command.front() : fmt::format("{} at {}", command.front(), target_.address);
    if (!said.ok()) return {said.miss(), from};
    auto value = parse(std::string_view(said->output));
    // ipmi-config exits with 1 if it could not read a key of a section, and prints the others.
    const bool useful = value && (said->exit_code == 0 || command.front() == "ipmi-config");
    if (useful) return {std::move(*value), from};
    const std::string& complaint = trim(said->error_output).empty() ? said->output : said->error_output;
    return Reading<Value>(why_refused(after_colon(complaint)), from);
  }
  Result<void> configure(std::string_view category, const std::string& sections) {
    return done(run({"ipmi-config", fmt::format("--category={}", category), "--commit",
                     "--filename=" + SecretFiles::path(1)},
                    {sections}));
  }

  const bool own_;
  BmcTarget target_;
  BmcOptions options_;
  std::optional<int> cipher_;
};

}  // namespace

std::unique_ptr<Bmc> open_ipmi(BmcTarget target, BmcOptions options) {
  return std::make_unique<IpmiBmc>(std::move(target), std::move(options));
}

std::unique_ptr<Bmc> open_own_ipmi(BmcOptions options) {
  return std::make_unique<IpmiBmc>(std::nullopt, std::move(options));
}

}  // namespace railbed
