// Parses the page of sysinfo-snapshot.py 3.3 to 3.7 (Mellanox/linux-sysinfo-snapshot, html_write_paragraph). Each
// output is "<h2>COMMAND</h2><p>TEXT</p>", with "<br/>" for the end of a line and four "&nbsp;" for a tab.
#include "host/support/sysinfo_snapshot.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "host/support/bug_report.h"
#include "host/support/pasted.h"

namespace railbed {
namespace {

constexpr std::size_t kHead = 4096;

// Returns the text of HTML that has no tags but <p>, <br/> and the like in it.
std::string plain_text(std::string_view html) {
  constexpr std::pair<std::string_view, std::string_view> kMarks[] = {
      {"<br/>", "\n"}, {"<br>", "\n"}, {"&nbsp;&nbsp;&nbsp;&nbsp;", "\t"},
      {"&nbsp;", " "}, {"&lt;", "<"},  {"&gt;", ">"},
      {"&amp;", "&"},  {"<p>", ""},    {"</p>", ""}};
  std::string text;
  while (!html.empty()) {
    const auto next = html.find_first_of("<&");
    text += html.substr(0, next);
    if (next == html.npos) break;
    html.remove_prefix(next);
    const auto mark =
        std::ranges::find_if(kMarks, [&](const auto& one) { return html.starts_with(one.first); });
    const bool known = mark != std::end(kMarks);
    text += known ? mark->second : html.substr(0, 1);
    html.remove_prefix(known ? mark->first.size() : 1);
  }
  return text;
}

void add_section(std::string_view title, std::string text, ReportTree& report, Outputs& outputs) {
  if (is_copied_file(title))
    return text.find("No such file") == text.npos ? report.copy(title, std::move(text)) : void();
  Output output = output_of_command(title);
  if (output.words.empty()) return;
  if (output.words == std::vector<std::string>{"uname"})
    output.words.emplace_back("-a");  // as the script calls it
  output.text = std::move(text);
  outputs.add(std::move(output));
}

}  // namespace

bool is_sysinfo_snapshot(std::string_view text) {
  return text.substr(0, kHead).find("Driver System Information Snapshot Utility") != text.npos &&
         text.substr(0, kHead).find("<html>") != text.npos;
}

void read_sysinfo_snapshot(std::string_view text, ReportTree& report, Outputs& outputs) {
  constexpr std::string_view kBegins = "<h2>";
  constexpr std::string_view kEnds = "</h2>";
  constexpr std::size_t kMostSections = 2000;
  auto at = text.find(kBegins);
  for (std::size_t count = 0; at != text.npos && count < kMostSections; ++count) {
    const auto from = at + kBegins.size();
    const auto end = text.find(kEnds, from);
    if (end == text.npos) return;
    at = text.find(kBegins, end);
    auto content = text.substr(end + kEnds.size(), at == text.npos ? at : at - end - kEnds.size());
    content = content.substr(0, content.find("</p><a name="));  // of the next section
    add_section(text.substr(from, end - from), plain_text(content), report, outputs);
  }
}

void add_beside_sysinfo_snapshot(Output output, Outputs& outputs) {
  if (output.words.size() == 2 && output.words[0] == "lspci" && !output.words[1].starts_with('-'))
    output.words[1].insert(0, "-");
  outputs.add(std::move(output));
}

}  // namespace railbed
