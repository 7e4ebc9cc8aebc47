#include "cli/usage_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns the error of these words; empty if they can be typed.
std::string error_of(std::vector<const char*> words) {
  Action action;
  const auto app = build_app(action);
  words.insert(words.begin(), "railbed");
  const int argc = static_cast<int>(words.size());
  try {
    app->parse(argc, words.data());
  } catch (const CLI::ParseError& error) {
    return usage_error_text(*app, error, argc, words.data());
  }
  return "";
}

bool has_command(const CLI::App& above, std::string_view name) {
  return std::ranges::any_of(above.get_subcommands({}),
                             [&](const CLI::App* below) { return below->get_name() == name; });
}

TEST(UsageError, LeadsFromWordsOfOtherProgramsToCommands) {
  Action action;
  const auto app = build_app(action);
  for (const OtherWord& one : other_words()) {
    const bool root = one.above == "railbed";
    const CLI::App* above = root ? app.get() : app->get_subcommand(std::string(one.above));
    EXPECT_FALSE(has_command(*above, one.word)) << one.word;
    if (one.command.empty()) continue;
    EXPECT_TRUE(has_command(*above, one.command)) << one.command;
  }
  EXPECT_EQ(error_of({"doctor"}), "no command \"doctor\", did you mean \"verify\"?\nSee: railbed --help");
  EXPECT_THAT(error_of({"bench", "NCCL", "a"}),
              HasSubstr("no command \"NCCL\", did you mean \"collectives\"?"));
  EXPECT_THAT(error_of({"runs", "list"}), HasSubstr("`railbed runs` alone does that"));
}

TEST(UsageError, ShowsTheOrderOfArguments) {
  EXPECT_EQ(
      error_of({"bench", "tcp", "a", "b", "c"}),
      "\"c\" is one word too many\nUsage: railbed bench tcp [OPTIONS] A B\nSee: railbed bench tcp --help");
  EXPECT_THAT(error_of({"power", "c.yaml", "status"}),
              HasSubstr("\nUsage: railbed power [OPTIONS] ACTION cluster.yaml"));
  EXPECT_THAT(error_of({"bench", "tcp", "--streams", "x", "a", "b"}), Not(HasSubstr("Usage:")));
}

TEST(UsageError, NamesShortOptionsThatAreNone) {
  EXPECT_THAT(error_of({"verify", "-j"}), HasSubstr("no option -j"));
  EXPECT_THAT(error_of({"-x"}), HasSubstr("no option -x"));
}

TEST(UsageError, RefusesEmptyValues) {
  for (const auto& words : std::vector<std::vector<const char*>>{{"verify", "--root", ""},
                                                                 {"verify", ""},
                                                                 {"check", ""},
                                                                 {"bench", "tcp", "a", ""},
                                                                 {"runs", "show", ""}})
    EXPECT_THAT(error_of(words), HasSubstr("the value is empty: is a variable of the shell not set?"));
  EXPECT_EQ(error_of({"launch", "torchrun", "c.yaml", "--", "train.py", "--name", ""}), "");
  EXPECT_EQ(error_of({"job", "begin", "--id", ""}), "");
  EXPECT_EQ(error_of({"nccl", "--ras"}), "");
}

}  // namespace
}  // namespace railbed
