// The table of commands. A new command is a file here and a row below.
#include "cli/command.h"

namespace railbed {
namespace {

constexpr Command kCommands[] = {
    {"verify", "what is wrong with this machine or cluster, and how to mend it", declare_verify},
    {"prove", "verify, measure between neighbours, and write one page that shows it all", declare_prove},
    {"tour", "a sick cluster of two composed machines, shown in two minutes", declare_tour},
    {"monitor", "this machine, watched: what Prometheus scrapes", declare_monitor},
    {"plan", "what would change on which node to make it what cluster.yaml says", declare_plan},
    {"apply", "make a plan true on all its nodes, or on none", declare_apply},
    {"fix", "make what answers the findings of verify, and verify again", declare_fix},
    {"rollback", "back to what was before an apply", declare_rollback},
    {"history", "the applies that nodes remember", declare_history},
    {"render", "the files that cluster.yaml asks for, without asking a node", declare_render},
    {"report", "the page of what was captured and measured before, without asking a node", declare_report},
    {"bench", "measure networks, storage and training steps, beside what the hardware allows", declare_bench},
    {"compare", "whether one benchmark run is worse than another", declare_compare},
    {"runs", "the history of benchmark runs", declare_runs},
    {"power", "what BMCs say of their nodes' power, and turn it on or off", declare_power},
    {"boot", "what nodes boot from the next time", declare_boot},
    {"sensors", "what BMCs measure: temperatures, fans, power supplies", declare_sensors},
    {"sel", "what BMCs remember: their event logs", declare_sel},
    {"console", "nodes' serial consoles over the network, for you or for the record", declare_console},
    {"bmc", "the BMCs themselves: what they are, their serial rate and passwords", declare_bmc},
    {"identify", "the light that finds a machine in a rack", declare_identify},
    {"init", "look at live hosts and write a first cluster.yaml", declare_init},
    {"hostkeys", "the nodes' ssh host keys, for comparing, and into known_hosts", declare_hostkeys},
    {"check", "validate a cluster.yaml and say what it describes", declare_check},
    {"advise", "what to buy and how to wire it: rails, switches, NVIDIA's technologies, with reasons",
     declare_advise},
    {"predict", "what a cluster should give, by arithmetic: collectives, latency, contention, training", declare_predict},
    {"autoinstall", "what the installer of a bare machine reads", declare_autoinstall},
    {"facts", "what this machine is: everything the rules know, as text or JSON", declare_facts},
    {"watch", "a fleet on one live page: rails, GPUs, what is wrong and since when", declare_watch},
    {"top", "what is watched, in a terminal: faults, rails, GPUs, what happened", declare_top},
    {"events", "what a monitor saw come and go on this machine, and what had changed before", declare_events},
    {"fabric", "an InfiniBand subnet: its cables against a plan, its errors, its manager", declare_fabric},
    {"capture", "pack what railbed reads of this machine into one file", declare_capture},
    {"rules", "list every rule that verify applies", declare_rules},
    {"explain", "what a rule or an Xid means, and what to do", declare_explain},
    {"nccl", "lint NCCL variables, predict its choices, explain its log", declare_nccl},
    {"launch", "the exact commands that start a job on all nodes, over the right networks", declare_launch},
    {"self-check", "what this program is, and which libraries and programs it misses here", declare_self_check},
    {"agent", "answer a controller on stdin and stdout; started by other commands", declare_agent},
    {"completion", "print a completion script for bash, zsh or fish", declare_completion},
};

}  // namespace

std::span<const Command> all_commands() { return kCommands; }

}  // namespace railbed
