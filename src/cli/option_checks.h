// What the value of an option may be, refused in words that say what to write instead.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class Option;
class Validator;
}  // namespace CLI

namespace railbed {

// Exactly one of these words. Help and completion show them.
CLI::Validator one_of(std::vector<std::string> words);
// The words of such an option; none of others.
std::vector<std::string> allowed_words(const CLI::Option& option);

// A number from `low` to `high`, both included.
CLI::Validator between(int low, int high);
CLI::Validator between(double low, double high);

// A node, and not the description of nodes, of which ssh would make a host; `instead` says what to write.
CLI::Validator no_description(std::string instead = "write the name of one of its nodes");

}  // namespace railbed
