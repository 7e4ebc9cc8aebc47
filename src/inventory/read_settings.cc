// Reads the keys of `expect:`, of `configure:` and of `checks:`.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/image_reference.h"
#include "base/text.h"
#include "inventory/reader.h"

namespace railbed {
namespace {

template <class T>
void take(std::optional<T>& target, Said<T> said) {
  if (said) target = std::move(said->value);
}

std::optional<int> parse_count(std::string_view text) {
  const auto count = parse_number<int>(text);
  return count && *count >= 0 && *count <= 1024 ? count : std::nullopt;
}

constexpr std::string_view kSize = "a size with its unit, as in \"64 GiB\"";

std::optional<std::string> parse_path(std::string_view text) {
  return text.starts_with('/') ? std::optional(std::string(text)) : std::nullopt;
}

std::optional<std::string> parse_image(std::string_view text) {
  return is_image_reference(text) ? std::optional(std::string(text)) : std::nullopt;
}

// Parses a version of two or three numbers: "2.28", "2.28.9".
std::optional<std::string> parse_version(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  for (const auto part : parts)
    if (part.find_first_not_of("0123456789") != std::string_view::npos || part.empty()) return std::nullopt;
  return std::string(text);
}

std::optional<int> parse_tos(std::string_view text) {
  const auto tos = parse_number<int>(text);
  return tos && *tos >= 0 && *tos <= 255 ? tos : std::nullopt;
}

// Rejects less than 1 MiB: a number without a unit would be bytes, which is surely a mistake.
std::optional<ByteCount> parse_memory(std::string_view text) {
  const auto size = parse_byte_count(text);
  return size && size->bytes >= 1 << 20 ? size : std::nullopt;
}

std::optional<double> parse_fraction(std::string_view text) {
  const auto fraction = parse_real(text);
  return fraction && *fraction > 0 && *fraction <= 1 ? fraction : std::nullopt;
}

// Parses a major and a minor number: "12.8".
std::optional<std::string> parse_cuda(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos || !is_digits(text.substr(0, dot)) || !is_digits(text.substr(dot + 1)))
    return std::nullopt;
  return std::string(text);
}

// Documentation/admin-guide/pm/cpufreq.rst, "Generic Scaling Governors".
const std::vector<std::string_view> kGovernors = {"performance", "powersave",    "schedutil",
                                                  "ondemand",    "conservative", "userspace"};

std::optional<std::string> parse_interface(std::string_view text) {
  return is_interface(text) && !is_rdma_device(text) ? std::optional(std::string(text)) : std::nullopt;
}

std::optional<std::string> parse_container_engine(std::string_view text) {
  const bool known = text == "docker" || text == "containerd" || text == "crio";
  return known ? std::optional(std::string(text)) : std::nullopt;
}

// Parses "3", "0-3", or "all", which is an empty list.
std::optional<std::vector<int>> parse_gpus(std::string_view text) {
  constexpr int kMostGpus = 1024;
  if (text == "all") return std::vector<int>();
  auto gpus = parse_list(text, kMostGpus);
  const bool sound = gpus && !gpus->empty() && gpus->front() >= 0 && gpus->back() < kMostGpus;
  return sound ? std::move(gpus) : std::nullopt;
}

std::optional<int> parse_instances(std::string_view text) {
  const auto count = parse_number<int>(text);
  return count && *count >= 1 && *count <= 7 ? count : std::nullopt;
}

// The device plugin's maintainers state no bound; this one keeps out what is no number of containers.
std::optional<int> parse_replicas(std::string_view text) {
  constexpr int kMostReplicas = 1000;
  const auto count = parse_number<int>(text);
  return count && *count >= 2 && *count <= kMostReplicas ? count : std::nullopt;
}

std::optional<int> parse_percent(std::string_view text) {
  const auto percent = parse_number<int>(text);
  return percent && *percent >= 1 && *percent <= 100 ? percent : std::nullopt;
}

// Returns why the keys of `gpu_sharing` cannot be together; empty if they can.
std::string sharing_fault(const GpuSharing& sharing) {
  const bool limits = sharing.active_threads || sharing.pinned_memory;
  switch (sharing.method) {
    case SharingMethod::kNone:
      return sharing.replicas || limits ? "\"gpu_sharing\" has \"method: none\", which goes with no other key"
                                        : "";
    case SharingMethod::kTimeSlices:
      if (limits) return "\"active_threads\" and \"pinned_memory\" are limits of MPS: time slices have none";
      return sharing.replicas
                 ? ""
                 : "\"gpu_sharing\" by time slices needs \"replicas\", for Kubernetes: without it "
                   "programs take turns by themselves, and nothing is to configure";
    case SharingMethod::kMps:
      return sharing.replicas && limits
                 ? "with \"replicas\" Kubernetes' device plugin gives each container an equal part: leave "
                   "\"active_threads\" and \"pinned_memory\" out"
                 : "";
  }
  return "";
}

// Returns whether the text has the form of a profile's name: "3g.40gb", "1g.24gb+me.all". Which ones a GPU has is not
// known here.
bool is_mig_profile(std::string_view text) {
  const std::size_t dot = text.find("g.");
  const std::size_t end = text.find("gb");
  if (dot == std::string_view::npos || end == std::string_view::npos || end < dot + 2) return false;
  const std::string_view suffix = text.substr(end + 2);
  const bool known =
      suffix.empty() || suffix == "+me" || suffix == "+me.all" || suffix == "+gfx" || suffix == "-me";
  const std::string_view size = text.substr(dot + 2, end - dot - 2);
  return dot == 1 && is_digit(text.front()) && size.size() <= 3 && is_digits(size) && known;
}

// Parses the name of a serial port of a PC or of an Arm server
// (Documentation/admin-guide/serial-console.rst).
std::optional<std::string> parse_console(std::string_view text) {
  const std::size_t letters = text.starts_with("ttyAMA") ? 6 : 4;
  const std::string_view number = text.substr(std::min(letters, text.size()));
  const bool known = letters == 6 || text.starts_with("ttyS");
  const bool digits = number.size() <= 2 && is_digits(number);
  return known && digits ? std::optional(std::string(text)) : std::nullopt;
}

std::optional<std::string> parse_repository(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:~%";
  if (text == "nvidia" || text == "none") return std::string(text);
  const bool web = text.starts_with("https://") || text.starts_with("http://");
  while (text.ends_with('/')) text.remove_suffix(1);
  const std::size_t host = text.find("//") + 2;
  if (!web || text.size() > 200 || text.size() <= host || text.find("/../") != std::string_view::npos ||
      text.find_first_not_of(kAllowed) != std::string_view::npos ||
      text.find("//", host) != std::string_view::npos)
    return std::nullopt;
  return std::string(text);
}

std::optional<std::string> parse_fingerprint(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c == ' ' && digits.size() % 4 == 0) continue;  // as gpg prints it
    const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (!letter && !is_digit(c)) return std::nullopt;
    digits += c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return digits.size() == 40 ? std::optional(std::move(digits)) : std::nullopt;
}

