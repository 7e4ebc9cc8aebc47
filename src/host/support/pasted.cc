#include "host/support/pasted.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "host/support/nvidia_smi.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

using Words = std::vector<std::string>;

// Commands whose output still holds after a filter has removed lines: what is missing in them stays unknown.
constexpr std::string_view kFilterable[] = {"dmesg", "journalctl", "lspci", "ipmitool"};

// A line of a terminal: "root@gpu01:~# ibstat", "[user@gpu01 ~]$ sudo lspci -vv", "$ dmesg -T".
struct Entry {
  std::string_view machine;  // "gpu01"; empty if the prompt names none
  std::string_view command;  // without sudo
};

// Returns nullopt if the line has no prompt.
std::optional<Entry> entry_in(std::string_view line) {
  const auto mark = line.find_first_of("#$%");
  if (mark == line.npos || mark + 2 >= line.size() || line[mark + 1] != ' ') return std::nullopt;
  const auto prompt = trim(line.substr(0, mark));
  const auto at = prompt.find('@');
  constexpr std::size_t kLongest = 200;
  if (!prompt.empty() && (prompt.size() >= kLongest || at == prompt.npos)) return std::nullopt;
  Entry entry;
  if (at != prompt.npos) {
    const auto rest = prompt.substr(at + 1);
    entry.machine = rest.substr(0, rest.find_first_of(": ]~"));
  }
  entry.command = trim(line.substr(mark + 2));
  constexpr std::string_view kSudo = "sudo ";
  if (entry.command.starts_with(kSudo)) entry.command = trim(entry.command.substr(kSudo.size()));
  return entry;
}

// Returns the outputs of a session; empty if the text does not begin with a prompt and a command that is known.
Result<std::vector<Output>> session_in(std::string_view name, std::string_view text) {
  constexpr std::size_t kMostOutputs = 256;
  std::vector<Output> outputs;
  std::string_view machine;
  bool wanted = false;
  for (const auto line : lines(text)) {
    if (const auto entry = entry_in(line)) {
      const auto where = entry->machine;
      if (!machine.empty() && !where.empty() && where != machine)
        return fail(
            ErrorKind::kBadInput,
            fmt::format(
                "{}: a session on {} and on {}: put the outputs of each machine into a file of its own", name,
                printable(machine), printable(where)));
      if (machine.empty()) machine = where;
      Output output = output_of_command(entry->command);
      wanted = !output.words.empty() && outputs.size() < kMostOutputs;
      if (wanted) outputs.push_back(std::move(output));
    } else if (wanted) {
      outputs.back().text.append(line).append("\n");
    } else if (outputs.empty() && !trim(line).empty()) {
      return std::vector<Output>();  // no session
    }
  }
  // Last, so that the output of `hostname` counts first.
  if (!outputs.empty() && !machine.empty()) outputs.push_back({{"hostname"}, std::string(machine), 0});
  return outputs;
}

bool draws_tree(const Words& words) { return words.size() > 1 && words[1].starts_with("-t"); }

// Returns true if the text begins where the command's whole output does: a list of PCI functions at the first of the
// first bus, a kernel's log at the boot.
bool begins_whole(const Words& words, std::string_view head) {
  if (words[0] == "lspci") {
    const bool is_record = head.starts_with("Slot:\t") || head.starts_with("Device:\t");
    const auto first = is_record ? head.substr(head.find('\t') + 1) : head;
    const auto address = first.substr(0, first.find_first_of(" \n"));
    return address == "00:00.0" || address == "0000:00:00.0" || draws_tree(words);
  }
  constexpr std::size_t kFirstLines = 4096;
  if (words[0] == "dmesg")
    return head.find("Linux version ") < kFirstLines || head.find("Booting Linux") < kFirstLines;
  return true;
}

// Returns true for what mlxconfig or mlxfwmanager prints, whose adapters are numbered.
bool is_adapter_text(std::string_view head) {
  const auto has = [&](std::string_view mark) { return head.find(mark) != head.npos; };
  return (head.starts_with("Device #1:") || head.starts_with("Querying Mellanox devices firmware")) &&
         (has("\nConfigurations:") || has("\n  PCI Device Name:"));
}

// Returns true for what `rdma link` prints, as text or JSON.
bool is_rdma_link(std::string_view head) {
  const auto first = head.substr(0, head.find('\n'));
  const auto parts = words(first.substr(0, 4096));
  const bool names_port =
      parts.size() > 3 && parts[1].find('/') != first.npos && first.find(" state ") != first.npos;
  return first.find("physical_state") != first.npos && (names_port || head.starts_with("[{\"ifindex\":"));
}

