// Parses dcgmi diag and dcgmi health -c, each as JSON (-j) and as a table, and dcgmi nvlink -s, into the call "gpu-tests". The forms are those
// of DCGM's nvvs/json and dcgmi/Diag.cpp, dcgmi/Health.cpp:
//
//   3   {"DCGM GPU Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [{"name": "GPU Memory",
//         "results": [{"gpu_ids": "0,1", "status": "PASS"}, {"gpu_id": "2", "status": "Fail", "warnings": ["…"]}]}]}]}}
//   4   {"DCGM Diagnostic": {… "results": [{"entity_group": "GPU", "entity_id": 2, "status": "Fail",
//         "warnings": [{"error_severity": 2, "warning": "…"}]}], "test_summary": {"status": "Fail"}}}
//   health  {"body": {"Overall Health": {"value": "Healthy"}}, "header": ["Health Monitor Report"]}
//   | GPU Memory                | Fail - GPU 2                                   |
//   | Warning                   | GPU 2 …                                        |
//   nvlink  "    gpuId 0:" and below it "        U U D _": up, down, disabled (X), not supported (_)
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "host/sent_answers.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

constexpr std::string_view kDiag = "dcgmi diag";
constexpr std::string_view kHealth = "dcgmi health";
constexpr int kConfigSeverity = 5;  // DCGM_ERROR_CONFIG, dcgm_errors.h
constexpr int kMostGpuNumbers = 256;

std::string shown_text(std::string_view text) { return printable(trim(text).substr(0, kMostSentText)); }

// Returns our word for a status of any version: "PASS", "Pass", "Skipped", "Not Run", "Healthy"; else the word itself.
std::string status_word(std::string_view text) {
  const std::string word = lower(trim(text));
  constexpr std::pair<std::string_view, std::string_view> kStatuses[] = {
      {"pass", "pass"},     {"passed", "pass"},  {"healthy", "pass"},    {"fail", "fail"},
      {"failed", "fail"},   {"failure", "fail"}, {"warn", "warn"},       {"warning", "warn"},
      {"skip", "skip"},     {"skipped", "skip"}, {"not run", "not run"}, {"not_run", "not run"},
      {"notrun", "not run"}};
  for (const auto& [theirs, ours] : kStatuses)
    if (word == theirs) return std::string(ours);
  return shown_text(word);
}

bool is_status(std::string_view word) {
  return word == "pass" || word == "fail" || word == "warn" || word == "skip" || word == "not run";
}

// Returns the numbers in a text: "0,1,2", "GPUs: 0, 2".
std::vector<int> numbers_in(std::string_view text) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at < text.size() && numbers.size() < kMostGpuNumbers;) {
    if (!is_digit(text[at])) {
      ++at;
      continue;
    }
    const auto end = std::min(text.find_first_not_of("0123456789", at), text.size());
    if (const auto number = parse_number<int>(text.substr(at, end - at)); number && *number < kMostGpuNumbers)
      numbers.push_back(*number);
    at = end;
  }
  return numbers;
}

// Collects tests within bounds.
class TestList {
 public:
  explicit TestList(GpuTestsAnswer& answer) : answer_(answer) {}

  void add(GpuTestAnswer test) {
    if (answer_.tests.size() < kMostSentTests) answer_.tests.push_back(std::move(test));
  }
  void error(std::string_view text) {
    if (answer_.errors.size() >= kMostSentMessages) return;
    answer_.errors.push_back(trim(text).empty() ? "dcgmi states an error without a text" : shown_text(text));
  }

 private:
  GpuTestsAnswer& answer_;
};

void add_message(GpuTestAnswer& test, std::string_view text) {
  if (!trim(text).empty() && test.messages.size() < kMostSentMessages)
    test.messages.push_back(shown_text(text));
}

const json::Value* member(const json::Value& value, const char* key) {
  if (!value.is_object()) return nullptr;
  const auto at = value.find(key);
  return at == value.end() ? nullptr : &*at;
}

std::string text_of_value(const json::Value* value) {
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  return value->is_number_integer() ? std::to_string(value->get<std::int64_t>()) : "";
}