std::optional<int> parse_console_rate(std::string_view text) {
  static constexpr int kRates[] = {9600, 19200, 38400, 57600, 115200};  // rates of IPMI's serial-over-LAN
  const auto rate = parse_number<int>(text);
  return rate && std::ranges::find(kRates, *rate) != std::end(kRates) ? rate : std::nullopt;
}

std::optional<int> parse_priority(std::string_view text) {
  const auto priority = parse_number<int>(text);
  return priority && *priority >= 0 && *priority <= 7 ? priority : std::nullopt;
}

// Parses a user name that is valid for useradd(8) of both Debian and RHEL.
std::optional<std::string> parse_user(std::string_view text) {
  const bool plain =
      !text.empty() && text.size() <= 32 && text.front() >= 'a' && text.front() <= 'z' &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string_view::npos;
  return plain ? std::optional(std::string(text)) : std::nullopt;
}

// Parses a line of authorized_keys(5) without options, because options of an untrusted line could grant more
// than a login. The key itself is base64.
std::optional<std::string> parse_public_key(std::string_view text) {
  const auto words = split(text, ' ');
  const bool kind = text.starts_with("ssh-") || text.starts_with("ecdsa-") || text.starts_with("sk-");
  const bool key = words.size() >= 2 && words[1].starts_with("AAAA") &&
                   words[1].find_first_not_of(
                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                       "0123456789+/=") == std::string_view::npos;
  return kind && key ? std::optional(std::string(text)) : std::nullopt;
}

