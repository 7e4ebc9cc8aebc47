// Parses lspci's text. A line without indentation begins a function; its details are indented with tabs. With -mm a
// function is one line of quoted words, with -vmm a record of "Tag:<tab>value", with -t a place in a drawing. The
// bus numbers of the bridges give each function's place in the hierarchy, in the layout of /sys/devices.
// Collectors read two registers of the configuration space, Device Control and ACS Control. These are rebuilt
// from the bits that lspci names, in an otherwise empty space.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/text.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

constexpr std::size_t kMostFunctions = 8192;

struct Link {
  std::string speed;  // "32.0 GT/s PCIe"
  std::string width;
};

struct Function {
  std::string address;
  std::string class_code;  // "0x030200"
  std::string vendor;
  std::string device;
  std::string name;  // of vendor and device, without numbers
  std::string driver;
  std::string numa_node;
  std::optional<Link> link_max;
  std::optional<Link> link_now;
  std::optional<int> secondary;  // for a bridge: the bus below it
  bool tells_driver = false;     // -v or -k was given
  bool has_capabilities = false;
  bool has_express = false;
  bool has_sriov = false;
  std::uint16_t device_control = 0;
  int control_parts = 0;  // how many of the three parts of Device Control were found
  std::optional<std::uint16_t> acs_control;
};

// Names of classes in pci.ids, for lspci without -nn.
constexpr std::pair<std::string_view, std::string_view> kClasses[] = {
    {"VGA compatible controller", "0300"},
    {"3D controller", "0302"},
    {"Ethernet controller", "0200"},
    {"Infiniband controller", "0207"},
    {"Network controller", "0280"},
    {"Non-Volatile memory controller", "0108"},
    {"PCI bridge", "0604"},
    {"Host bridge", "0600"},
    {"Bridge", "0680"}};
constexpr std::pair<std::string_view, std::string_view> kVendors[] = {
    {"NVIDIA Corporation", "10de"}, {"Mellanox Technologies", "15b3"}, {"Intel Corporation", "8086"}};

bool is_hex_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// Returns the text inside the first "[…]" at or after `from`.
std::string_view bracketed(std::string_view text, std::size_t from) {
  const auto open = text.find('[', from);
  const auto close = text.find(']', open);
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
  return text.substr(open + 1, close - open - 1);
}

template <class Table>
std::string_view by_prefix(const Table& table, std::string_view text) {
  for (const auto& [name, code] : table)
    if (text.starts_with(name)) return code;
  return {};
}

std::string interface_of(std::string_view line) {
  constexpr std::string_view kMark = "(prog-if ";
  const auto at = line.find(kMark);
  const auto code = at == std::string_view::npos ? "00" : line.substr(at + kMark.size(), 2);
  return is_hex_number(code) ? lower(code) : "00";
}

bool is_id(std::string_view text) { return text.size() == 4 && is_hex_number(text); }

// Parses "3D controller", "3D controller [0302]" or, with -n, "0302".
void read_class(std::string_view kind, const std::string& interface, Function& function) {
  const auto number = is_id(kind) ? kind : bracketed(kind, 0);
  const auto code = is_id(number) ? number : by_prefix(kClasses, kind);
  if (!code.empty()) function.class_code = "0x" + lower(code) + interface;
}

// Parses a name with its number behind it: "NVIDIA Corporation [10de]", "GH100 [H100 SXM5 80GB] [2330]"; with -n the
// number alone.
struct Named {
  std::string_view name;
  std::string_view id;
};
Named named_in(std::string_view text) {
  if (is_id(text)) return {{}, text};
  const auto open = text.rfind('[');
  const auto id = open == text.npos || !text.ends_with(']') ? std::string_view() : bracketed(text, open);
  return is_id(id) ? Named{trim(text.substr(0, open)), id} : Named{text, {}};
}

// Reads the vendor and the device as -mm and -vmm print them: apart.
void read_parts(std::string_view vendor, std::string_view device, Function& function) {
  const Named maker = named_in(vendor);
  const Named product = named_in(device);
  const auto code = maker.id.empty() ? by_prefix(kVendors, maker.name) : maker.id;
  if (!code.empty()) function.vendor = "0x" + lower(code);
  if (!product.id.empty()) function.device = "0x" + lower(product.id);
  if (!maker.name.empty()) function.name = fmt::format("{} {}", maker.name, product.name);
}