// Calls `visit` with each element of a list, or with the value itself if it is none.
template <class Visit>
void each_value(const json::Value* value, Visit&& visit) {
  if (value == nullptr || value->is_null()) return;
  if (!value->is_array()) return visit(*value);
  for (const json::Value& element : *value)
    if (!element.is_null()) visit(element);
}

// Adds the texts of "warnings" or "info", which are texts or objects with one.
void add_messages(GpuTestAnswer& test, const json::Value* values) {
  bool all_settings = true, any = false;
  each_value(values, [&](const json::Value& value) {
    any = true;
    const json::Value* severity = member(value, "error_severity");
    all_settings =
        all_settings && severity != nullptr && text_of_value(severity) == std::to_string(kConfigSeverity);
    const json::Value* text = value.is_object() ? member(value, "warning") : &value;
    add_message(test, text_of_value(text == nullptr ? member(value, "error") : text));
  });
  test.setting = any && all_settings;
}

// Returns the GPUs of a result; −1 alone if it is of all or of none.
std::vector<int> gpus_of_result(const json::Value& result) {
  std::vector<int> gpus;
  const json::Value* group = member(result, "entity_group");
  if (group == nullptr)
    for (const char* key : {"gpu_id", "gpu_ids"})
      for (const int gpu : numbers_in(text_of_value(member(result, key)))) gpus.push_back(gpu);
  else if (lower(text_of_value(group)) == "gpu")
    gpus = numbers_in(text_of_value(member(result, "entity_id")));
  if (gpus.empty()) gpus.push_back(-1);
  return gpus;
}

void add_result(const std::string& name, const json::Value& result, TestList& list) {
  GpuTestAnswer test{
      .program = std::string(kDiag), .name = name, .gpu = -1, .status = {}, .setting = false, .messages = {}};
  test.status = status_word(text_of_value(member(result, "status")));
  if (test.status.empty()) return;
  if (test.status != "pass") add_messages(test, member(result, "warnings"));
  if (test.status != "pass" && test.messages.empty()) add_messages(test, member(result, "info"));
  for (const int gpu : gpus_of_result(result)) {
    test.gpu = gpu;
    list.add(test);
  }
}

void add_test(const json::Value& value, TestList& list) {
  const std::string name = shown_text(text_of_value(member(value, "name")));
  if (name.empty()) return;
  const json::Value* results = member(value, "results");
  if (results != nullptr && results->is_array() && !results->empty())
    return each_value(results, [&](const json::Value& result) { add_result(name, result, list); });
  if (const json::Value* summary = member(value, "test_summary")) add_result(name, *summary, list);
}

void read_diag_json(std::string_view text, TestList& list) {
  const auto from = text.find('{');
  const auto to = text.rfind('}');
  if (from == text.npos || to == text.npos || to < from) return list.error("the output is cut off");
  const auto document = json::parse(text.substr(from, to - from + 1));
  if (!document) return list.error("the output is cut off, or no JSON");
  const json::Value* root = member(*document, "DCGM Diagnostic");
  if (root == nullptr) root = member(*document, "DCGM GPU Diagnostic");
  if (root == nullptr) return list.error("the output holds no diagnostic");
  for (const json::Value* place : {&*document, root})
    for (const char* key : {"runtime_error", "error", "global_errors"})
      each_value(member(*place, key), [&](const json::Value& error) {
        const json::Value* message = error.is_object() ? member(error, "error") : &error;
        list.error(text_of_value(message == nullptr ? member(error, "warning") : message));
      });
  each_value(member(*root, "test_categories"), [&](const json::Value& category) {
    each_value(member(category, "tests"), [&](const json::Value& test) { add_test(test, list); });
  });
}

// The two cells of a table's row; nullopt for a border or a line outside.
std::optional<std::pair<std::string_view, std::string_view>> row_in(std::string_view line) {
  if (!line.starts_with('|') || line.starts_with("|---") || line.starts_with("|===")) return std::nullopt;
  constexpr std::size_t kLongestLine = 4096;
  const auto parts = split(line.substr(0, kLongestLine), '|');
  if (parts.size() < 3) return std::nullopt;
  return std::pair(trim(parts[1]), trim(parts[2]));
}