// The most numbers that VERSION_ID of os-release(5) has. A point release is not in it: Ubuntu 22.04.5 has "22.04",
// Debian 12.5 has "12".
struct OsRelease {
  std::string_view id;
  std::size_t numbers;
};
constexpr OsRelease kReleases[] = {{"ubuntu", 2}, {"debian", 1}, {"fedora", 1}, {"centos", 1}};

// Parses an ID of os-release(5), and a VERSION_ID or its beginning, in small letters. Returns nullopt if no machine
// can have them.
std::optional<std::string> parse_os(std::string_view text) {
  const std::string small = lower(text);
  const auto said = words(small);
  if (said.empty() || said.size() > 2) return std::nullopt;
  for (const std::string_view word : said)
    if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") != std::string_view::npos)
      return std::nullopt;
  if (said.size() == 1) return std::string(said[0]);
  const auto* const row = std::ranges::find(kReleases, said[0], &OsRelease::id);
  if (row != std::end(kReleases) && split(said[1], '.').size() > row->numbers) return std::nullopt;
  return fmt::format("{} {}", said[0], said[1]);
}

std::optional<int> parse_exit_code(std::string_view text) {
  const auto code = parse_number<int>(text);
  return code && *code >= 0 && *code <= 255 ? code : std::nullopt;
}

std::optional<int> parse_timeout(std::string_view text) {
  const auto seconds = parse_number<int>(text);
  return seconds && *seconds >= 1 && *seconds <= 300 ? seconds : std::nullopt;
}

}  // namespace

std::vector<ExitCode> ClusterReader::read_exit(const YamlKey& at, const YamlValue& value) {
  std::vector<ExitCode> exit;
  if (!is(YamlValue::Kind::kMapping, value, at)) return exit;
  for (std::size_t i = 0; i < value.keys.size(); ++i) {
    const YamlKey& key = value.keys[i];
    const auto code = parse_exit_code(key.text);
    if (!code) {
      complaints_.add(key.spot,
                      fmt::format("\"{}\" is no exit code: they are numbers from 0 to 255", key.text));
    } else if (std::ranges::find(exit, *code, &ExitCode::code) != exit.end()) {
      complaints_.add(key.spot, fmt::format("exit code {} is said twice", *code));
    } else if (const auto meaning = word<ExitMeaning>(key, value.items[i])) {
      exit.push_back({*code, *meaning});
    }
  }
  std::ranges::sort(exit, {}, &ExitCode::code);
  return exit;
}

std::optional<RawCheck> ClusterReader::read_check(const YamlValue& value) {
  constexpr std::size_t kMostWords = 256;
  RawCheck check;
  check.spot = value.spot;
  const std::size_t before = complaints_.count();
  each_key(value, "check", [&](std::string_view key, const YamlKey& at, const YamlValue& item) {
    SiteCheck& values = check.values;
    if (key == "name") {
      if (auto name = parsed(at, item, parse_plain_name, "small letters, digits, _ and -, at most 64"))
        check.name = std::move(*name);
    } else if (key == "run") {
      if (!is(YamlValue::Kind::kList, item, at)) return;
      for (const YamlValue& word : item.items)
        if (auto said = text(at, word)) values.run.push_back(std::move(said->value));
      if (item.items.empty() || item.items.size() > kMostWords)
        complaints_.add(at.spot, fmt::format("\"run\" must be a program and its arguments, at most {} words",
                                             kMostWords));
      else if (!values.run.empty() && !values.run[0].starts_with('/') &&
               values.run[0].find('/') != std::string::npos)
        complaints_.add(item.items[0].spot, "a program must be an absolute path, or a name without a slash");
    } else if (key == "user") {
      if (auto user = parsed(at, item, parse_user, "a user name of small letters, digits, _ and -"))
        values.user = std::move(user->value);
    } else if (key == "timeout") {
      if (const auto timeout = parsed(at, item, parse_timeout, "a number of seconds from 1 to 300"))
        values.timeout = timeout->value;
    } else if (key == "exit") {
      values.exit = read_exit(at, item);
    } else if (key == "remedy") {
      if (auto remedy = text(at, item)) values.remedy = std::move(remedy->value);
    } else {
      read_patterns(at, item, check.nodes);
    }
  });
  return complaints_.count() == before ? std::optional(std::move(check)) : std::nullopt;
}