// Parses "3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)".
void read_identity(std::string_view rest, Function& function) {
  const auto colon = rest.find(": ");
  if (colon == std::string_view::npos) return;
  const auto kind = rest.substr(0, colon);
  const auto what = rest.substr(colon + 2);
  read_class(kind, interface_of(rest), function);
  for (std::size_t at = what.find('['); at != std::string_view::npos; at = what.find('[', at + 1)) {
    const auto ids = bracketed(what, at);
    if (ids.size() != 9 || ids[4] != ':' || !is_hex_number(ids.substr(0, 4)) || !is_hex_number(ids.substr(5)))
      continue;
    function.vendor = "0x" + lower(ids.substr(0, 4));
    function.device = "0x" + lower(ids.substr(5));
    function.name = trim(what.substr(0, at));
  }
  if (function.name.empty()) function.name = trim(what.substr(0, what.find(" (rev ")));
  const auto vendor = by_prefix(kVendors, what);
  if (function.vendor.empty() && !vendor.empty()) function.vendor = "0x" + std::string(vendor);
}

// Returns the text after `key` up to one of `,;(` or the end; empty if the line has no such key.
std::string_view behind(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return {};
  const auto rest = line.substr(at + key.size());
  return trim(rest.substr(0, rest.find_first_of(",;(")));
}

// Parses "LnkSta: Speed 32GT/s (ok), Width x8 (downgraded)".
std::optional<Link> link_in(std::string_view line) {
  const auto speed = behind(line, "Speed ");
  auto width = behind(line, "Width x");
  const auto rate = parse_real(speed.substr(0, speed.find("GT/s")));
  if (width.empty() || speed.empty()) return std::nullopt;
  width = width.substr(0, width.find_first_not_of("0123456789"));
  return Link{rate ? fmt::format("{:.1f} GT/s PCIe", *rate) : "Unknown", std::string(width)};
}

// Returns log2(bytes) − 7, the registers' encoding of a size.
std::optional<int> size_code(std::string_view line, std::string_view key) {
  const auto said = behind(line, key);
  const auto bytes = parse_number<int>(said.substr(0, said.find(' ')));
  for (int code = 0; bytes && code <= 5; ++code)
    if (128 << code == *bytes) return code;
  return std::nullopt;
}

void read_device_control(std::string_view line, Function& function) {
  const auto add = [&](int bits) {
    function.device_control = static_cast<std::uint16_t>(function.device_control | bits);
    ++function.control_parts;
  };
  if (const auto at = line.find("RlxdOrd"); at != std::string_view::npos && at + 7 < line.size())
    add(line[at + 7] == '+' ? 0x10 : 0);
  if (line.find("MaxReadReq") == std::string_view::npos) return;
  if (const auto code = size_code(line, "MaxPayload ")) add(*code << 5);
  if (const auto code = size_code(line, "MaxReadReq ")) add(*code << 12);
}

// Parses "ACSCtl: SrcValid+ TransBlk- ReqRedir+ …"; kBits is in the order of the register.
std::uint16_t acs_in(std::string_view line) {
  constexpr std::string_view kBits[] = {"SrcValid+",    "TransBlk+",   "ReqRedir+",   "CmpltRedir+",
                                        "UpstreamFwd+", "EgressCtrl+", "DirectTrans+"};
  int value = 0;
  for (std::size_t bit = 0; bit < std::size(kBits); ++bit)
    if (line.find(kBits[bit]) != std::string_view::npos) value |= 1 << bit;
  return static_cast<std::uint16_t>(value);
}

void read_detail(std::string_view line, Function& function) {
  const auto text = trim(line);
  const auto value = [&](std::string_view key) {
    return text.starts_with(key) ? trim(text.substr(key.size())) : std::string_view();
  };
  function.tells_driver = true;
  if (const auto driver = value("Kernel driver in use:"); is_plain_word(driver, 63)) function.driver = driver;
  if (const auto node = value("NUMA node:"); parse_number<int>(node)) function.numa_node = node;
  if (text.starts_with("Bus: primary="))
    function.secondary = parse_number<int>(behind(text, "secondary="), 16);
  if (text.starts_with("Capabilities: [")) function.has_capabilities = true;
  if (text.find("] Express (v") != std::string_view::npos) function.has_express = true;
  if (text.find("Single Root I/O Virtualization") != std::string_view::npos) function.has_sriov = true;
  if (text.starts_with("LnkCap:")) function.link_max = link_in(text);
  if (text.starts_with("LnkSta:")) function.link_now = link_in(text);
  if (text.starts_with("ACSCtl:")) function.acs_control = acs_in(text);
  // Both are below "DevCtl:", on lines of their own.
  if (text.starts_with("RlxdOrd") || (text.starts_with("MaxPayload ") && function.has_express))
    read_device_control(text, function);
}

