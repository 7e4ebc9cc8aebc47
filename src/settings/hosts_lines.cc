#include "settings/hosts_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace railbed {
namespace {

bool is_in_domain(std::string_view full, std::string_view name) {
  return full.size() > name.size() && full[name.size()] == '.' &&
         lower(full.substr(0, name.size())) == lower(name);
}

}  // namespace

std::string name_meant(std::string_view word, std::string_view node) {
  if (word == "{{hostname}}" || word == "${hostname}") return std::string(node);
  if (word == "{{fqdn}}" || word == "${fqdn}") return std::string(node) + ".fqdn";
  return std::string(word);
}

bool is_line_of_hosts(std::string_view line) {
  return line.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-_{}$ ") ==
         std::string_view::npos;
}

void HostsTable::add(std::string_view name, const IpAddress& address) {
  addresses_[lower(name)].push_back(address);
}

const std::vector<IpAddress>* HostsTable::find(std::string_view name) const {
  const auto found = addresses_.find(lower(name));
  return found == addresses_.end() ? nullptr : &found->second;
}

bool HostsTable::contradicts(std::string_view name, const IpAddress& address) const {
  const std::vector<IpAddress>* const wanted = find(name);
  if (wanted == nullptr || std::ranges::find(*wanted, address) != wanted->end()) return false;
  return address.is_loopback() || std::ranges::any_of(*wanted, [&](const IpAddress& right) {
           return right.is_v4() == address.is_v4();
         });
}

std::string HostsTable::corrected_line(std::string_view line, std::string_view node) const {
  const auto columns = words(line.substr(0, line.find('#')));
  const auto address = columns.size() < 2 ? std::nullopt : IpAddress::parse(columns.front());
  if (!address) return std::string(line);
  std::vector<std::string> names;
  for (std::size_t i = 1; i < columns.size(); ++i) names.push_back(name_meant(columns[i], node));
  const auto is_wrong = [&](const std::string& name) { return contradicts(name, *address); };
  const auto first = std::ranges::find_if(names, is_wrong);
  if (first == names.end()) return std::string(line);
  const std::string owner = *first;
  const std::vector<IpAddress>& wanted = *find(owner);
  const bool is_of_one = std::ranges::all_of(names, [&](const std::string& name) {
    return lower(name) == lower(owner) || (find(name) == nullptr && is_in_domain(name, owner));
  });
  const auto offset = [&](std::string_view word) {
    return static_cast<std::size_t>(word.data() - line.data());
  };
  std::string text(line);
  if (is_of_one && wanted.size() == 1)
    return text.replace(offset(columns.front()), columns.front().size(), wanted.front().to_text());
  if (std::ranges::all_of(names, is_wrong)) return "# " + text;
  for (std::size_t i = names.size(); i > 0; --i) {
    if (!is_wrong(names[i - 1])) continue;
    // The white space before the name goes with it.
    const std::size_t begin = offset(columns[i - 1]) + columns[i - 1].size();
    text.erase(begin, offset(columns[i]) + columns[i].size() - begin);
  }
  return text;
}

std::string HostsTable::corrected(std::string_view lines, std::string_view node) const {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    text += corrected_line(lines.substr(0, end), node);
    if (end < lines.size()) text += '\n';
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return text;
}

}  // namespace railbed
