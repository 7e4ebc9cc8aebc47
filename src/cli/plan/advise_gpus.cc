// railbed advise gpus: GPU models compared by their data sheets.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <functional>
#include <memory>

#include "base/fields.h"
#include "base/text.h"
#include "campaign/look/gather.h"
#include "campaign/look/technology_columns.h"
#include "cli/document.h"
#include "cli/option_checks.h"
#include "cli/plan/planning_commands.h"
#include "cli/terminal.h"
#include "hardware/gpu_product.h"
#include "hardware/gpu_sheet.h"
#include "report/text/gpu_sheets_text.h"

namespace railbed {
namespace {

struct GpusOptions {
  std::vector<std::string> models;  // a cluster.yaml may stand among them
  std::string root;
  std::vector<std::string> facts;
  std::string sort;
  bool json = false;
};

struct GpusOutput {
  std::vector<GpuSheet> gpus;
  FIELDS(GpusOutput, gpus);
};
constexpr Document<GpusOutput> kGpusDocument{"railbed-advise-gpus"};

// Models can be sorted by these; the most comes first.
struct SortKey {
  std::string_view word;
  double (*value)(const GpuSheet& sheet);
};
constexpr SortKey kSortKeys[] = {
    {"memory", [](const GpuSheet& sheet) { return double(sheet.memory_gb); }},
    {"bandwidth", [](const GpuSheet& sheet) { return sheet.memory_bandwidth; }},
    {"fp64",
     [](const GpuSheet& sheet) { return std::max(sheet.fp64.value_or(0), sheet.fp64_tensor.value_or(0)); }},
    {"fp32", [](const GpuSheet& sheet) { return sheet.fp32.value_or(0); }},
    {"tf32", [](const GpuSheet& sheet) { return sheet.tf32.value_or(0); }},
    {"bf16", [](const GpuSheet& sheet) { return sheet.bf16.value_or(0); }},
    {"fp16", [](const GpuSheet& sheet) { return sheet.fp16.value_or(0); }},
    {"fp8", [](const GpuSheet& sheet) { return sheet.fp8.value_or(0); }},
    {"fp4", [](const GpuSheet& sheet) { return sheet.fp4.value_or(0); }},
    {"int8", [](const GpuSheet& sheet) { return sheet.int8.value_or(0); }},
    {"nvlink", [](const GpuSheet& sheet) { return sheet.nvlink_bandwidth; }},
    {"watts", [](const GpuSheet& sheet) { return double(sheet.watts.value_or(0)); }},
};

std::vector<std::string> sort_words() {
  std::vector<std::string> words;
  for (const SortKey& key : kSortKeys) words.emplace_back(key.word);
  return words;
}

bool is_description(std::string_view word) { return word.ends_with(".yaml") || word.ends_with(".yml"); }

void add_sheet(std::vector<GpuSheet>& sheets, GpuSheet sheet) {
  const auto there = std::ranges::find(sheets, sheet.name, &GpuSheet::name);
  if (there == sheets.end()) return sheets.push_back(std::move(sheet));
  for (std::string& node : sheet.nodes)
    if (std::ranges::find(there->nodes, node) == there->nodes.end()) there->nodes.push_back(std::move(node));
}

// Returns the names of models and of lines ("V100") that have a sheet, for a suggestion.
std::vector<std::string_view> names_with_sheet() {
  std::vector<std::string_view> names = gpu_sheet_names();
  for (const GpuProduct& product : gpu_products())
    if (!product.series && !gpu_sheets(product.name).empty()) names.insert(names.begin(), product.name);
  return names;
}

// Returns the letters and digits of a name, sorted: those of a name in which some changed places.
std::string marks_of(std::string_view name) {
  std::string marks = lower(name);
  std::erase_if(marks, [](unsigned char c) { return std::isalnum(c) == 0; });
  std::ranges::sort(marks);
  return marks;
}

// A name with another number or, if it is short, with another letter is that of another product: B100 is no P100.
bool may_mean(const std::string& model, std::string_view name) {
  constexpr std::size_t kShort = 5;
  const auto digits = [](std::string text) {
    std::erase_if(text, [](char c) { return !is_digit(c); });
    return text;
  };
  const std::string marks = marks_of(model);
  const std::string others = marks_of(name);
  return marks.size() <= kShort ? marks == others : digits(marks) == digits(others);
}

Error no_sheet(const std::string& model) {
  constexpr std::size_t kMostNamed = 6;
  constexpr std::string_view kAll = "`railbed advise gpus` lists all";
  std::vector<std::string_view> near;
  std::vector<std::string_view> with;
  for (const std::string_view name : names_with_sheet())
    if (may_mean(model, name)) near.push_back(name);
  for (const std::string_view name : gpu_sheet_names())
    if (!trim(model).empty() && names_gpu(lower(name), lower(trim(model)))) with.push_back(name);
  const std::string shown = printable(model);
  if (!with.empty()) {
    const bool more = with.size() > kMostNamed;
    if (more) with.resize(kMostNamed);
    return {ErrorKind::kBadInput, fmt::format("\"{}\" alone is no model; {}{} have it in their names, and {}",
                                              shown, fmt::join(with, ", "), more ? " and others" : "", kAll)};
  }
  if (is_of_another_maker(model))
    return {
        ErrorKind::kBadInput,
        fmt::format("\"{}\" is of another maker, and only data sheets of NVIDIA are known; {}", shown, kAll)};
  const std::string meant = did_you_mean(model, near);
  return {ErrorKind::kBadInput, fmt::format("no data sheet of a GPU \"{}\" is known{} {}", shown,
                                            meant.empty() ? ";" : meant, kAll)};
}

Result<void> add_named(const std::string& model, std::vector<GpuSheet>& sheets) {
  const auto found = gpu_sheets(model);
  if (found.empty()) return fail(no_sheet(model));
  for (const GpuSheet& sheet : found) add_sheet(sheets, sheet);
  return {};
}

// Adds the GPUs of the nodes that the sources have; names those without a data sheet on stderr.
Result<void> add_of_nodes(const Sources& sources, std::vector<GpuSheet>& sheets) {
  ASSIGN_OR_RETURN(const auto evidence, read_sources(sources, say_to_person));
  for (const TechnologyColumn& column : technology_columns(evidence)) {
    if (column.stack.gpu.empty()) continue;
    auto found = gpu_sheets(column.stack.gpu);
    if (found.empty())
      print_to_stderr("railbed: no data sheet of \"{}\" is known ({} has it)\n", printable(column.stack.gpu),
                      printable(column.nodes.front()));
    if (found.size() > 1)
      print_to_stderr("railbed: \"{}\" of {} is the name of several products: each is shown\n",
                      printable(column.stack.gpu), printable(column.nodes.front()));
    for (GpuSheet& sheet : found) {
      if (found.size() == 1) sheet.nodes = column.nodes;
      add_sheet(sheets, std::move(sheet));
    }
  }
  if (sheets.empty())
    return fail(ErrorKind::kBadInput, "no node has, or is described with, a GPU whose data sheet is known");
  return {};
}

Result<std::vector<GpuSheet>> sheets_asked(const GpusOptions& options) {
  std::vector<GpuSheet> sheets;
  Sources sources;
  sources.root = options.root;
  sources.facts = options.facts;
  for (const std::string& word : options.models)
    if (is_description(word)) sources.cluster = word;
  if (!sources.cluster.empty() || !sources.root.empty() || !sources.facts.empty())
    RETURN_IF_ERROR(add_of_nodes(sources, sheets));
  for (const std::string& word : options.models)
    if (!is_description(word)) RETURN_IF_ERROR(add_named(word, sheets));
  if (sheets.empty())
    for (const std::string_view name : gpu_sheet_names()) add_sheet(sheets, gpu_sheets(name).front());
  for (const SortKey& key : kSortKeys)
    if (key.word == options.sort) std::ranges::stable_sort(sheets, std::greater(), key.value);
  return sheets;
}

int run_gpus(const GpusOptions& options) {
  const auto sheets = sheets_asked(options);
  if (!sheets) return report(sheets.error());
  const bool named = !options.models.empty() || !options.root.empty() || !options.facts.empty();
  if (options.json)
    print_document(kGpusDocument, GpusOutput{.gpus = *sheets});
  else
    fmt::print("{}", named ? gpu_sheets_text(*sheets) : gpu_list_text(*sheets));
  return kExitClean;
}

}  // namespace

Action declare_advise_gpus(CLI::App& app) {
  auto options = std::make_shared<GpusOptions>();
  app.add_option(
      "MODEL", options->models,
      "models to compare, or a cluster.yaml: the GPUs that it describes; without one, all in a list");
  auto* root =
      app.add_option("--root", options->root,
                     "the GPUs of captured machines: a folder like /, a .tree file, or a folder of them");
  app.add_option("--facts", options->facts, "the GPUs of facts that `railbed facts --json` printed")
      ->excludes(root);
  app.add_option(
         "--sort", options->sort,
         "the most comes first: memory, bandwidth, fp64, fp32, tf32, bf16, fp16, fp8, fp4, int8, nvlink, watts")
      ->check(one_of(sort_words()));
  add_json_flag(app, options->json, "print one JSON document", kGpusDocument);
  app.footer(
      "\nExamples:\n"
      "  railbed advise gpus                          all models, a line each\n"
      "  railbed advise gpus --sort bandwidth         those with the fastest memory first\n"
      "  railbed advise gpus V100-SXM2-32GB A100-SXM4-80GB L40S\n"
      "  railbed advise gpus cluster.yaml             the GPUs that it describes\n\n"
      "Figures are those of data sheets, without sparsity; what the maker does not publish is named so.\n"
      "docs/reference/advise.md");
  return [options] { return run_gpus(*options); };
}

}  // namespace railbed