// Splits a line of -mm into its words, without the quotes; a backslash escapes the next character.
std::vector<std::string> quoted_words(std::string_view line) {
  std::vector<std::string> found;
  bool quoted = false;
  bool is_open = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool escaped = line[i] == '\\' && i + 1 < line.size();
    if (escaped) ++i;
    if (!escaped && line[i] == '"') quoted = !quoted;
    const bool between = !quoted && !escaped && line[i] == ' ';
    if (!is_open && !between) found.emplace_back();
    is_open = !between;
    if (!between && (escaped || line[i] != '"')) found.back() += line[i];
  }
  return found;
}

// Reads `17:00.0 "3D controller" "NVIDIA Corporation" "GH100" -ra1 -p00 "NVIDIA Corporation" "Device 16c1"`.
void read_quoted(std::string_view line, Function& function) {
  std::vector<std::string> words;
  std::string interface = "00";
  for (std::string& word : quoted_words(line)) {
    if (word.size() == 4 && word.starts_with("-p") && is_hex_number(word.substr(2)))
      interface = lower(word.substr(2));
    if (!word.starts_with('-')) words.push_back(std::move(word));
  }
  if (words.size() < 4) return;
  read_class(words[1], interface, function);
  read_parts(words[2], words[3], function);
}

// Returns the address that a record of -vmm ("Slot:") or -vm ("Device:") begins with.
std::string slot_in(std::string_view line) {
  for (const std::string_view tag : {"Slot:\t", "Device:\t"})
    if (line.starts_with(tag)) return full_pci_address(trim(line.substr(tag.size())));
  return "";
}

struct Record {
  Function function;
  std::map<std::string_view, std::string_view> values;  // by tag
};

// Reads the records of -vmm. Only with -k they name a driver.
std::vector<Function> records_in(std::string_view text) {
  std::vector<Record> records;
  bool tells_driver = false;
  for (const auto line : lines(text)) {
    if (records.size() > kMostFunctions) break;
    if (std::string address = slot_in(line); !address.empty()) {
      records.emplace_back().function.address = std::move(address);
      continue;
    }
    const auto pair = key_value(line, '\t');
    if (!pair || records.empty() || !pair->first.ends_with(':')) continue;
    records.back().values.emplace(pair->first, pair->second);
    tells_driver = tells_driver || pair->first == "Driver:" || pair->first == "Module:";
  }
  std::vector<Function> functions;
  for (auto& [function, values] : records) {
    const auto value = [&values = values](std::string_view tag) {
      const auto found = values.find(tag);
      return found == values.end() ? std::string_view() : found->second;
    };
    const auto interface = value("ProgIf:");
    read_class(value("Class:"), interface.size() == 2 && is_hex_number(interface) ? lower(interface) : "00",
               function);
    read_parts(value("Vendor:"), value("Device:"), function);
    if (parse_number<int>(value("NUMANode:"))) function.numa_node = value("NUMANode:");
    if (is_plain_word(value("Driver:"), 63)) function.driver = value("Driver:");
    function.tells_driver = tells_driver;
    functions.push_back(std::move(function));
  }
  return functions;
}

std::vector<Function> functions_in(std::string_view text) {
  if (text.starts_with("Slot:\t") || text.starts_with("Device:\t")) return records_in(text);
  std::vector<Function> functions;
  for (const auto line : lines(text)) {
    if (line.empty() || functions.size() > kMostFunctions) continue;
    if (line[0] == '\t' || line[0] == ' ') {
      if (!functions.empty()) read_detail(line, functions.back());
      continue;
    }
    const auto address = full_pci_address(line.substr(0, line.find(' ')));
    if (address.empty()) continue;
    functions.emplace_back().address = address;
    const auto rest = line.substr(std::min(line.find(' ') + 1, line.size()));
    rest.starts_with('"') ? read_quoted(line, functions.back()) : read_identity(rest, functions.back());
  }
  return functions;
}

std::string domain_of(const std::string& address) { return address.substr(0, address.find(':')); }
std::optional<int> bus_of(const std::string& address) {
  return parse_number<int>(std::string_view(address).substr(address.find(':') + 1, 2), 16);
}