bool is_about_the_run(std::string_view name) {
  return name == "Diagnostic" || name == "DCGM Version" || name.starts_with("Driver Version") ||
         name.starts_with("GPU Device IDs");
}

// Reads the table of a diagnostic, row by row.
class DiagTable {
 public:
  explicit DiagTable(TestList& list) : list_(list) {}

  void row(std::string_view name, std::string_view value) {
    if (is_about_the_run(name)) return;
    if (name.empty()) return continued(value);
    const bool remark = name.starts_with("Warning") || name.starts_with("Error") ||
                        name.starts_with("Info") || name.starts_with("GPU ") || name.starts_with("->");
    if (!remark || is_status(status_word(value.substr(0, value.find(" - "))))) return test(name, value);
    if (name.starts_with("Info") && !tests_.empty() && tests_.front().status == "pass") return;
    message(numbers_in(name), value);
  }
  void finish() {
    for (GpuTestAnswer& test : tests_) list_.add(std::move(test));
    tests_.clear();
  }

 private:
  // "Pass", "Pass - All", "Fail - GPU 2", "Skip - GPUs: 0, 1"
  void test(std::string_view name, std::string_view value) {
    const auto dash = value.find(" - ");
    const std::string status = status_word(value.substr(0, dash));
    if (!is_status(status)) return;
    finish();
    const auto where = dash == value.npos ? std::string_view() : value.substr(dash + 3);
    auto gpus = where.starts_with("GPU") ? numbers_in(where) : std::vector<int>();
    if (gpus.empty()) gpus.push_back(-1);
    for (const int gpu : gpus) add(name, gpu, status);
  }

  void add(std::string_view name, int gpu, std::string status) {
    tests_.push_back({.program = std::string(kDiag),
                      .name = shown_text(name),
                      .gpu = gpu,
                      .status = std::move(status),
                      .setting = false,
                      .messages = {}});
  }

  // "GPU1: Fail" below the row of a test, or more of a message.
  void continued(std::string_view value) {
    if (tests_.empty() || value.empty()) return;
    const auto colon = value.find(": ");
    const std::string status = colon == value.npos ? "" : status_word(value.substr(colon + 2));
    if (value.starts_with("GPU") && is_status(status) && parse_number<int>(value.substr(3, colon - 3))) {
      const std::string name = tests_.front().name;
      if (tests_.front().gpu < 0) tests_.clear();  // the summary of what follows
      return add(name, *parse_number<int>(value.substr(3, colon - 3)), status);
    }
    for (GpuTestAnswer& test : tests_) {
      if (test.status == "pass") continue;
      if (test.messages.empty())
        add_message(test, value);
      else if (test.messages.back().size() < kMostSentText)
        test.messages.back() += " " + shown_text(value);
    }
  }

  void message(const std::vector<int>& gpus, std::string_view value) {
    for (GpuTestAnswer& test : tests_)
      if (test.status != "pass" &&
          (gpus.empty() || test.gpu < 0 || std::ranges::find(gpus, test.gpu) != gpus.end()))
        add_message(test, value);
  }

  TestList& list_;
  std::vector<GpuTestAnswer> tests_;  // of the current name
};

bool ends_with_border(std::string_view text) {
  const auto all = lines(text);
  const auto last =
      std::find_if(all.rbegin(), all.rend(), [](std::string_view line) { return !trim(line).empty(); });
  return last != all.rend() && trim(*last).starts_with("+---");
}

void read_diag_table(std::string_view text, TestList& list) {
  DiagTable table(list);
  for (const auto line : lines(text)) {
    if (const auto row = row_in(trim(line))) table.row(row->first, row->second);
    if (line.starts_with("Error:")) list.error(line);
  }
  table.finish();
  if (text.find('|') != text.npos && !ends_with_border(text)) list.error("the table is cut off");
}

