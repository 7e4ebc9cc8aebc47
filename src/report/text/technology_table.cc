#include "report/text/technology_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "hardware/gpu_product.h"
#include "report/text/hostlist.h"

namespace railbed {
namespace {

constexpr std::size_t kGridColumns = 6;  // these fit beside each other in 110 columns
constexpr std::size_t kGridNameWidth = 24;
constexpr std::size_t kGridCellWidth = 15;

std::string_view support_word(TechnologySupport support) {
  return enum_names(support)[static_cast<std::size_t>(support)];
}

// Returns A, B, …, Z, AA, …
std::string column_letter(std::size_t index) {
  const std::string last(1, static_cast<char>('A' + index % 26));
  return index < 26 ? last : column_letter(index / 26 - 1) + last;
}

std::string describe_stack(const TechnologyStack& stack) {
  std::vector<std::string> parts = {stack.gpu.empty() ? "no GPU" : stack.gpu};
  if (const GpuProduct* gpu = find_gpu_product(stack.gpu))
    parts.back() +=
        fmt::format(" ({} {}.{})", enum_names(gpu->architecture)[static_cast<std::size_t>(gpu->architecture)],
                    gpu->capability / 10, gpu->capability % 10);
  parts.push_back(stack.adapters.empty() ? "no adapter"
                                         : fmt::format("{}", fmt::join(stack.adapters, " + ")));
  if (!stack.os.empty()) parts.push_back(stack.os);
  return printable(fmt::format("{}", fmt::join(parts, ", ")));
}

std::string column_title(const TechnologyColumn& column) {
  const std::string what = describe_stack(column.stack);
  return column.nodes.empty() ? what : fmt::format("{}: {}", what, listed_hosts(column.nodes));
}

// Numbered sources, in the order in which they first appear.
class SourceList {
 public:
  std::size_t number_of(const std::string& source) {
    const auto found = std::ranges::find(sources_, source);
    if (found != sources_.end()) return static_cast<std::size_t>(found - sources_.begin()) + 1;
    sources_.push_back(source);
    return sources_.size();
  }
  const std::vector<std::string>& all() const { return sources_; }

 private:
  std::vector<std::string> sources_;
};

// Columns with the same cell for a technology.
struct SharedCell {
  const TechnologyCell* cell;
  std::string letters;
};

std::vector<SharedCell> shared_cells(const std::vector<TechnologyColumn>& columns, std::size_t row) {
  std::vector<SharedCell> groups;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const TechnologyCell& cell = columns[i].cells[row];
    const auto same = std::ranges::find_if(groups, [&](const SharedCell& group) {
      return group.cell->support == cell.support && group.cell->reason == cell.reason &&
             group.cell->source == cell.source;
    });
    if (same == groups.end())
      groups.push_back({&cell, column_letter(i)});
    else
      same->letters += ", " + column_letter(i);
  }
  return groups;
}

std::string broken_lines(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out(indent, ' ');
  std::size_t used = indent;
  for (const std::string_view word : words(text)) {
    if (used > indent && used + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    }
    if (used > indent) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
  }
  return out + "\n";
}

std::string grid(const std::vector<TechnologyColumn>& columns, std::size_t first) {
  const std::size_t end = std::min(columns.size(), first + kGridColumns);
  std::string text = "\n" + std::string(kGridNameWidth, ' ');
  for (std::size_t i = first; i < end; ++i) text += fmt::format("{:<{}}", column_letter(i), kGridCellWidth);
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
  for (std::size_t row = 0; row < columns[first].cells.size(); ++row) {
    std::string line = fmt::format("{:<{}}", columns[first].cells[row].technology, kGridNameWidth);
    for (std::size_t i = first; i < end; ++i)
      line += fmt::format("{:<{}}", support_word(columns[i].cells[row].support), kGridCellWidth);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string reasons(const std::vector<TechnologyColumn>& columns, std::size_t width, SourceList& sources) {
  std::string text;
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    text += fmt::format("\n{}\n", columns.front().cells[row].technology);
    for (const auto& [cell, letters] : shared_cells(columns, row)) {
      text += broken_lines(printable(fmt::format("{}: {}: {} [{}]", letters, support_word(cell->support),
                                                 cell->reason, sources.number_of(cell->source))),
                           width, 2);
      if (!cell->to_tell.empty())
        text += broken_lines(printable("what would tell: " + cell->to_tell), width, 5);
    }
  }
  return text;
}

// Escapes a cell of a table in Markdown: "|" would end it, and text from a node may hold HTML.
std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (std::string_view("|\\`*_<>[]").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string technology_text(const std::vector<TechnologyColumn>& columns, std::size_t width) {
  if (columns.empty()) return "Nothing is known of any node.\n";
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i)
    text += fmt::format("{}  {}\n", column_letter(i), column_title(columns[i]));
  for (std::size_t first = 0; first < columns.size(); first += kGridColumns) text += grid(columns, first);
  SourceList sources;
  text += reasons(columns, width, sources);
  text += "\nSources\n";
  for (std::size_t i = 0; i < sources.all().size(); ++i)
    text += broken_lines(fmt::format("[{}] {}", i + 1, sources.all()[i]), width, 2);
  return text;
}

std::string technology_markdown(const std::vector<TechnologyColumn>& columns) {
  if (columns.empty()) return "Nothing is known of any node.\n";
  SourceList sources;
  std::string text = "| technology |";
  std::string rule = "|---|";
  for (const TechnologyColumn& column : columns) {
    text += fmt::format(" {} |", markdown_cell(column_title(column)));
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    text += fmt::format("| {} |", columns.front().cells[row].technology);
    for (const TechnologyColumn& column : columns) {
      const TechnologyCell& cell = column.cells[row];
      text += fmt::format(" **{}**: {}{} \\[{}\\] |", support_word(cell.support), markdown_cell(cell.reason),
                          cell.to_tell.empty() ? "" : "; tells: " + markdown_cell(cell.to_tell),
                          sources.number_of(cell.source));
    }
    text += '\n';
  }
  text += '\n';
  for (std::size_t i = 0; i < sources.all().size(); ++i)
    text += fmt::format("{}. {}\n", i + 1, markdown_cell(sources.all()[i]));
  return text;
}

}  // namespace railbed