std::vector<RawCheck> ClusterReader::read_checks(const YamlKey& at, const YamlValue& value) {
  std::vector<RawCheck> checks;
  if (!is(YamlValue::Kind::kList, value, at)) return checks;
  for (const YamlValue& item : value.items)
    if (is(YamlValue::Kind::kMapping, item, "a check", item.spot))
      if (auto check = read_check(item)) checks.push_back(std::move(*check));
  return checks;
}

// Board IDs are chosen by the adapters' makers, so any key is valid.
std::optional<std::map<std::string, std::string>> ClusterReader::read_firmware(const YamlKey& at,
                                                                               const YamlValue& value) {
  if (!is(YamlValue::Kind::kMapping, value, at)) return std::nullopt;
  std::map<std::string, std::string> firmware;
  for (std::size_t i = 0; i < value.keys.size(); ++i)
    if (const auto version = text(value.keys[i], value.items[i]))
      firmware[value.keys[i].text] = version->value;
  return firmware;
}

RawExpect ClusterReader::read_expect(const YamlKey& at, const YamlValue& value) {
  RawExpect expect;
  if (!is(YamlValue::Kind::kMapping, value, at)) return expect;
  Expectations& values = expect.values;
  each_key(value, "expect", [&](std::string_view key, const YamlKey& key_at, const YamlValue& item) {
    if (key == "gpus")
      take(values.gpus, parsed(key_at, item, parse_count, "a number from 0 to 1024"));
    else if (key == "gpu_model")
      take(values.gpu_model, text(key_at, item));
    else if (key == "driver")
      take(values.driver, text(key_at, item));
    else if (key == "cuda")
      take(values.cuda, parsed(key_at, item, parse_cuda, "a CUDA version, as in \"12.8\""));
    else if (key == "gpudirect_storage")
      take(values.gpudirect_storage, parsed(key_at, item, parse_truth, "true or false"));
    else if (key == "mig")
      take(values.mig, parsed(key_at, item, parse_truth, "true or false"));
    else if (key == "os")
      take(values.os,
           parsed(
               key_at, item, parse_os,
               "ID and VERSION_ID of /etc/os-release, as in \"ubuntu 22.04\", \"debian 12\" or \"rhel 9.4\": "
               "without a point release that is not in it (22.04.5), and \"ubuntu\" for DGX OS"));
    else if (key == "kernel")
      take(values.kernel, text(key_at, item));
    else if (key == "bios")
      take(values.bios, text(key_at, item));
    else if (key == "firmware")
      values.firmware = read_firmware(key_at, item);
    else if (key == "nccl")
      take(values.nccl, parsed(key_at, item, parse_version, "a version, as in \"2.28\" or \"2.28.9\""));
    else if (key == "memory")
      take(values.memory, parsed(key_at, item, parse_memory, kSize));
    else if (key == "traffic_class")
      take(values.traffic_class,
           parsed(key_at, item, parse_tos, "a ToS byte from 0 to 255, as in 104 for DSCP 26"));
    else if (key == "governor")
      take(values.governor, choice(key_at, item, kGovernors));
    else if (key == "venv")
      take(values.venv, parsed(key_at, item, parse_path, "an absolute path"));
    else if (key == "container")
      take(values.container,
           parsed(key_at, item, parse_image, "the name of an image, as in \"ubuntu:24.04\""));
    else if (key == "container_runtime")
      take(values.container_runtime, choice(key_at, item, {"docker", "podman"}));
    else if (key == "cuda_toolkit")
      take(values.cuda_toolkit,
           parsed(key_at, item, parse_version, "a version, as in \"12.8\" or \"12.8.1\""));
    else if (key == "mpi")
      take(values.mpi, parsed(key_at, item, parse_truth, "true or false"));
    else if (key == "socket_buffer") {
      if (const auto size = parsed(key_at, item, parse_byte_count, kSize))
        values.socket_buffer = size->value.bytes;
    } else if (key == "subnet_manager") {
      take(values.subnet_manager, parsed(key_at, item, parse_truth, "true or false"));
    } else if (key == "checkpoint_path") {
      take(values.checkpoint_path, parsed(key_at, item, parse_path, "an absolute path"));
    } else if (const auto fraction = parsed(key_at, item, parse_fraction, "a number above 0, at most 1")) {
      values.fraction_of_ceiling = fraction->value;
      expect.fraction_said = true;
    }
  });
  return expect;
}