GpuTestAnswer health_test(std::string_view name, int gpu, std::string status) {
  return {.program = std::string(kHealth),
          .name = shown_text(name),
          .gpu = gpu,
          .status = std::move(status),
          .setting = false,
          .messages = {}};
}

// DCGM prints "Internal error" for a system whose name it does not know, too.
bool is_health_system(std::string_view name) {
  return name.ends_with(" system") || name == "Driver" || name == "Internal error";
}

// Reads "Overall Health" and, where something is wrong, the systems below each GPU: {"GPU": {"children": {"0": {"value":
// "Warning", "children": {"PCIe system": {"value": "Warning", …}}}}}}. Only the first has been seen in public.
class HealthTree {
 public:
  void walk(std::string_view name, const json::Value& value, int gpu, bool in_gpus, int depth = 0) {
    constexpr int kDeepest = 16;
    if (depth > kDeepest || !value.is_object()) return;
    const std::string status = status_word(text_of_value(member(value, "value")));
    if (name == "Overall Health") overall = status;
    if (const auto number = parse_number<int>(name); number && in_gpus && *number < kMostGpuNumbers)
      gpu = *number;
    if (is_health_system(name) && is_status(status) && tests.size() < kMostSentTests)
      tests.push_back(health_test(name, gpu, status));
    const json::Value* const children = member(value, "children");
    for (const auto& [key, child] :
         (children != nullptr && children->is_object() ? *children : value).items())
      walk(key, child, gpu, in_gpus || name == "GPU", depth + 1);
  }

  std::string overall;
  std::vector<GpuTestAnswer> tests;
};

void read_health_json(std::string_view text, TestList& list) {
  const auto document = json::parse(text);
  const json::Value* const body = document ? member(*document, "body") : nullptr;
  if (body == nullptr) return list.error("the output is no JSON: it may be cut off");
  HealthTree tree;
  tree.walk("", *body, -1, false);
  if (tree.tests.empty() && !tree.overall.empty()) list.add(health_test("overall health", -1, tree.overall));
  for (GpuTestAnswer& test : tree.tests) list.add(std::move(test));
}

// Reads the form of DCGM 1: "| Group 1 | Overall Health: Warning |", or "| Overall Health:   Healthy |", then
// "| GPU ID: 3 | Warning |" and below that "|  | Memory system: Warning - A pending retired page |" and the rest of the
// message.
void read_first_health(std::string_view text, TestList& list) {
  constexpr std::string_view kOverall = "Overall Health:";
  const auto status_of = [](std::string_view word) {  // "Error" is DCGM 1's word for a failure
    return trim(word) == "Error" ? std::string("fail") : status_word(word);
  };
  std::vector<GpuTestAnswer> tests;
  std::string overall;
  int gpu = -1;
  for (const auto line : lines(text)) {
    if (!trim(line).starts_with('|')) continue;
    if (const auto at = line.find(kOverall); at != line.npos) {
      overall = status_of(line.substr(at + kOverall.size(), line.find('|', at) - at - kOverall.size()));
      continue;
    }
    const auto row = row_in(trim(line));
    if (!row) continue;
    if (row->first.starts_with("GPU ID:"))
      gpu = parse_number<int>(trim(row->first.substr(7))).value_or(-1);
    else if (!row->first.empty())
      gpu = -1;
    const auto colon = row->second.find(": ");
    const auto dash = row->second.find(" - ", colon == row->second.npos ? 0 : colon);
    const auto name = row->second.substr(0, colon);
    if (colon != row->second.npos && is_health_system(name)) {
      GpuTestAnswer test = health_test(name, gpu, status_of(row->second.substr(colon + 2, dash - colon - 2)));
      if (dash != row->second.npos) add_message(test, row->second.substr(dash + 3));
      if (is_status(test.status)) tests.push_back(std::move(test));
    } else if (row->first.empty() && !tests.empty() && !tests.back().messages.empty() &&
               tests.back().messages.back().size() < kMostSentText) {
      tests.back().messages.back() += " " + shown_text(row->second);
    }
  }
  if (tests.empty() && is_status(overall)) tests.push_back(health_test("overall health", -1, overall));
  if (!ends_with_border(text)) list.error("the table is cut off");
  for (GpuTestAnswer& test : tests) list.add(std::move(test));
}

