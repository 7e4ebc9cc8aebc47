// Checks of the values of options. A refusal states what to write instead.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class Option;
class Validator;
}  // namespace CLI

namespace railbed {

// Accepts exactly one of these words. Help and completion show them.
CLI::Validator one_of(std::vector<std::string> words);
// Returns the words of an option with one_of(); empty for others.
std::vector<std::string> allowed_words(const CLI::Option& option);

// Accepts a number from `low` to `high`, both included.
CLI::Validator between(int low, int high);
CLI::Validator between(double low, double high);

// Accepts a node, but not a description of nodes, which ssh would take for a host; `instead` states what to
// write.
CLI::Validator no_description(std::string instead = "write the name of one of its nodes");

}  // namespace railbed
