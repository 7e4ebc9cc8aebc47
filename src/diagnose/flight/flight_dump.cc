// Both forms become one tree of values, from which the known members are taken; all others are ignored. Of the stack
// of a call, only one frame is kept: the first that lies outside PyTorch, since that is the line which a user knows.
#include "diagnose/flight/flight_dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "diagnose/flight/pickle.h"

namespace railbed::diagnose {
namespace {

using Value = PickleTree::Value;
using Kind = PickleTree::Kind;

constexpr std::size_t kMostFlightGroups = 4096;
// The most calls of one dump. PyTorch keeps 2,000 by default.
constexpr std::size_t kMostFlightCalls = 1 << 17;
constexpr std::size_t kMostFlightRanks = 1 << 17;
constexpr std::size_t kMostTextBytes = 256;

// Adds a JSON value and all below it. Numbers with a fraction, of which no verdict makes use, become kNone.
PickleTree::Id add_json(PickleTree& tree, const json::Value& value) {
  Value made;
  if (value.is_boolean()) {
    made.kind = Kind::kBool;
    made.integer = value.get<bool>();
  } else if (value.is_string()) {
    made.kind = Kind::kText;
    made.text = value.get<std::string>();
  } else if (value.is_number_integer()) {
    made.kind = Kind::kInteger;
    made.integer = value.get<std::int64_t>();
  } else if (value.is_array()) {
    made.kind = Kind::kList;
    for (const json::Value& element : value) made.items.push_back(add_json(tree, element));
  } else if (value.is_object()) {
    made.kind = Kind::kDictionary;
    for (const auto& [key, member] : value.items()) {
      made.items.push_back(tree.add({.kind = Kind::kText, .text = key}));
      made.items.push_back(add_json(tree, member));
    }
  }
  return tree.add(std::move(made));
}

std::string clean(const Value& value) {
  return printable(std::string_view(value.text).substr(0, value.kind == Kind::kText ? kMostTextBytes : 0));
}

// Returns "[1024, 5], [8]" for a list of shapes.
std::string shapes_text(const PickleTree& tree, const Value& list) {
  constexpr std::size_t kMostShown = 8;
  std::vector<std::string> shapes;
  for (const PickleTree::Id id : list.items) {
    if (shapes.size() == kMostShown) {
      shapes.push_back(fmt::format("and {} more", list.items.size() - kMostShown));
      break;
    }
    std::vector<std::int64_t> sizes;
    for (const PickleTree::Id size : tree.at(id).items)
      if (sizes.size() < kMostShown) sizes.push_back(PickleTree::integer_of(tree.at(size), -1));
    shapes.push_back(fmt::format("[{}]", fmt::join(sizes, ", ")));
  }
  return fmt::format("{}", fmt::join(shapes, ", "));
}

std::string types_text(const PickleTree& tree, const Value& list) {
  std::vector<std::string> types;
  for (const PickleTree::Id id : list.items)
    if (std::string type = clean(tree.at(id));
        std::ranges::find(types, type) == types.end() && types.size() < 4)
      types.push_back(std::move(type));
  return fmt::format("{}", fmt::join(types, ", "));
}

// Returns the innermost frame outside PyTorch as "train.py:88 (step)"; else the innermost one; else nothing.
std::string user_frame(const PickleTree& tree, const Value& frames) {
  constexpr std::string_view kOwn[] = {"/torch/",    "/torch_", "torch/csrc", "??",
                                       "/pybind11/", "<frozen", "/python3"};
  std::string innermost;
  for (const PickleTree::Id id : frames.items) {
    const Value& frame = tree.at(id);
    const std::string file = clean(tree.member(frame, "filename"));
    if (file.empty()) continue;
    const std::string text =
        fmt::format("{}:{} ({})", file, PickleTree::integer_of(tree.member(frame, "line"), 0),
                    clean(tree.member(frame, "name")));
    if (innermost.empty()) innermost = text;
    if (std::ranges::none_of(kOwn,
                             [&](std::string_view part) { return file.find(part) != std::string::npos; }))
      return text;
  }
  return innermost;
}

FlightState state_of(const Value& value) {
  if (value.text == "completed") return FlightState::kCompleted;
  return value.text == "started" ? FlightState::kStarted : FlightState::kScheduled;
}

// Versions before 2 have "seq_id" for both kinds of calls, and no "is_p2p".
FlightCall call_of(const PickleTree& tree, const Value& entry) {
  FlightCall call;
  call.operation = clean(tree.member(entry, "profiling_name"));
  if (const auto colon = call.operation.find(':'); colon != std::string::npos)
    call.operation.erase(0, colon + 1);
  const std::int64_t old = PickleTree::integer_of(tree.member(entry, "seq_id"), 0);
  call.point_to_point = PickleTree::integer_of(tree.member(entry, "is_p2p"), 0) != 0 ||
                        call.operation.starts_with("send") || call.operation.starts_with("recv");
  call.number = PickleTree::integer_of(
      tree.member(entry, call.point_to_point ? "p2p_seq_id" : "collective_seq_id"), old);
  call.state = state_of(tree.member(entry, "state"));
  call.created_ns = PickleTree::integer_of(tree.member(entry, "time_created_ns"), 0);
  call.timeout_ms = PickleTree::integer_of(tree.member(entry, "timeout_ms"), 0);
  call.sizes = fmt::format("{} -> {}", shapes_text(tree, tree.member(entry, "input_sizes")),
                           shapes_text(tree, tree.member(entry, "output_sizes")));
  call.types = fmt::format("{} -> {}", types_text(tree, tree.member(entry, "input_dtypes")),
                           types_text(tree, tree.member(entry, "output_dtypes")));
  call.where = user_frame(tree, tree.member(entry, "frames"));
  return call;
}

// Parses "[0, 1, 2]".
std::vector<int> ranks_in(std::string_view text) {
  std::vector<int> ranks;
  while (!text.empty() && ranks.size() < kMostFlightRanks) {
    const auto digit = text.find_first_of("0123456789");
    if (digit == std::string_view::npos) break;
    text.remove_prefix(digit);
    const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
    if (const auto rank = parse_number<int>(text.substr(0, end))) ranks.push_back(*rank);
    text.remove_prefix(end);
  }
  return ranks;
}

// The groups of a dump by their names.
class Groups {
 public:
  FlightGroup* of(const std::string& name, const std::string& description) {
    const auto [at, added] = places_.try_emplace(name, groups_.size());
    if (added && groups_.size() >= kMostFlightGroups) return nullptr;
    if (added) groups_.push_back({name, description, {}, {}});
    FlightGroup& group = groups_[at->second];
    if (group.description.empty()) group.description = description;
    return &group;
  }
  std::vector<FlightGroup> take() { return std::move(groups_); }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<FlightGroup> groups_;
};

void add_config(Groups& groups, const PickleTree& tree, const Value& config) {
  for (std::size_t i = 0; i + 1 < config.items.size(); i += 2) {
    const Value& about = tree.at(config.items[i + 1]);
    if (about.kind != Kind::kDictionary) continue;
    const Value& ranks = tree.member(about, "ranks");
    FlightGroup* group = groups.of(clean(tree.at(config.items[i])), clean(tree.member(about, "desc")));
    if (group == nullptr) return;
    group->ranks = ranks_in(ranks.text);
    for (const PickleTree::Id id : ranks.items)
      if (group->ranks.size() < kMostFlightRanks)
        group->ranks.push_back(static_cast<int>(PickleTree::integer_of(tree.at(id), 0)));
  }
}

void add_entries(FlightDump& dump, Groups& groups, const PickleTree& tree, const Value& entries) {
  std::size_t count = 0;
  for (const PickleTree::Id id : entries.items) {
    const Value& entry = tree.at(id);
    if (entry.kind != Kind::kDictionary || ++count > kMostFlightCalls) continue;
    const Value& names = tree.member(entry, "process_group");
    std::string name = names.items.empty()
                           ? fmt::format("{}", PickleTree::integer_of(tree.member(entry, "pg_id"), 0))
                           : clean(tree.at(names.items[0]));
    FlightGroup* group = groups.of(name, names.items.size() > 1 ? clean(tree.at(names.items[1])) : "");
    if (group == nullptr) continue;
    group->calls.push_back(call_of(tree, entry));
    if (group->calls.back().operation.empty()) {
      group->calls.pop_back();  // names no call
      continue;
    }
    const Value& started = tree.member(entry, "time_discovered_started_ns");
    dump.records_starts = dump.records_starts || group->calls.back().state == FlightState::kStarted ||
                          PickleTree::integer_of(started, 0) > 0;
  }
}

// Calls that were coalesced keep the state "scheduled" for ever: only the entry that ends them, of the same number, is
// updated. They take its state, and it goes where it has such calls.
void resolve_coalesced(FlightGroup& group) {
  constexpr std::string_view kEnd = "coalesced";
  std::vector<FlightCall> ends;
  std::ranges::copy_if(group.calls, std::back_inserter(ends),
                       [&](const FlightCall& call) { return call.operation == kEnd; });
  for (const FlightCall& end : ends) {
    bool any = false;
    for (FlightCall& call : group.calls)
      if (call.operation != kEnd && call.number == end.number && call.point_to_point == end.point_to_point) {
        call.state = end.state;
        any = true;
      }
    if (any)
      std::erase_if(group.calls, [&](const FlightCall& call) {
        return call.operation == kEnd && call.number == end.number &&
               call.point_to_point == end.point_to_point;
      });
  }
}

// Drops what no verdict needs: of the completed calls all but the last collective and the last transfer.
void forget_completed(FlightGroup& group) {
  std::array<std::int64_t, 2> last = {-1, -1};
  for (const FlightCall& call : group.calls)
    if (call.state == FlightState::kCompleted)
      last[call.point_to_point] = std::max(last[call.point_to_point], call.number);
  std::erase_if(group.calls, [&](const FlightCall& call) {
    return call.state == FlightState::kCompleted && call.number < last[call.point_to_point];
  });
}

// Returns the number at the end of a file's name, before its endings.
int rank_in(std::string_view file) {
  file = file.substr(0, file.find('.'));
  const auto last = file.find_last_not_of("0123456789");
  return parse_number<int>(last == std::string_view::npos ? file : file.substr(last + 1)).value_or(-1);
}

}  // namespace

bool may_be_flight_dump(std::string_view head) {
  if (is_pickle(head)) return head[2] == '}' || head.find("version") != std::string_view::npos;
  const auto first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && head[first] == '{' &&
         (head.find("\"pg_config\"") != std::string_view::npos ||
          head.find("\"entries\"") != std::string_view::npos ||
          head.find("\"collective_seq_id\"") != std::string_view::npos);
}

Result<FlightDump> read_flight_dump(std::string_view bytes, std::string_view file) {
  PickleTree tree;
  if (is_pickle(bytes)) {
    ASSIGN_OR_RETURN(tree, read_pickle(bytes));
  } else {
    ASSIGN_OR_RETURN(const json::Value document, json::parse(bytes));
    tree.root = add_json(tree, document);
  }
  const Value& root = tree.at(tree.root);
  const Value& config = tree.member(root, "pg_config");
  const Value& entries = tree.member(root, "entries");
  if (entries.kind != Kind::kList && config.kind != Kind::kDictionary)
    return fail(ErrorKind::kBadInput, "not a dump of PyTorch's flight recorder: it has no \"entries\"");
  FlightDump dump;
  dump.rank = rank_in(file);
  dump.file = file;
  dump.version = clean(tree.member(root, "version"));
  dump.nccl = clean(tree.member(root, "nccl_version"));
  if (dump.nccl.empty()) dump.nccl = clean(tree.member(root, "comm_lib_version"));
  Groups groups;
  add_config(groups, tree, config);
  add_entries(dump, groups, tree, entries);
  dump.groups = groups.take();
  for (FlightGroup& group : dump.groups) {
    resolve_coalesced(group);
    forget_completed(group);
  }
  return dump;
}

}  // namespace railbed::diagnose