// Reads "| Overall Health | Warning |", "| GPU |", "| -> 0 | Warning |", "| -> PCIe system | Warning |" and below that
// the message.
void read_health(std::string_view text, TestList& list) {
  std::vector<GpuTestAnswer> tests;
  std::string overall;
  int gpu = -1;
  bool in_gpus = false;
  for (const auto line : lines(text)) {
    if (line.starts_with("Error:")) list.error(line);
    const auto row = row_in(trim(line));
    if (!row) continue;
    auto name = row->first;
    while (name.starts_with("->")) name = trim(name.substr(2));
    if (name == "Overall Health") overall = status_word(row->second);
    if (row->second.empty() && !row->first.starts_with("->")) in_gpus = name == "GPU";
    if (const auto number = parse_number<int>(name)) gpu = in_gpus ? *number : -1;
    if (is_health_system(name) && is_status(status_word(row->second)))
      tests.push_back(health_test(name, gpu, status_word(row->second)));
    else if (name.empty() && !tests.empty() && tests.back().messages.empty())
      add_message(tests.back(), row->second);
    else if (name.empty() && !tests.empty() && tests.back().messages.back().size() < kMostSentText)
      tests.back().messages.back() += " " + shown_text(row->second);
  }
  if (!overall.empty() && tests.empty()) tests.push_back(health_test("overall health", -1, overall));
  if (!overall.empty() && !ends_with_border(text)) list.error("the table is cut off");
  for (GpuTestAnswer& test : tests) list.add(std::move(test));
}

// The NVLinks of a GPU by dcgmi nvlink -s.
struct LinkStates {
  int gpu = 0;
  std::size_t up = 0, all = 0;  // up or down; others are not there
  std::size_t disabled = 0;
  std::string down;  // their numbers
};

std::vector<LinkStates> link_states(std::string_view text) {
  std::vector<LinkStates> gpus;
  bool below_gpu = false;
  for (const auto line : lines(text)) {
    const auto trimmed = trim(line);
    constexpr std::string_view kGpu = "gpuId ";
    if (trimmed.starts_with(kGpu) && trimmed.ends_with(':')) {
      const auto number = parse_number<int>(trimmed.substr(kGpu.size(), trimmed.size() - kGpu.size() - 1));
      below_gpu = number && *number >= 0 && *number < kMostGpuNumbers && gpus.size() < kMostGpuNumbers;
      if (below_gpu) gpus.push_back({.gpu = *number, .up = 0, .all = 0, .down = ""});
      continue;
    }
    const auto states = words(trimmed);
    const bool is_row = below_gpu && !states.empty() && states.size() <= kMostGpuNumbers &&
                        std::ranges::all_of(states, [](std::string_view state) {
                          return state.size() == 1 && std::string_view("UDX_").find(state[0]) != state.npos;
                        });
    below_gpu = false;
    if (!is_row) continue;
    LinkStates& last = gpus.back();
    for (std::size_t link = 0; link < states.size(); ++link) {
      if (states[link] == "U") ++last.up;
      if (states[link] == "X") ++last.disabled;
      if (states[link] == "U" || states[link] == "D") ++last.all;
      if (states[link] == "D") last.down += (last.down.empty() ? "" : ", ") + std::to_string(link);
    }
  }
  return gpus;
}

