// Reads the neighbours that lldpd has received. lldpcli's "json0" writes every element as a list and every
// value as a string (lldpd, src/client/json_writer.c). It prints the frame size with "details" only
// (display.c). lldpd does not decode DCBX's PFC, so it is among the unknown elements, by number.
#include <algorithm>

#include "base/fields.h"
#include "base/json.h"
#include "facts/network/net.h"
#include "facts/readings.h"

namespace railbed {
namespace {

struct LldpValue {
  std::string value;
  FIELDS(LldpValue, value);
};
struct LldpChassis {
  std::vector<LldpValue> id;
  std::vector<LldpValue> name;
  FIELDS(LldpChassis, id, name);
};
struct LldpPort {
  std::vector<LldpValue> id;
  std::vector<LldpValue> mfs;
  FIELDS(LldpPort, id, mfs);
};
struct LldpElement {
  std::string oui;
  std::string subtype;
  std::string value;
  FIELDS(LldpElement, oui, subtype, value);
};
struct LldpElements {
  std::vector<LldpElement> elements;
  static void fields(auto&& field) { field("unknown-tlv", &LldpElements::elements); }
};
struct LldpInterface {
  std::string name;
  std::string via;
  std::vector<LldpChassis> chassis;
  std::vector<LldpPort> port;
  std::vector<LldpElements> unknown;
  static void fields(auto&& field) {
    field("name", &LldpInterface::name);
    field("via", &LldpInterface::via);
    field("chassis", &LldpInterface::chassis);
    field("port", &LldpInterface::port);
    field("unknown-tlvs", &LldpInterface::unknown);
  }
};
struct LldpInterfaces {
  std::vector<LldpInterface> interfaces;
  static void fields(auto&& field) { field("interface", &LldpInterfaces::interfaces); }
};
struct LldpDocument {
  std::vector<LldpInterfaces> lldp;
  FIELDS(LldpDocument, lldp);
};

std::string first_value(const std::vector<LldpValue>& values) {
  return values.empty() ? std::string() : values.front().value.substr(0, kLongestHost);
}

// Returns the priorities with PFC; nullopt if the neighbour sends none. IEEE 802.1Qaz, D.2.10: a byte of
// flags, then one bit for each priority that has PFC.
std::optional<std::vector<int>> lossless_of(const LldpInterface& neighbour) {
  for (const LldpElements& list : neighbour.unknown)
    for (const LldpElement& element : list.elements) {
      const auto bytes = split(element.value, ',');
      if (element.oui != "00,80,C2" || element.subtype != "11" || bytes.size() != 2) continue;
      const auto bits = parse_number<unsigned>(bytes[1], 16);
      if (!bits) continue;
      std::vector<int> priorities;
      for (int priority = 0; priority < 8; ++priority)
        if ((*bits >> priority & 1U) != 0) priorities.push_back(priority);
      return priorities;
    }
  return std::nullopt;
}

LldpNeighbour neighbour_of(const LldpInterface& heard) {
  LldpNeighbour neighbour;
  neighbour.interface = heard.name;
  if (!heard.chassis.empty()) {
    neighbour.chassis = first_value(heard.chassis.front().id);
    neighbour.name = first_value(heard.chassis.front().name);
  }
  if (!heard.port.empty()) {
    neighbour.port = first_value(heard.port.front().id);
    const auto size = parse_number<int>(first_value(heard.port.front().mfs));
    if (size && *size > 0) neighbour.max_frame = size;
  }
  neighbour.lossless = lossless_of(heard);
  return neighbour;
}

}  // namespace

Reading<std::vector<LldpNeighbour>> collect_lldp(Host& host) {
  return run_and_read(host, {"lldpcli", "-f", "json0", "show", "neighbors", "details"})
      .parsed([](const std::string& text) -> std::optional<std::vector<LldpNeighbour>> {
        const auto document = json::read<LldpDocument>(text);
        if (!document) return std::nullopt;
        std::vector<LldpNeighbour> neighbours;
        for (const LldpInterfaces& list : document->lldp)
          for (const LldpInterface& heard : list.interfaces)
            if (heard.via == "LLDP" && is_device_name(heard.name, kLongestInterface) &&
                neighbours.size() < kMostOfAKind)
              neighbours.push_back(neighbour_of(heard));
        return neighbours;
      });
}

}  // namespace railbed
