// The outputs of commands that a report holds, found by the words that were run.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

struct Output {
  std::vector<std::string> words;  // "lspci", "-nnvv"
  std::string text;
  double when = 0;  // Unix seconds at which it was written; 0 where it is not known
};

class Outputs {
 public:
  void add(Output output) { all_.push_back(std::move(output)); }
  // Those of a program, in the order in which they were added.
  std::vector<const Output*> of(std::string_view program) const;
  // The first whose flags, without dashes and in any order, are one of these: {"q", "query"}.
  const Output* find(std::string_view program, const std::vector<std::string_view>& flags) const;
  bool empty() const { return all_.empty(); }

 private:
  std::vector<Output> all_;
};

// "lspci_-nnvv", "lspci-vvv.txt", "nvidia-smi-q.txt", "ip_-d_a", "dmesg.log" → the words that were run;
// nothing where no program is meant that railbed reads.
std::vector<std::string> words_of_name(std::string_view file_name);
// "/usr/bin/nvidia-smi --query", "dmesg:" → likewise.
std::vector<std::string> words_of_command(std::string_view line);

// What follows the program, without dashes, in one word: {"ip", "-d", "address"} → "daddress".
std::string flags_of(const std::vector<std::string>& words);

}  // namespace railbed
