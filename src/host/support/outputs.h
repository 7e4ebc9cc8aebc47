// The outputs of commands in a report, found by the words of the command.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

struct Output {
  std::vector<std::string> words;  // "lspci", "-nnvv"
  std::string text;
  double when = 0;  // time of writing in Unix seconds, by an archive; 0 if unknown
  // A filter or a person may have cut it: what it lacks is unknown, not absent.
  bool filtered = false;
};

// Returns the words, separated by spaces: "lspci -nnvv".
std::string command_of(const Output& output);

// Removes the terminal's control sequences, which nvidia-smi topo and mlxlink print into files as well.
std::string without_colours(std::string text);

class Outputs {
 public:
  void add(Output output);
  // Returns the outputs of a program in the order in which they were added.
  std::vector<const Output*> of(std::string_view program) const;
  // Returns the first output whose flags, joined without dashes, equal one of these, which are tried in
  // order: {"q", "query"}. Null if there is none.
  const Output* find(std::string_view program, const std::vector<std::string_view>& flags) const;
  const std::vector<Output>& all() const { return all_; }
  bool empty() const { return all_.empty(); }

 private:
  std::vector<Output> all_;
};

// Returns the names of the programs whose output railbed reads.
std::span<const std::string_view> readable_programs();
// Returns what precedes the program in a file name that holds one: "gpu01" for "gpu01_lspci-vvv.txt". Empty if nothing does.
std::string_view before_program(std::string_view file_name);
// Returns the words of the command that a file name stands for: "lspci_-nnvv", "lspci-vvv.txt",
// "nvidia-smi-q.txt", "ip_-d_a", "dmesg.log". Empty if it is not a program whose output railbed reads.
std::vector<std::string> words_of_name(std::string_view file_name);
// The same for a command line: "/usr/bin/nvidia-smi --query", "dmesg:".
std::vector<std::string> words_of_command(std::string_view line);

// Returns the words after the program, without dashes, joined: {"ip", "-d", "address"} → "daddress".
std::string flags_of(const std::vector<std::string>& words);

}  // namespace railbed
