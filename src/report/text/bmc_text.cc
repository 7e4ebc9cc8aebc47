#include "report/text/bmc_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace railbed {
namespace {

std::string severity_word(BmcSeverity severity, bool colour) {
  const std::string word(enum_names(BmcSeverity{})[static_cast<std::size_t>(severity)]);
  const std::string padded = fmt::format("{:<8}", word);
  if (!colour) return padded;
  if (severity == BmcSeverity::kCritical) return "\x1b[31m" + padded + "\x1b[0m";
  if (severity == BmcSeverity::kWarning) return "\x1b[33m" + padded + "\x1b[0m";
  return padded;
}

bool is_out_of_order(BmcSeverity severity) {
  return severity == BmcSeverity::kWarning || severity == BmcSeverity::kCritical;
}

template <class T>
std::string miss_text(const BmcFacts& node, const Reading<T>& reading) {
  return printable(node.error.empty() ? reading.miss().why : node.error);
}

std::string reading_text(const BmcSensor& sensor) {
  return sensor.reading ? fmt::format("{:g} {}", *sensor.reading, printable(sensor.units)) : "";
}

std::string limits_text(const BmcSensor& sensor) {
  if (sensor.lower_critical && sensor.upper_critical)
    return fmt::format("{:g} to {:g}", *sensor.lower_critical, *sensor.upper_critical);
  if (sensor.upper_critical) return fmt::format("at most {:g}", *sensor.upper_critical);
  if (sensor.lower_critical) return fmt::format("at least {:g}", *sensor.lower_critical);
  return "";
}

std::string sensor_line(const BmcSensor& sensor, std::size_t width, bool colour) {
  return fmt::format("  {}  {:<{}}  {:>12}  {:<14}  {}\n", severity_word(sensor.severity, colour),
                     printable(sensor.name), width, reading_text(sensor), limits_text(sensor),
                     printable(sensor.state));
}

template <class List, class Name>
std::size_t widest(const List& list, Name name) {
  std::size_t width = 0;
  for (const auto& one : list) width = std::max(width, (one.*name).size());
  return std::min<std::size_t>(width, 32);
}

}  // namespace

std::string sensors_text(const std::vector<BmcFacts>& nodes, const BmcTextOptions& options) {
  std::string text;
  const bool all = options.all || nodes.size() == 1;
  std::size_t quiet = 0;
  for (const BmcFacts& node : nodes) {
    if (!node.sensors.ok()) {
      text += fmt::format("{}: no answer: {}\n", node.node, miss_text(node, node.sensors));
      continue;
    }
    std::string table;
    const std::size_t width = widest(*node.sensors, &BmcSensor::name);
    for (const BmcSensor& sensor : *node.sensors)
      if (all || is_out_of_order(sensor.severity)) table += sensor_line(sensor, width, options.colour);
    if (table.empty())
      ++quiet;
    else
      text += fmt::format("{}\n{}", node.node, table);
  }
  if (quiet > 0) text += fmt::format("{} node{}: all sensors in order\n", quiet, quiet == 1 ? "" : "s");
  return text;
}

std::string events_text(const std::vector<BmcFacts>& nodes, const BmcTextOptions& options) {
  std::string text;
  for (const BmcFacts& node : nodes) {
    if (!node.events.ok()) {
      text += fmt::format("{}: no answer: {}\n", node.node, miss_text(node, node.events));
      continue;
    }
    std::vector<const BmcEvent*> events;
    for (const BmcEvent& event : *node.events)
      if (options.all || is_out_of_order(event.severity)) events.push_back(&event);
    const std::size_t more =
        options.most > 0 && events.size() > options.most ? events.size() - options.most : 0;
    events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(more));
    const std::size_t others = node.events->size() - events.size() - more;
    text +=
        fmt::format("{}: {} event{}{}\n", node.node, node.events->size(), node.events->size() == 1 ? "" : "s",
                    others == 0 ? "" : fmt::format(", {} of them in order", others));
    if (more > 0) text += fmt::format("  … {} older\n", more);
    for (const BmcEvent* event : events)
      text += fmt::format("  {}  {:<19}  {}: {}\n", severity_word(event->severity, options.colour),
                          event->time.empty() ? "no time" : printable(event->time), printable(event->sensor),
                          printable(event->event));
  }
  return text;
}

}  // namespace railbed
