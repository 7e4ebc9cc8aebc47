// The table of commands. A new command is a file in this folder and a row below.
#include "cli/command.h"

namespace railbed {
namespace {

constexpr Command kCommands[] = {
    {"verify", "say what is wrong with this machine or cluster, and how to mend it", declare_verify},
    {"prove", "verify, measure between neighbours, and write one page that shows it all", declare_prove},
    {"tour", "show a sick cluster of two composed machines in two minutes", declare_tour},
    {"monitor", "watch this machine, and show Prometheus what it scrapes", declare_monitor},
    {"plan", "show what would change on which node to make it what cluster.yaml says", declare_plan},
    {"apply", "carry out a plan on all its nodes, or on none", declare_apply},
    {"fix", "mend what verify finds wrong, as far as settings can, and verify again", declare_fix},
    {"rollback", "take nodes back to what was before an apply", declare_rollback},
    {"history", "list the applies that nodes remember", declare_history},
    {"render", "print the files that cluster.yaml asks for, without asking a node", declare_render},
    {"report", "write the page of what was captured and measured before, without asking a node",
     declare_report},
    {"bench", "measure networks, storage and training steps, beside what the hardware allows", declare_bench},
    {"burn", "load GPUs for hours, compare every result, and name the wrong, the slow and the lost",
     declare_burn},
    {"compare", "say whether one benchmark run is worse than another", declare_compare},
    {"runs", "list, show and keep benchmark runs", declare_runs},
    {"power", "ask BMCs for their nodes' power, and turn it on or off", declare_power},
    {"boot", "set what nodes boot from the next time", declare_boot},
    {"sensors", "show what BMCs measure: temperatures, fans, power supplies", declare_sensors},
    {"sel", "show what BMCs remember: their event logs", declare_sel},
    {"console", "attach to nodes' serial consoles over the network, or record them", declare_console},
    {"bmc", "show the BMCs themselves, and set their serial rate and passwords", declare_bmc},
    {"identify", "turn on the light that finds a machine in a rack", declare_identify},
    {"init", "look at live hosts and write a first cluster.yaml", declare_init},
    {"hostkeys", "compare the nodes' ssh host keys, and add them to known_hosts", declare_hostkeys},
    {"check", "validate a cluster.yaml and say what it describes", declare_check},
    {"advise", "say what to buy and how to wire it: rails, switches, NVIDIA's technologies, with reasons",
     declare_advise},
    {"predict", "compute what a cluster should give: collectives, latency, contention, training",
     declare_predict},
    {"autoinstall", "print what the installer of a bare machine reads", declare_autoinstall},
    {"facts", "print what this machine is: everything the rules know, as text or JSON", declare_facts},
    {"watch", "show a fleet on one live page: rails, GPUs, what is wrong and since when", declare_watch},
    {"top", "show what is watched in a terminal: faults, rails, GPUs, what happened", declare_top},
    {"events", "list what a monitor saw come and go on this machine, and what had changed before",
     declare_events},
    {"fabric", "check an InfiniBand subnet: its cables against a plan, its errors, its manager",
     declare_fabric},
    {"capture", "pack what railbed reads of this machine into one file", declare_capture},
    {"rules", "list every rule that verify applies", declare_rules},
    {"explain", "name the cause of a failure, from logs and whatever else you have", declare_explain},
    {"nccl", "check NCCL's variables, predict its choices, explain its log", declare_nccl},
    {"launch", "print the exact commands that start a job on all nodes, over the right networks",
     declare_launch},
    {"self-check", "say what this program is, and which libraries and programs it misses here",
     declare_self_check},
    {"agent", "answer a controller on stdin and stdout; started by other commands", declare_agent},
    {"completion", "print a completion script for bash, zsh or fish", declare_completion},
};

}  // namespace

std::span<const Command> all_commands() { return kCommands; }

}  // namespace railbed