struct Bridge {
  std::string address;
  int secondary = 0;
};

// Reads the bridges of lspci -t, in whose drawing the functions of a bus stand in one column:
//   -+-[0000:80]-+-00.0  Intel Corporation Device 09a2
//    |           \-01.0-[81-83]----00.0-[82-83]--+-00.0-[83]----00.0  NVIDIA Corporation GH100
//    \-[0000:00]---00.0  Intel Corporation Device 09a2
class TreeReader {
 public:
  void read(std::string_view line) {
    std::optional<Bus> bus;  // that the next function is on
    std::string above;       // the function before
    for (std::size_t at = line.find_first_not_of(kDrawn); at < line.size();
         at = line.find_first_not_of(kDrawn, at)) {
      if (line[at] == '[') {
        const auto name = line.substr(at + 1, std::min(line.find(']', at), line.size()) - at - 1);
        bus = bus_named(name, above, bus);
        if (!bus) return;
        at += name.size() + 2;
        continue;
      }
      const auto slot = line.substr(at, 4);
      if (slot.size() < 4 || slot[2] != '.' || !is_hex_number(slot.substr(0, 2)) ||
          !is_hex_number(slot.substr(3)))
        return;
      if (bus)
        at_column_[at] = *bus;
      else if (const auto known = at_column_.find(at); known != at_column_.end())
        bus = known->second;
      else
        return;
      above = fmt::format("{}:{:02x}:{}", bus->domain, bus->number, lower(slot));
      at += slot.size();
      const auto next = at < line.size() && line[at] == '-' ? line.find_first_not_of(kDrawn, at) : line.npos;
      if (next == line.npos || line[next] != '[') return;  // its name, or a bridge without a bus
    }
  }
  std::vector<Bridge> bridges() && { return std::move(bridges_); }

 private:
  static constexpr std::string_view kDrawn = " |+\\-";
  struct Bus {
    std::string domain;
    int number = 0;
  };

  // Reads "0000:80" or, of old versions, "00" for a root; "81-83" or "83" behind a bridge, with its subordinate bus.
  std::optional<Bus> bus_named(std::string_view name, const std::string& above,
                               const std::optional<Bus>& on) {
    const auto number = name.substr(name.find(':') + 1);
    const auto bus = parse_number<int>(number.substr(0, number.find('-')), 16);
    if (!bus || *bus < 0 || *bus > 0xff) return std::nullopt;
    if (above.empty()) {
      const auto colon = name.find(':');
      const std::string domain = colon == name.npos ? "0000" : lower(name.substr(0, colon));
      if (domain.size() < 4 || domain.size() > 8 || !is_hex_number(domain)) return std::nullopt;
      return Bus{domain, *bus};
    }
    if (bridges_.size() < kMostFunctions) bridges_.push_back({above, *bus});
    return Bus{on->domain, *bus};
  }

  std::map<std::size_t, Bus> at_column_;  // the last bus whose functions stand there
  std::vector<Bridge> bridges_;
};

std::vector<Bridge> bridges_in(std::string_view tree) {
  TreeReader reader;
  for (const auto line : lines(tree)) reader.read(line);
  return std::move(reader).bridges();
}

// Finds a function's folder in /sys/devices. Walks up from its bus: the bridge with that secondary bus is the
// parent, and so on until no bridge leads to the bus, which is then a root bus.
class Layout {
 public:
  Layout(const std::vector<Function>& functions, const std::vector<Bridge>& drawn) {
    for (const Bridge& bridge : drawn) add(bridge.address, bridge.secondary);
    for (const Function& function : functions)
      if (function.secondary) add(function.address, *function.secondary);
  }

  std::string folder(const std::string& address) const {
    std::vector<std::string> way{address};
    constexpr std::size_t kDeepest = 32;  // bus numbers are untrusted: this ends a cycle
    std::string domain = domain_of(address);
    int bus = bus_of(address).value_or(0);
    while (way.size() < kDeepest) {
      const auto above = bridges_.find({domain, bus});
      if (above == bridges_.end()) break;
      way.push_back(above->second);
      bus = bus_of(above->second).value_or(0);
    }
    std::string path = fmt::format("/sys/devices/pci{}:{:02x}", domain, bus);
    for (auto one = way.rbegin(); one != way.rend(); ++one) path += "/" + *one;
    return path;
  }