void ClusterReader::read_management(std::string_view key, const YamlKey& at, const YamlValue& value,
                                    RawConfigure& raw) {
  Configuration& values = raw.values;
  if (key == "management_interface") {
    take(values.management_interface,
         parsed(at, value, parse_interface, "the name of an interface, as in eno1"));
  } else if (key == "management_address") {
    const auto said =
        parsed(at, value, InterfaceAddress::parse, "an address with its prefix, as in \"192.168.1.70/24\"");
    if (said) raw.address_spot = said->spot;
    take(values.management_address, said);
  } else if (key == "management_dhcp") {
    take(values.management_dhcp, parsed(at, value, parse_truth, "true or false"));
  } else if (key == "management_gateway") {
    take(values.management_gateway, parsed(at, value, IpAddress::parse, "an IP address"));
  } else {
    values.management_dns = parsed_list(at, value, IpAddress::parse, "IP addresses, as in [192.168.1.1]");
  }
}

std::optional<MigLayout> ClusterReader::read_mig_layout(const YamlValue& value) {
  MigLayout layout;
  const std::size_t before = complaints_.count();
  each_key(value, "mig", [&](std::string_view key, const YamlKey& at, const YamlValue& item) {
    if (key == "gpus") {
      const auto lists = parsed_list(at, item, parse_gpus, "numbers of GPUs from 0, as in [0, 2-3], or all");
      if (!lists) return;
      for (const std::vector<int>& list : *lists)
        layout.gpus.insert(layout.gpus.end(), list.begin(), list.end());
      std::ranges::sort(layout.gpus);
      return;
    }
    if (!is(YamlValue::Kind::kMapping, item, at)) return;
    for (std::size_t i = 0; i < item.keys.size(); ++i) {
      const YamlKey& profile = item.keys[i];
      if (!is_mig_profile(profile.text))
        complaints_.add(profile.spot,
                        fmt::format("\"{}\" is no MIG profile: they are called like 3g.40gb and 1g.10gb+me",
                                    profile.text));
      else if (const auto count =
                   parsed(profile, item.items[i], parse_instances, "a number of instances from 1 to 7"))
        if (!layout.instances.emplace(profile.text, count->value).second)
          complaints_.add(profile.spot, fmt::format("\"{}\" is said twice", profile.text));
    }
    if (item.keys.empty()) complaints_.add(at.spot, "\"instances\" must name a profile, as in {3g.40gb: 2}");
  });
  return complaints_.count() == before ? std::optional(std::move(layout)) : std::nullopt;
}

std::optional<std::vector<MigLayout>> ClusterReader::read_mig(const YamlKey& at, const YamlValue& value) {
  constexpr std::size_t kMostLayouts = 64;
  if (!is(YamlValue::Kind::kList, value, at)) return std::nullopt;
  std::vector<MigLayout> layouts;
  std::vector<int> seen;
  bool all = false;
  for (const YamlValue& item : value.items) {
    if (!is(YamlValue::Kind::kMapping, item, "a layout", item.spot)) continue;
    auto layout = read_mig_layout(item);
    if (!layout) continue;
    for (const int gpu : layout->gpus)
      if (std::ranges::find(seen, gpu) != seen.end())
        complaints_.add(item.spot, fmt::format("GPU {} has a layout already", gpu));
      else
        seen.push_back(gpu);
    if (all || (layout->gpus.empty() && !layouts.empty()))
      complaints_.add(item.spot, "another layout is for all GPUs: number the GPUs of each");
    all |= layout->gpus.empty();
    layouts.push_back(std::move(*layout));
  }
  if (value.items.size() > kMostLayouts)
    complaints_.add(at.spot, fmt::format("\"mig\" has more than {} layouts", kMostLayouts));
  return layouts;
}