// A GPU of which some links are up and others down has a fault, the more so beside one whose links are all up. Where all
// of a GPU's are down, it may as well be a PCIe card without a bridge.
void read_nvlinks(std::string_view text, TestList& list) {
  const auto gpus = link_states(text);
  const bool whole =
      std::ranges::any_of(gpus, [](const LinkStates& gpu) { return gpu.all > 0 && gpu.up == gpu.all; });
  std::string dark;
  for (const LinkStates& gpu : gpus) {
    if (gpu.up == 0 && whole && gpu.all + gpu.disabled > 0) {
      // A card without a bridge beside two that have one is the same to see.
      GpuTestAnswer test{.program = "dcgmi nvlink",
                         .name = "NVLinks",
                         .gpu = gpu.gpu,
                         .status = "warn",
                         .setting = false,
                         .messages = {}};
      add_message(test, gpu.all > 0 ? "none is up, beside GPUs whose are: a fault, or a card without a bridge"
                                    : "all are disabled, beside GPUs whose are up");
      list.add(std::move(test));
      continue;
    }
    if (gpu.all > 0 && gpu.up == 0) {
      dark += (dark.empty() ? "" : ", ") + std::to_string(gpu.gpu);
      continue;
    }
    const bool sound = gpu.up == gpu.all;
    GpuTestAnswer test{.program = "dcgmi nvlink",
                       .name = "NVLinks",
                       .gpu = gpu.gpu,
                       .status = gpu.all == 0 ? "skip"
                                 : sound      ? "pass"
                                 : whole      ? "fail"
                                              : "warn",
                       .setting = false,
                       .messages = {}};
    if (!sound) add_message(test, "down: " + gpu.down);
    list.add(std::move(test));
  }
  if (!dark.empty())
    list.error(
        "all NVLinks are down of GPU " + dark +
        ": a fault of SXM modules and of bridged cards (look at nvidia-fabricmanager and the kernel log), and how "
        "PCIe cards without a bridge are");
}

}  // namespace

std::string_view dcgm_kind(std::string_view text) {
  const auto head = text.substr(0, 64 << 10);
  const auto has = [&](std::string_view mark) { return head.find(mark) != head.npos; };
  if (has("\"DCGM Diagnostic\"") || has("\"DCGM GPU Diagnostic\"")) return "diag";
  if (has("Health Monitor Report") && (has("| Overall Health") || has("\"Overall Health\""))) return "health";
  if (has("NvLink Link Status") && has("gpuId ")) return "nvlink";
  if (has("| NVLINK Error Counts ")) return "nvlink -e";
  if (has("| Topology Information ") && has("| CPU Core Affinity ")) return "topo";
  // kubectl and pod managers print a line or two before.
  constexpr std::size_t kBefore = 512;
  const bool table =
      head.starts_with("+---") || head.substr(0, kBefore).find("Successfully ran diagnostic") != head.npos;
  if (table && has("| Diagnostic ") && has("| Result ")) return "diag";
  // A part that begins at the border of a section: "+-----  Integration  -------+---…".
  constexpr std::string_view kSections[] = {"Deployment", "Integration", "Hardware", "Stress"};
  const auto first = head.substr(0, head.find('\n'));
  const bool part = first.starts_with("+-----  ") && head.find("\n| ") != head.npos &&
                    std::ranges::any_of(kSections, [&](std::string_view section) {
                      return first.substr(8).starts_with(std::string(section) + "  -");
                    });
  return part ? "diag" : "";
}

void add_gpu_tests(const std::vector<std::string_view>& texts, ReportTree& report) {
  GpuTestsAnswer answer;
  TestList list(answer);
  for (const auto text : texts) {
    const std::size_t before = answer.tests.size() + answer.errors.size();
    const auto kind = dcgm_kind(text);
    if (kind == "nvlink")
      read_nvlinks(text, list);
    else if (kind == "health" && trim(text).starts_with('{'))
      read_health_json(text, list);
    else if (kind == "health" && text.find("Overall Health:") != text.npos)
      read_first_health(text, list);
    else if (kind == "health")
      read_health(text, list);
    else if (text.find("DCGM Diagnostic\"") != text.npos || text.find("DCGM GPU Diagnostic\"") != text.npos)
      read_diag_json(text, list);
    else
      read_diag_table(text, list);
    if (answer.tests.size() + answer.errors.size() == before) list.error("the output holds no result");
  }
  if (!texts.empty()) report.call("gpu-tests", json::dump(json::encode(answer)));
}

}  // namespace railbed
