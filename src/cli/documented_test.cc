// Every command that the documents and the manual print can be typed: its words are parsed, and nothing is
// run. CHANGELOG's commands are those of their time. tests/docs_test.py runs those that need neither hardware
// nor another machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <regex>

#include "base/files.h"
#include "base/text.h"
#include "cli/app.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

struct Documented {
  std::string place;
  std::string command;  // without "railbed"
  bool whole = true;    // in a block of code; else within a sentence, where arguments may be left out
};

// Returns the arguments that a shell would pass to the first command of railbed in a line: "sudo railbed
// verify | tee x  # comment".
std::string command_in(std::string line) {
  static const std::regex kBegin(
      R"(^\s*(\$ )?((sudo|srun|mpirun|watch|exec) ([^|;&]*\s)?)?(ExecStart=)?(/usr/bin/env )?([/~][^\s=]*/)?railbed\s+)");
  static const std::regex kEnd(R"(\s+(#|\||&&|\|\||;|>|2>|<|& )|\s{3,}|;|\s*$)");
  std::smatch found;
  if (!std::regex_search(line, found, kBegin)) return "";
  line = found.suffix();
  if (std::regex_search(line, found, kEnd)) line = found.prefix();
  return line;
}

// True if the command holds a placeholder, which a person replaces.
bool has_placeholder(const std::string& command) {
  static const std::regex kPlaceholder(R"((^|[ =/])[A-Z][A-Z_]+|(^| )[A-Z]( |$)|…|\.\.\.|[\[\]{}<>`]|\(|\$)");
  return std::regex_search(command, kPlaceholder);
}

void add(std::vector<Documented>& all, const std::string& place, const std::string& line, bool whole) {
  const std::string command = command_in(line);
  const bool asks = command.find("-K") != std::string::npos;  // parsing it would ask for a password
  if (!command.empty() && !has_placeholder(command) && !asks) all.push_back({place, command, whole});
}

void add_page(std::vector<Documented>& all, const fs::path& page, const std::string& text) {
  static const std::regex kSpan("`(railbed [^`]*)`");
  bool in_block = false;
  std::string before;  // a line that goes on
  for (const std::string_view view : lines(text)) {
    std::string line = before + std::string(view);
    before.clear();
    if (trim(view).starts_with("```")) in_block = !in_block;
    if (in_block && line.ends_with('\\')) {
      before = line.substr(0, line.size() - 1);
      continue;
    }
    if (in_block) add(all, page.filename(), line, true);
    if (!in_block)
      for (std::sregex_iterator one(line.begin(), line.end(), kSpan), end; one != end; ++one)
        add(all, page.filename(), (*one)[1], false);
  }
}

void add_manual(std::vector<Documented>& all, const fs::path& page, std::string text) {
  text = std::regex_replace(text, std::regex(R"(\\-)"), "-");
  for (const std::string_view line : lines(text))
    if (line.starts_with("railbed ")) add(all, page.filename(), std::string(line), true);
}

std::vector<Documented> documented() {
  const fs::path root = RAILBED_SOURCE_DIR;
  std::vector<Documented> all;
  for (const char* page : {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"})
    add_page(all, root / page, *read_file(root / page));
  for (const char* folder : {"docs", "bench", "tests"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.path().extension() == ".md") add_page(all, entry.path(), *read_file(entry.path()));
  add_manual(all, root / "man/railbed.1", *read_file(root / "man/railbed.1"));
  return all;
}

// Returns why the program would refuse the command; empty if it would not.
std::string refused(const Documented& documented) {
  Action action;
  const auto app = build_app(action);
  try {
    app->parse(documented.command);
  } catch (const CLI::CallForHelp&) {
  } catch (const CLI::CallForVersion&) {
  } catch (const CLI::RequiredError& error) {  // a span may leave words out, and has no wrong ones
    if (documented.whole || app->remaining_size(true) > 0) return error.what();
  } catch (const CLI::ArgumentMismatch& error) {  // an option that is named without its value
    if (documented.whole) return error.what();
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(Documented, EveryCommandCanBeTyped) {
  const auto all = documented();
  EXPECT_GT(all.size(), 200U);
  for (const Documented& documented : all)
    EXPECT_EQ(refused(documented), "") << documented.place << ": railbed " << documented.command;
}

TEST(Documented, ACommandIsFoundAmongTheWordsOfAShell) {
  EXPECT_EQ(command_in("sudo railbed verify --all | tee x"), "verify --all");
  EXPECT_EQ(command_in("railbed bench tcp a b   # why"), "bench tcp a b");
  EXPECT_EQ(command_in("ExecStart=/usr/local/bin/railbed verify --prom"), "verify --prom");
  EXPECT_EQ(command_in("ExecStart=/usr/bin/env railbed verify --prom"), "verify --prom");
  EXPECT_EQ(command_in("exec /usr/local/bin/railbed verify --slurm"), "verify --slurm");
  EXPECT_EQ(command_in("RAILBED=/usr/bin/railbed bench/peers/tcp"), "");
  EXPECT_EQ(command_in("railbed nccl --running      all of them"), "nccl --running");
  EXPECT_EQ(command_in("apt install railbed"), "");
  EXPECT_NE(refused({"", "verify --nonsense"}), "");
  EXPECT_NE(refused({"", "nonsense", false}), "");
  EXPECT_NE(refused({"", "bench nonsense", false}), "");
  EXPECT_EQ(refused({"", "bench", false}), "");
}

}  // namespace
}  // namespace railbed
