#include "settings/unit_instance.h"

#include <fmt/format.h>

#include <algorithm>

#include "settings/files.h"

namespace railbed {
namespace {

constexpr std::string_view kPlainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool is_kept_in_unit(char c) {
  return kPlainLetters.find(c) != std::string_view::npos || c == ':' || c == '_' || c == '.';
}

// Returns "ens6" for "ens6.100": cluster.yaml requires that form for VLAN interfaces.
std::string without_tag(const RailEnd& end) {
  return end.rail != nullptr && end.rail->vlan ? end.name.substr(0, end.name.rfind('.')) : end.name;
}

}  // namespace

std::string escaped_for_unit(std::string_view text) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '/')
      escaped += '-';
    else if (is_kept_in_unit(c) && !(i == 0 && c == '.'))
      escaped += c;
    else
      escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return escaped;
}

std::string instance_of(std::string_view unit, std::string_view interface) {
  return fmt::format("{}@{}.service", unit, escaped_for_unit(interface));
}

bool is_plain_interface(std::string_view name) {
  return !name.empty() && name.front() != '-' && std::ranges::all_of(name, [](char c) {
    return kPlainLetters.find(c) != std::string_view::npos || c == '.' || c == '_' || c == '-';
  });
}

std::vector<std::string> carriers_of(const Target& target, const RailEnd& end) {
  const NetInterface* carrier = carrier_of(target.facts().net, end.name);
  if (carrier == nullptr) return {without_tag(end)};
  if (carrier->bond_members.ok()) return *carrier->bond_members;
  return {carrier->name};
}

std::vector<std::string> carriers_of(const Target& target, bool (*wanted)(const RailEnd&)) {
  std::vector<std::string> names;
  for (const RailEnd& end : target.view.ends) {
    if (!wanted(end)) continue;
    for (std::string& name : carriers_of(target, end))
      if (is_plain_interface(name) && std::ranges::find(names, name) == names.end())
        names.push_back(std::move(name));
  }
  return names;
}

bool is_roce_port(const RailEnd& end) { return end.rail != nullptr && end.roce() && !end.software_rdma(); }

// The interface's device unit starts the unit whenever the interface appears, at boot and after its driver
// was reloaded, and stops it when the interface disappears (systemd.device(5); systemd.unit(5), BindsTo=).
std::string unit_of_interface(std::string_view description, std::string_view service) {
  return fmt::format(
      "{}[Unit]\n"
      "Description={}\n"
      "BindsTo=sys-subsystem-net-devices-%i.device\n"
      "After=sys-subsystem-net-devices-%i.device\n"
      "\n"
      "[Service]\n"
      "Type=oneshot\n"
      "RemainAfterExit=yes\n"
      "{}"
      "\n"
      "[Install]\n"
      "WantedBy=sys-subsystem-net-devices-%i.device\n",
      kFileMark, description, service);
}

}  // namespace railbed