 private:
  void add(const std::string& address, int secondary) {
    if (secondary > 0) bridges_[{domain_of(address), secondary}] = address;
  }

  std::map<std::pair<std::string, int>, std::string> bridges_;
};

void put(std::string& config, std::size_t at, std::uint16_t value) {
  config[at] = static_cast<char>(value & 0xff);
  config[at + 1] = static_cast<char>(value >> 8);
}

// Builds a configuration space with the offsets of linux/pci_regs.h: the list of capabilities, PCI Express in
// it, and ACS in the extended list.
std::string config_of(const Function& function) {
  std::string config(4096, '\0');
  put(config, 0x06, 0x10);
  config[0x34] = 0x40;
  config[0x40] = 0x10;
  put(config, 0x48, function.device_control);
  put(config, 0x100, function.acs_control ? 0x000d : 0);
  put(config, 0x106, function.acs_control.value_or(0));
  return config;
}

void add_link(const std::string& folder, std::string_view which, const std::optional<Link>& link,
              ReportTree& report) {
  if (!link) return;
  report.line(fmt::format("{}/{}_link_speed", folder, which), link->speed);
  report.line(fmt::format("{}/{}_link_width", folder, which), link->width);
}

void add_driver(const std::string& folder, const Function& function, ReportTree& report) {
  if (!function.driver.empty()) {
    report.whole("/sys/bus/pci/drivers/" + function.driver);
    report.link(folder + "/driver", "/sys/bus/pci/drivers/" + function.driver);
  } else if (function.tells_driver) {
    report.nothing(folder + "/driver");
  }
}

void add_function(const Function& function, ReportTree& report) {
  const std::string folder = "/sys/bus/pci/devices/" + function.address;
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) report.line(folder + "/" + std::string(name), value);
  };
  line("class", function.class_code);
  line("vendor", function.vendor);
  line("device", function.device);
  line("numa_node", function.numa_node);
  add_link(folder, "max", function.link_max, report);
  add_link(folder, "current", function.link_now, report);
  add_driver(folder, function, report);
  // lspci -nn has the number of a device without a name behind "Device", in the brackets.
  const bool is_unnamed = function.name.ends_with(" Device") && function.device.starts_with("0x");
  const std::string name = is_unnamed ? function.name + " " + function.device.substr(2) : function.name;
  if (!name.empty()) report.command("lspci -s " + function.address, "PCI: " + name + "\n");
  if (function.has_sriov) report.nothing(folder + "/physfn");  // only a physical function has this capability
  // For users other than root, lspci prints "Capabilities: <access denied>".
  if (function.has_express && function.control_parts == 3)
    report.copy(folder + "/config", config_of(function));
}

}  // namespace

std::string full_pci_address(std::string_view text) {
  std::string address = lower(text);
  if (std::ranges::count(address, ':') == 1) address = "0000:" + address;
  // nvidia-smi prints eight digits of the domain, the kernel four or more.
  while (address.find(':') > 4 && address.starts_with('0')) address.erase(0, 1);
  const auto colon = address.find(':');
  const bool shaped = colon != std::string::npos && colon >= 4 && colon <= 8 && address.size() == colon + 8 &&
                      address[colon + 3] == ':' && address[colon + 6] == '.';
  if (!shaped) return "";
  for (const std::size_t at : {colon + 1, colon + 2, colon + 4, colon + 5, colon + 7})
    if (!is_hex_number(address.substr(at, 1))) return "";
  return is_hex_number(address.substr(0, colon)) ? address : "";
}

std::size_t count_lspci(std::string_view text) { return functions_in(text).size(); }

bool is_lspci_tree(std::string_view text) { return !bridges_in(text.substr(0, 64 << 10)).empty(); }

void add_lspci(std::string_view text, bool all, ReportTree& report, std::string_view tree) {
  const auto functions = functions_in(text);
  if (functions.empty()) return;
  const auto drawn = bridges_in(tree);
  // The hierarchy needs the bridges' bus numbers, which only -v and -t print, and not those of a list of some devices.
  const bool tells_places =
      !drawn.empty() || (all && std::ranges::any_of(functions, [](const Function& function) {
                           return function.secondary.has_value();
                         }));
  const Layout layout(functions, drawn);
  for (const Function& function : functions) {
    if (tells_places)
      report.link("/sys/bus/pci/devices/" + function.address, layout.folder(function.address));
    add_function(function, report);
  }
  if (all) report.whole("/sys/bus/pci/devices");
}

}  // namespace railbed