// Returns true for "mlx5_0 port 1 ==> ens1 (Up)", also below a line of dashes.
bool is_ibdev2netdev(std::string_view head) {
  if (const auto first = head.find_first_not_of("-\r\n"); first != head.npos) head.remove_prefix(first);
  const auto line = head.substr(0, std::min<std::size_t>(head.find('\n'), 4096));
  return line.find(" port ") != line.npos && line.find(" ==> ") != line.npos;
}

// Returns true for what uptime prints: " 12:00:00 up 33 days,  1:05,  2 users,  load average: 0.00, 0.01, 0.05".
bool is_uptime(std::string_view head) {
  const auto first = head.substr(0, std::min<std::size_t>(head.find('\n'), 256));
  const auto parts = words(first);
  return parts.size() > 4 && parts[1] == "up" && is_digit(parts[0][0]) &&
         first.find("load average") != first.npos;
}

// Returns true for what ethtool -m prints, whose first line states the module's kind.
bool is_module_text(std::string_view head) {
  const auto pair = key_value(head.substr(0, std::min<std::size_t>(head.find('\n'), 256)), ':');
  return pair && pair->first == "Identifier" && pair->second.starts_with("0x");
}

// Returns true for what mlxlink prints, also where a loop over the adapters printed a line above it.
bool is_mlxlink(std::string_view head) {
  constexpr std::size_t kLabel = 200;
  if (head.find("Physical state") == head.npos) return false;
  const auto found = lines(head.substr(0, 4096));
  for (std::size_t i = 0; i + 1 < found.size(); ++i) {
    if (static_cast<std::size_t>(found[i].data() - head.data()) > kLabel) break;
    if (trim(found[i]) == "Operational Info" && trim(found[i + 1]).starts_with("---")) return true;
  }
  return false;
}

// The same for mlxlink --json.
bool is_mlxlink_json(std::string_view head) {
  constexpr std::size_t kLabel = 200;
  const auto begin = head.starts_with('{') ? 0 : head.substr(0, kLabel).find("\n{");
  return begin != head.npos && head.find("\"Operational Info\"", begin) != head.npos;
}

// Returns the words of the command that printed a text; empty if it is none that railbed reads.
Words words_of_text(std::string_view text) {
  constexpr std::size_t kHead = 64 << 10;
  const auto head = text.substr(0, kHead);
  const auto has = [&](std::string_view mark) { return head.find(mark) != head.npos; };
  if (is_nvidia_smi_xml(head)) return {"nvidia-smi", "-q", "-x"};
  if (has("NVSMI LOG==")) return {"nvidia-smi", "-q"};
  if (is_nvidia_smi_table(head) || has("Failed to initialize NVML")) return {"nvidia-smi"};
  if (is_nvidia_topology(head))
    return has("CNS ") ? Words{"nvidia-smi", "topo", "-p2p"} : Words{"nvidia-smi", "topo"};
  if (head.starts_with("GPU 0: ") && has(": Replay Errors: ")) return {"nvidia-smi", "nvlink", "-e"};
  if (head.starts_with("GPU 0: ") && has("(UUID: "))
    return has("Link 0: ") || has("Nvlink") || has("NVLink") ? Words{"nvidia-smi", "nvlink", "-s"}
                                                             : Words{"nvidia-smi", "-L"};
  if (is_mlxlink(head)) return {"mlxlink"};
  if (is_mlxlink_json(head)) return {"mlxlink", "--json"};
  if (is_adapter_text(head)) {
    const std::string device = adapter_device_in(text);
    Words words{has("Configurations:") ? "mlxconfig" : "mlxfwmanager"};
    if (!device.empty()) words.insert(words.end(), {"-d", device});
    return words;
  }
  if (is_gdscheck(head)) return {"gdscheck", "-p"};
  if (const auto kind = dcgm_kind(head); !kind.empty()) {
    Words words{"dcgmi"};
    for (const auto word : railbed::words(kind)) words.emplace_back(word);
    return words;
  }
  if (const auto command = ipmitool_command(head); !command.empty()) {
    Words words{"ipmitool"};
    for (const auto word : railbed::words(command)) words.emplace_back(word);
    return words;
  }
  if (head.starts_with("CA '")) return {"ibstat"};
  if (head.starts_with("hca_id:")) return {"ibv_devinfo", "-v"};
  if (head.starts_with("Infiniband device '")) return {"ibstatus"};
  if (is_rdma_link(head)) return {"rdma", "link"};
  if (head.starts_with("DEV") && has("INDEX") && has("VER")) return {"show_gids"};
  if (is_ibdev2netdev(head)) return {"ibdev2netdev"};
  if (head.starts_with("Architecture:") && has("CPU(s):")) return {"lscpu"};
  if (head.starts_with("Linux ") && head.substr(0, head.find('\n')).ends_with(" GNU/Linux"))
    return {"uname", "-a"};
  if (is_uptime(head)) return {"uptime"};
  if (is_module_text(head)) return {"ethtool", "-m"};
  if (is_fec_text(head)) return {"ethtool", "--show-fec"};
  if (trim(head).starts_with("Local time: ") && has("Universal time: ")) return {"timedatectl"};
  if (has("\nkernel.osrelease = ") && has("\nkernel.hostname = ")) return {"sysctl", "-a"};
  if (head.starts_with("available: ") && has("node 0 cpus:")) return {"numactl", "--hardware"};
  if (head.starts_with("Module ") && has("Used by")) return {"lsmod"};
  if (head.starts_with("1: lo: <")) return {"ip", has("promiscuity") ? "-d" : "-s", "address"};
  if (const auto words = railbed::words(head.substr(0, head.find('\n')));
      words.size() == 3 && words[0] == "Settings" && words[2].ends_with(':'))
    return {"ethtool", std::string(words[2].substr(0, words[2].size() - 1))};
  if (!full_pci_address(head.substr(0, head.find(' '))).empty())
    return has("\n\tCapabilities: ") ? Words{"lspci", "-vv"} : Words{"lspci"};
  if (head.starts_with("Slot:\t") || (head.starts_with("Device:\t") && has("\nClass:\t")))
    return {"lspci", "-vmm"};
  if ((head.starts_with("-[") || head.starts_with("-+-[")) && is_lspci_tree(head)) return {"lspci", "-tv"};
  if (holds_kernel_log(head)) return {"dmesg"};
  return {};
}