std::optional<GpuSharing> ClusterReader::read_gpu_sharing(const YamlKey& at, const YamlValue& value) {
  if (!is(YamlValue::Kind::kMapping, value, at)) return std::nullopt;
  GpuSharing sharing;
  const std::size_t before = complaints_.count();
  each_key(value, "gpu_sharing", [&](std::string_view key, const YamlKey& key_at, const YamlValue& item) {
    if (key == "method")
      sharing.method = word<SharingMethod>(key_at, item).value_or(SharingMethod::kNone);
    else if (key == "replicas")
      take(sharing.replicas, parsed(key_at, item, parse_replicas, "a number of containers from 2 to 1000"));
    else if (key == "active_threads")
      take(sharing.active_threads, parsed(key_at, item, parse_percent, "a percentage from 1 to 100"));
    else
      take(sharing.pinned_memory, parsed(key_at, item, parse_memory, kSize));
  });
  if (complaints_.count() == before)
    if (const std::string fault = sharing_fault(sharing); !fault.empty()) complaints_.add(at.spot, fault);
  return complaints_.count() == before ? std::optional(sharing) : std::nullopt;
}

RawConfigure ClusterReader::read_configure(const YamlKey& at, const YamlValue& value) {
  RawConfigure raw;
  if (!is(YamlValue::Kind::kMapping, value, at)) return raw;
  Configuration& values = raw.values;
  each_key(value, "configure", [&](std::string_view key, const YamlKey& key_at, const YamlValue& item) {
    const auto truth = [&](std::optional<bool>& target) {
      take(target, parsed(key_at, item, parse_truth, "true or false"));
    };
    if (key == "network")
      values.network = word<NetworkKeeper>(key_at, item);
    else if (key.starts_with("management_"))
      read_management(key, key_at, item, raw);
    else if (key == "unused_interfaces")
      values.unused_interfaces =
          parsed_list(key_at, item, parse_interface, "names of interfaces, as in [eno2]");
    else if (key == "pfc_priority")
      take(values.pfc_priority, parsed(key_at, item, parse_priority, "a priority from 0 to 7"));
    else if (key == "console")
      take(values.console, parsed(key_at, item, parse_console, "a serial port, as in \"ttyS1\""));
    else if (key == "console_rate")
      take(values.console_rate,
           parsed(key_at, item, parse_console_rate, "9600, 19200, 38400, 57600 or 115200"));
    else if (key == "nccl_profile")
      truth(values.nccl_profile);
    else if (key == "user")
      take(values.user, parsed(key_at, item, parse_user, "a user name of small letters, digits, _ and -"));
    else if (key == "authorized_keys")
      values.authorized_keys = parsed_list(key_at, item, parse_public_key,
                                           "public keys without options, as in \"ssh-ed25519 AAAA… name\"");
    else if (key == "exporters")
      truth(values.exporters);
    else if (key == "packages")
      truth(values.packages);
    else if (key == "driver_kind")
      take(values.driver_kind, choice(key_at, item, {"open", "proprietary"}));
    else if (key == "mig")
      values.mig = read_mig(key_at, item);
    else if (key == "gpu_sharing")
      values.gpu_sharing = read_gpu_sharing(key_at, item);
    else if (key == "memory_guard")
      truth(values.memory_guard);
    else if (key == "nvidia_runtime")
      values.nvidia_runtime =
          parsed_list(key_at, item, parse_container_engine,
                      "engines of containers, as in [docker]: docker, containerd or crio");
    else if (key == "nvidia_repository")
      take(values.nvidia_repository,
           parsed(key_at, item, parse_repository,
                  "nvidia, none, or an address without a user, as in https://mirror.example/cuda/repos"));
    else
      take(values.nvidia_key,
           parsed(key_at, item, parse_fingerprint, "a fingerprint of 40 hexadecimal digits"));
  });
  return raw;
}

}  // namespace railbed
