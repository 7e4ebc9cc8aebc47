// The table of commands. A new command is a file in a folder below this one and a row in its group.
#include "cli/command.h"

namespace railbed {
namespace {

constexpr std::string_view kStart = "Start here";
constexpr std::string_view kLook = "Look";
constexpr std::string_view kMeasure = "Measure";
constexpr std::string_view kChange = "Change";
constexpr std::string_view kWatch = "Watch";
constexpr std::string_view kPlan = "Plan and buy";
constexpr std::string_view kOutOfBand = "Out of band, by the nodes' BMCs";
constexpr std::string_view kOther = "For shells and for railbed itself";

// `railbed --help` prints the groups in the order in which they appear here.
constexpr Command kCommands[] = {
    {kStart, "tour", "show a sick cluster of two composed machines in two minutes", declare_tour},
    {kStart, "verify", "name what is wrong with this machine or cluster, and how to mend it", declare_verify},
    {kStart, "init", "look at live hosts and write a first cluster.yaml", declare_init},
    {kStart, "check", "validate a cluster.yaml and print what it describes", declare_check},
    {kStart, "plan", "show what would change on which node to make it what cluster.yaml describes",
     declare_plan},
    {kStart, "apply", "carry out a plan on all its nodes, or on none", declare_apply},
    {kStart, "fix", "mend what verify finds wrong, as far as settings can, and verify again", declare_fix},
    {kStart, "prove", "verify, measure between neighbours, and write one page that shows it all",
     declare_prove},
    {kStart, "explain", "name the cause of a failure, from logs and whatever else you have", declare_explain},
    {kStart, "watch", "show a fleet on one live page: rails, GPUs, what is wrong and since when",
     declare_watch},
    {kLook, "facts", "print what this machine is: everything the rules know, as text or JSON", declare_facts},
    {kLook, "nccl", "check NCCL's variables, predict its choices, explain its log", declare_nccl},
    {kLook, "fabric", "check an InfiniBand subnet: its cables against a plan, its errors, its manager",
     declare_fabric},
    {kLook, "report", "write the page of what was captured and measured before, without a node",
     declare_report},
    {kLook, "rules", "list every rule that verify applies", declare_rules},
    {kLook, "capture", "pack what railbed reads of this machine into one file", declare_capture},
    {kLook, "self-check", "show which libraries and programs railbed lacks on this machine",
     declare_self_check},
    {kMeasure, "bench", "measure networks, storage and training steps, beside what the hardware allows",
     declare_bench},
    {kMeasure, "burn", "load GPUs for hours, compare every result, and name the wrong, the slow and the lost",
     declare_burn},
    {kMeasure, "compare", "judge whether one benchmark run is worse than another", declare_compare},
    {kMeasure, "runs", "list, show and keep benchmark runs", declare_runs},
    {kChange, "rollback", "restore what was on the nodes before an apply", declare_rollback},
    {kChange, "history", "list the applies that nodes remember", declare_history},
    {kChange, "render", "print the files that cluster.yaml describes, without a node", declare_render},
    {kChange, "hostkeys", "compare the nodes' ssh host keys, and add them to known_hosts", declare_hostkeys},
    {kChange, "launch", "print the exact commands that start a job on all nodes, over the right networks",
     declare_launch},
    {kChange, "autoinstall", "print what the installer of a bare machine reads", declare_autoinstall},
    {kWatch, "monitor", "watch this machine, and serve its metrics to Prometheus", declare_monitor},
    {kWatch, "top", "show what is watched in a terminal: faults, rails, GPUs, what happened", declare_top},
    {kWatch, "events", "list what a monitor saw come and go on this machine, and what had changed before",
     declare_events},
    {kWatch, "job", "record a node before and after a job, and name what changed and whose fault it may be",
     declare_job},
    {kPlan, "advise", "advise what to buy and how to wire it: rails, switches, NVIDIA's technologies",
     declare_advise},
    {kPlan, "predict", "compute what a cluster should give: collectives, latency, contention, training",
     declare_predict},
    {kOutOfBand, "power", "show the power state of nodes, and turn them on or off", declare_power},
    {kOutOfBand, "boot", "set what nodes boot from the next time", declare_boot},
    {kOutOfBand, "sensors", "show what BMCs measure: temperatures, fans, power supplies", declare_sensors},
    {kOutOfBand, "sel", "show BMCs' event logs, or clear them", declare_sel},
    {kOutOfBand, "console", "attach to nodes' serial consoles over the network, or record them",
     declare_console},
    {kOutOfBand, "bmc", "show the BMCs themselves, and set their serial rate and passwords", declare_bmc},
    {kOutOfBand, "identify", "turn on the light that finds a machine in a rack", declare_identify},
    {kOther, "schema", "print the JSON Schema of a document that --json prints", declare_schema},
    {kOther, "completion", "print a completion script for bash, zsh or fish", declare_completion},
    {kOther, "agent", "answer a controller on stdin and stdout; started by other commands", declare_agent},
};

}  // namespace

std::span<const Command> all_commands() { return kCommands; }

}  // namespace railbed