// Returns true if a file's name counts and not its text: it states the flags, which a text does not. The text counts if
// it is visibly of another program ("rdma-trouble.txt" with a kernel's log), or if the name only begins like a command
// ("lspci.old.gpu01").
bool states_command(const Words& by_name, const Words& by_text) {
  if (by_name.empty()) return false;
  if (by_text.empty()) return true;
  const auto is_log = [](const Words& words) { return words[0] == "dmesg" || words[0] == "journalctl"; };
  if (is_log(by_name) && is_log(by_text)) return true;
  // ethtool prints which interface it is of.
  if (by_text[0] == "ethtool") return by_name == by_text;
  return by_name[0] == by_text[0] && (by_name.size() < 2 || !by_name[1].starts_with('.'));
}

}  // namespace

Output output_of_command(std::string_view command) {
  const auto pipe = command.find('|');
  Output output;
  output.words = words_of_command(command.substr(0, pipe));
  output.filtered = pipe != command.npos;
  // jq indents a document anew, or takes a part of it, which leaves a port's values whole.
  if (output.filtered && !output.words.empty() && trim(command.substr(pipe + 1)).starts_with("jq") &&
      (output.words[0] == "mlxlink" || output.words[0] == "mstlink"))
    output.filtered = false;
  if (output.filtered && !output.words.empty() &&
      std::ranges::find(kFilterable, output.words[0]) == std::end(kFilterable))
    output.words.clear();
  return output;
}

std::string command_shown_by(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  return fmt::format("{}",
                     fmt::join(words_of_text(without_colours(std::string(text.substr(0, 64 << 10)))), " "));
}

Result<std::vector<Output>> outputs_in(std::string_view name, std::string text) {
  text = without_colours(std::move(text));
  text.erase(0, std::min(text.find_first_not_of("\r\n"), text.size()));
  ASSIGN_OR_RETURN(auto session, session_in(name, text));
  if (!session.empty()) return session;
  Output output;
  output.words = words_of_name(name.substr(name.rfind('/') + 1));
  if (Words by_text = words_of_text(text); !states_command(output.words, by_text)) {
    if (by_text.empty()) return std::vector<Output>();
    output.words = std::move(by_text);
    output.filtered = !begins_whole(output.words, text);
  }
  output.text = std::move(text);
  std::vector<Output> outputs;
  outputs.push_back(std::move(output));
  return outputs;
}

}  // namespace railbed
