// Nodes as their BMCs show them, powered on or not, and faults of the BMCs themselves.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/shell.h"
#include "base/text.h"
#include "facts/log/kernel_console.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

std::string file_of(const Survey& survey) {
  return survey.evidence.cluster.file.empty() ? "cluster.yaml" : survey.evidence.cluster.file;
}
ShellCommand railbed_line(const Survey& survey, const ShellCommand& what, const std::string& node) {
  return command("railbed {} {} {}", what, file_of(survey), node);
}

// Calls look(Case&, const std::string& node, const BmcFacts&) on every BMC in the evidence.
template <class Look>
void each_bmc(const Survey& survey, Judge& judge, std::string_view subject, const Things& touches,
              const Look& look) {
  for (const auto& [node, facts] : survey.evidence.bmcs) {
    Case verdict = judge.on_node(node, std::string(subject), touches);
    look(verdict, node, facts);
  }
}
// Like each_bmc(), but a BMC that did not respond ends as not applicable.
template <class Look>
void each_answering(const Survey& survey, Judge& judge, std::string_view subject, const Look& look) {
  each_bmc(survey, judge, subject, {"bmc"},
           [&](Case& verdict, const std::string& node, const BmcFacts& facts) {
             if (!facts.error.empty()) return verdict.not_applicable("the BMC was not asked: " + facts.error);
             look(verdict, node, facts);
           });
}

// Returns true if the value was requested. Monitoring requests fewer values each minute than a check of the
// BMC.
template <class T>
bool was_asked(const Reading<T>& reading) {
  return reading.ok() || !reading.from().empty();
}

void bmc_reachable(const Survey& survey, Judge& judge) {
  each_bmc(survey, judge, "BMC", {"bmc"}, [&](Case& verdict, const std::string& node, const BmcFacts& facts) {
    verdict.seen(facts.power);
    if (facts.power.ok()) return verdict.pass("answers");
    if (facts.power.from().empty())  // no request was possible, or none was made
      return facts.error.empty() ? verdict.not_applicable("not asked") : verdict.unknown(facts.error);
    const bool refused = facts.power.miss().missing == Missing::kDenied;
    const bool stranger = facts.protocol == "redfish" && facts.error.find("certificate") != std::string::npos;
    verdict.fail(
        {.message = fmt::format("{}: {} ({})", node, facts.error, facts.address),
         .expected = "answers",
         .observed = facts.error,
         .remedy =
             stranger ? Remedy{"Compare the key that it shows with what its own page says, and let `bmc: "
                               "{certificates: FILE}` in cluster.yaml name it.",
                               {railbed_line(survey, "bmc certificates", node)}}
             : refused
                 ? Remedy{"Correct user and password in the password file; they are those of the BMC, not "
                          "of the node."}
                 : Remedy{"Check the cable of the BMC's port and its address, which the node itself tells "
                          "as root; a BMC that hangs comes back when the node loses its mains for a "
                          "minute.",
                          {"ipmitool lan print 1"}}});
  });
}

void power(const Survey& survey, Judge& judge) {
  for (const auto& [node, facts] : survey.evidence.bmcs) {
    Case verdict = judge.on_node(node, "power", {"node:" + node});
    if (!facts.error.empty()) {
      verdict.not_applicable("the BMC was not asked: " + facts.error);
      continue;
    }
    if (!was_asked(facts.power)) {
      verdict.not_applicable("not asked");
      continue;
    }
    const PowerState* state = verdict.read(facts.power);
    if (state == nullptr) continue;
    if (*state == PowerState::kOn)
      verdict.pass("on");
    else
      verdict.fail({.message = fmt::format("{} is switched off", node),
                    .expected = "on",
                    .observed = "off",
                    .remedy = {"Find out why in its event log, and switch it on.",
                               {railbed_line(survey, "sel", node), railbed_line(survey, "power on", node)}}});
  }
}

void sensors(const Survey& survey, Judge& judge) {
  each_answering(
      survey, judge, "sensors", [&](Case& verdict, const std::string& node, const BmcFacts& facts) {
        if (!was_asked(facts.sensors)) return verdict.not_applicable("not asked");
        const auto* all = verdict.read(facts.sensors);
        if (all == nullptr) return;
        std::vector<std::string> odd;
        bool critical = false;
        for (const BmcSensor& sensor : *all) {
          if (sensor.severity != BmcSeverity::kWarning && sensor.severity != BmcSeverity::kCritical) continue;
          critical = critical || sensor.severity == BmcSeverity::kCritical;
          odd.push_back(sensor.reading ? fmt::format("{} {:g} {} ({})", sensor.name, *sensor.reading,
                                                     sensor.units, sensor.state)
                                       : fmt::format("{}: {}", sensor.name, sensor.state));
        }
        if (odd.empty()) return verdict.pass(fmt::format("{} sensors in order", all->size()));
        constexpr std::size_t kMost = 4;
        const std::size_t more = odd.size() > kMost ? odd.size() - kMost : 0;
        odd.resize(odd.size() - more);
        const std::string text =
            fmt::format("{}{}", fmt::join(odd, "; "), more > 0 ? fmt::format("; and {} more", more) : "");
        verdict.red(
            critical ? Status::kFail : Status::kWarn,
            {.message = fmt::format("sensors of {} are out of range: {}", node, text),
             .expected = "all in order",
             .observed = text,
             .remedy = {
                 "Look at fans, air flow and power supplies of the machine; its light shows which it is.",
                 {railbed_line(survey, "sensors", node), railbed_line(survey, "identify", node)}}});
      });
}

// Returns the thing that an event is about, by the name that other rules use.
std::string thing_of(const BmcEvent& event) { return event.type == "Memory" ? "memory" : "bmc"; }

bool is_uncorrectable_memory(const BmcEvent& event) {
  return event.type == "Memory" && lower(event.event).find("uncorrectable") != std::string::npos;
}

void judge_events(const Survey& survey, Case& verdict, const std::string& node, const std::string& text,
                  bool memory_lost) {
  verdict.red(
      memory_lost ? Status::kFail : Status::kWarn,
      {.message = memory_lost
                      ? fmt::format("the BMC of {} remembers uncorrectable memory errors: {}", node, text)
                      : fmt::format("the BMC of {} remembers critical events: {}", node, text),
       .expected = "no critical event",
       .observed = text,
       .remedy = {memory_lost ? "Replace the module that is named, then empty the log."
                              : "Mend what is named, unless that was done, then empty the log.",
                  {railbed_line(survey, "sel", node), railbed_line(survey, "sel --clear", node)},
                  false,
                  true}});
}

// As many corrected errors of one module as an administrator looks at.
constexpr std::size_t kManyCorrected = 10;

// Returns the memory module that an event is about: its sensor, or the word after "@" or "DIMM" in its text; empty if
// it names none.
std::string module_of(const BmcEvent& event) {
  const std::size_t at = event.event.find('@');
  if (at != std::string::npos) {
    const std::size_t end = event.event.find_first_of(" ()-,", at);
    return event.event.substr(at + 1, end == std::string::npos ? end : end - at - 1);
  }
  return event.sensor;
}

void judge_corrected(const Survey& survey, Case& verdict, const std::string& node, const std::string& module,
                     std::size_t count) {
  const std::string text =
      fmt::format("{} corrected memory errors{}", count, module.empty() ? "" : " of " + module);
  verdict.warn(
      {.message = fmt::format("the BMC of {} remembers {}", node, text),
       .expected = fmt::format("fewer than {} of one module", kManyCorrected),
       .observed = text,
       .remedy = {"Reseat the module at the next stop, replace it if the count grows, then empty the log.",
                  {railbed_line(survey, "sel", node), railbed_line(survey, "sel --clear", node)},
                  false,
                  true}});
}

// One finding for each group of critical events of a node. Memory is a group of its own, so that it can be
// related to the kernel's count of memory errors.
void events(const Survey& survey, Judge& judge) {
  for (const auto& [node, facts] : survey.evidence.bmcs) {
    if (!facts.error.empty() || !facts.events.ok()) {
      Case verdict = judge.on_node(node, "event log", {"bmc"});
      if (!facts.error.empty())
        verdict.not_applicable("the BMC was not asked: " + facts.error);
      else if (!was_asked(facts.events))
        verdict.not_applicable("not asked");
      else
        (void)verdict.read(facts.events);
      continue;
    }
    struct Heard {
      std::size_t count = 0;
      std::vector<std::string> texts;
      std::string last;
      bool memory_lost = false;
    };
    std::map<std::string, Heard> heard;
    std::map<std::string, std::size_t> corrected;  // corrected memory errors by module
    std::size_t unrated = 0;
    for (const BmcEvent& event : *facts.events) {
      if (event.severity == BmcSeverity::kUnknown) ++unrated;
      if (event.severity == BmcSeverity::kWarning && event.type == "Memory") ++corrected[module_of(event)];
      if (event.severity != BmcSeverity::kCritical) continue;
      Heard& group = heard[thing_of(event)];
      ++group.count;
      const std::string text = fmt::format("{}: {}", event.sensor, event.event);
      if (group.texts.size() < 3 && std::ranges::find(group.texts, text) == group.texts.end())
        group.texts.push_back(text);
      if (!event.time.empty()) group.last = event.time;
      group.memory_lost = group.memory_lost || is_uncorrectable_memory(event);
    }
    for (const auto& [thing, group] : heard) {
      Case verdict = judge.on_node(node, thing == "memory" ? "event log, memory" : "event log", {thing});
      verdict.seen(facts.events);
      judge_events(
          survey, verdict, node,
          fmt::format("{} ({} event{}{})", fmt::join(group.texts, "; "), group.count,
                      group.count == 1 ? "" : "s", group.last.empty() ? "" : ", the last at " + group.last),
          group.memory_lost);
    }
    for (const auto& [module, count] : corrected) {
      if (count < kManyCorrected) continue;
      Case verdict = judge.on_node(node, "event log, memory", {"memory"});
      verdict.seen(facts.events);
      judge_corrected(survey, verdict, node, module, count);
    }
    if (!heard.empty() ||
        std::ranges::any_of(corrected, [](const auto& each) { return each.second >= kManyCorrected; }))
      continue;
    Case verdict = judge.on_node(node, "event log", {"bmc"});
    verdict.seen(facts.events);
    const std::string rest = unrated == 0 ? "" : fmt::format("; {} without a severity", unrated);
    verdict.pass(fmt::format("{} events, none critical{}", facts.events->size(), rest));
  }
}

void log_full(const Survey& survey, Judge& judge) {
  each_answering(
      survey, judge, "room in the event log",
      [&](Case& verdict, const std::string& node, const BmcFacts& facts) {
        if (!was_asked(facts.log)) return verdict.not_applicable("not asked");
        const BmcLog* log = verdict.read(facts.log);
        if (log == nullptr) return;
        if (log->wraps)
          return verdict.pass(
              fmt::format("{} entries; the oldest give way to new ones", log->entries.value_or(0)));
        const bool full = log->free_bytes == 0 || log->percent_used >= 100;
        const std::string text =
            fmt::format("{} entries{}{}", log->entries.value_or(0), full ? ", no room" : "",
                        log->overflow ? ", events were lost" : "");
        if (!full && !log->overflow)
          return log->free_bytes || log->percent_used ? verdict.pass(text)
                                                      : verdict.unknown("its size is not stated");
        verdict.warn(
            {.message =
                 full ? fmt::format("the event log of the BMC of {} is full: what fails next is not recorded",
                                    node)
                      : fmt::format("the event log of the BMC of {} lost events", node),
             .expected = "room for new events",
             .observed = text,
             .remedy = {"Keep what it holds, then empty it.",
                        {railbed_line(survey, "sel", node), railbed_line(survey, "sel --clear", node)},
                        false,
                        true}});
      });
}

// Cipher suite 0 has neither authentication nor integrity (IPMI 2.0, table 22-20).
void cipher_zero(const Survey& survey, Judge& judge) {
  each_answering(
      survey, judge, "cipher suite 0", [&](Case& verdict, const std::string& node, const BmcFacts& facts) {
        if (!was_asked(facts.lan)) return verdict.not_applicable("not asked");
        const BmcLan* lan = verdict.read(facts.lan);
        if (lan == nullptr) return;
        const CipherPrivilege most = lan->cipher_zero;
        if (most == CipherPrivilege::kUnused) return verdict.pass("not in use");
        if (most == CipherPrivilege::kUnknown)
          return verdict.unknown("the output does not state what cipher suite 0 allows");
        const std::string privilege(enum_names(most)[static_cast<std::size_t>(most)]);
        const Complaint complaint{
            .message = fmt::format(
                "the BMC of {} takes cipher suite 0: whoever reaches it acts as {} with a user's name and any password",
                node, privilege),
            .expected = "not in use",
            .observed = "allowed as " + privilege,
            .remedy = {
                "Forbid suite 0 for the BMC's network channel, as root on the node: put X in its place of the "
                "line that this prints, and write that with ipmitool lan set 1 cipher_privs.",
                {"ipmitool lan print 1"}}};
        verdict.red(most == CipherPrivilege::kCallback ? Status::kWarn : Status::kFail, complaint);
      });
}

void clock(const Survey& survey, Judge& judge) {
  constexpr double kLimit = 300;
  each_answering(
      survey, judge, "BMC's clock", [&](Case& verdict, const std::string& node, const BmcFacts& facts) {
        if (!was_asked(facts.clock_offset)) return verdict.not_applicable("not asked");
        const double* offset = verdict.read(facts.clock_offset);
        if (offset == nullptr) return;
        if (std::abs(*offset) < kLimit) return verdict.pass(fmt::format("{:+.0f} s", *offset));
        const Remedy set = {
            "Give the BMC an NTP server in its web page, or set its clock from the node, as root.",
            {"ipmitool sel time set \"$(date -u '+%m/%d/%Y %H:%M:%S')\""}};
        if (was_never_set(*offset))
          return verdict.warn({.message = fmt::format(
                                   "the BMC's clock of {} was never set: its events bear wrong times", node),
                               .expected = fmt::format("within {:.0f} s of UTC", kLimit),
                               .observed = fmt::format("{:.0f} years behind", -*offset / (365.25 * 86400)),
                               .remedy = set});
        // Time zones differ from UTC by a multiple of a quarter of an hour, at most 14 h.
        const double quarters = std::round(*offset / 900);
        const bool zone = std::abs(*offset - quarters * 900) < 60 && std::abs(quarters) <= 56;
        verdict.warn(
            {.message = fmt::format("the BMC's clock of {} is {:.0f} s {}{}: its events bear wrong times",
                                    node, std::abs(*offset), *offset > 0 ? "ahead" : "behind",
                                    zone ? ", as it is when it keeps another time zone" : ""),
             .expected = fmt::format("within {:.0f} s of UTC", kLimit),
             .observed = fmt::format("{:+.0f} s", *offset),
             .remedy = set});
      });
}

void default_login(const Survey& survey, Judge& judge) {
  each_answering(
      survey, judge, "BMC's login", [&](Case& verdict, const std::string& node, const BmcFacts& facts) {
        if (!was_asked(facts.default_login)) return verdict.not_applicable("not asked");
        const std::string* user = verdict.read(facts.default_login);
        if (user == nullptr) return;
        if (user->empty()) return verdict.pass("the maker's default is refused");
        verdict.fail({.message = fmt::format(
                          "the BMC of {} takes its maker's default login, {}: whoever reaches it owns the "
                          "machine",
                          node, *user),
                      .expected = "a password of your own",
                      .observed = "the default of user " + *user,
                      .remedy = {"Set another password.", {railbed_line(survey, "bmc set-password", node)}}});
      });
}

// Finds the point between kernel and BMC where the serial console is broken.
void serial(const Survey& survey, Judge& judge) {
  each_answering(
      survey, judge, "serial console", [&](Case& verdict, const std::string& node, const BmcFacts& facts) {
        const NodeView* view = survey.find(node);
        if (view == nullptr) return verdict.not_applicable("the node gave no facts");
        if (!was_asked(facts.serial)) return verdict.not_applicable("not asked");
        const SerialOverLan* serial = verdict.read(facts.serial);
        if (serial == nullptr) return;
        const std::string* line = verdict.read(view->facts->system.kernel.command_line);
        if (line == nullptr) return;
        const auto consoles = serial_consoles(*line);
        if (!serial->enabled)
          return verdict.warn(
              {.message = fmt::format(
                   "serial-over-LAN is off in the BMC of {}: its console cannot be reached", node),
               .expected = "on",
               .observed = "off",
               .remedy = {"Switch it on in the BMC, as root on the node.",
                          {"ipmitool sol set enabled true 1"}}});
        if (consoles.empty())
          return verdict.warn(
              {.message =
                   fmt::format("the kernel of {} writes to no serial port: its console over the network is "
                               "blank once the kernel runs",
                               node),
               .expected = "console=ttyS… on the kernel's command line",
               .observed = "none",
               .remedy = {
                   "Say `configure: {console: ttyS1}` in cluster.yaml, or ttyS0, whichever the BMC sends, "
                   "and apply it.",
                   {command("railbed plan {}", file_of(survey))},
                   true}});
        if (!serial->rate) return verdict.pass("the BMC sends at the port's own rate");
        for (const std::string& console : consoles)
          if (console_rate(console) == serial->rate)
            return verdict.pass(fmt::format("{} bit/s on both sides", *serial->rate));
        const auto rate = console_rate(consoles.back());
        if (!rate)
          return verdict.unknown("the kernel does not say at which rate it writes: " + consoles.back());
        verdict.warn(
            {.message = fmt::format(
                 "the BMC of {} reads the serial port at {} bit/s, and the kernel writes at {}: the "
                 "console shows nothing, or garbage",
                 node, *serial->rate, *rate),
             .expected = fmt::format("{} bit/s", *rate),
             .observed = fmt::format("{} bit/s", *serial->rate),
             .remedy = {"Give the BMC the kernel's rate.",
                        {command("railbed bmc set-sol-rate {} {} {}", *rate, file_of(survey), node)}}});
      });
}

bool is_in(const IpAddress& address, std::initializer_list<std::string_view> networks) {
  return std::ranges::any_of(networks, [&](std::string_view text) {
    const auto network = Subnet::parse(text);
    return network && network->contains(address);
  });
}

// Returns true for addresses that the internet does not route: RFC 1918, 6598, 3927, 4193 and loopback.
bool is_private(const IpAddress& address) {
  return is_in(address, {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16",
                         "127.0.0.0/8", "fc00::/7", "fe80::/10", "::1/128"});
}

void network(const Survey& survey, Judge& judge) {
  for (const Node& node : survey.evidence.cluster.nodes) {
    if (!node.bmc) continue;
    Case verdict = judge.on_node(node.name, "BMC's address", {"bmc"});
    verdict.add_evidence(file_of(survey));
    const auto address = IpAddress::parse(*node.bmc);
    if (!address) {
      verdict.not_applicable("a host name");
      continue;
    }
    const auto rail = std::ranges::find_if(survey.evidence.cluster.rails, [&](const Rail& each) {
      return each.subnet && each.subnet->contains(*address);
    });
    const Remedy move{"Give the BMCs a network of their own that only administrators reach."};
    if (rail != survey.evidence.cluster.rails.end())
      verdict.fail({.message = fmt::format(
                        "the BMC of {} is on {}, where every job is: {} can be attacked from any node",
                        node.name, rail->name, *node.bmc),
                    .expected = "a network apart from the rails",
                    .observed = *node.bmc,
                    .remedy = move});
    else if (!is_private(*address))
      verdict.fail({.message = fmt::format(
                        "the BMC of {} has a public address, {}: IPMI hands whoever asks what guesses its "
                        "passwords",
                        node.name, *node.bmc),
                    .expected = "a private address",
                    .observed = *node.bmc,
                    .remedy = move});
    else
      verdict.pass(*node.bmc);
  }
}

}  // namespace

std::span<const Rule> bmc_rules() {
  static const Rule kRules[] = {
      {.id = "bmc.reachable",
       .title = "BMC answers and takes the login",
       .why = "A BMC that does not answer is no help on the day when nothing else answers.",
       .source = "Get Chassis Status over IPMI, from the controller",
       .standard =
           "an answer within the deadline; judged by `railbed verify --bmc` alone, as all that BMCs are asked",
       .remedy = "Check its cable and address; correct the login.",
       .fixture = "v100-bmc-dead",
       .explained_by = {},
       .check = bmc_reachable},
      {.id = "bmc.power",
       .title = "node is switched on",
       .why = "A node that is off looks like one without network, and can be switched on without a visit.",
       .source = "Get Chassis Status",
       .standard = "on",
       .remedy = "railbed power on",
       .fixture = "v100-bmc-power-off",
       .explained_by = {},
       .check = power},
      {.id = "bmc.sensors",
       .title = "sensors are in range",
       .why = "A fan or a power supply that fails is followed by throttling, and then by silence.",
       .source = "the BMC's sensors, by its own thresholds; states by FreeIPMI's table",
       .standard = "none critical (failure) or at a warning threshold (warning)",
       .remedy = "Look at fans, air flow and power supplies.",
       .fixture = "v100-bmc-hot",
       .explained_by = {},
       .check = sensors},
      {.id = "bmc.events",
       .title = "event log holds nothing critical",
       .why =
           "The log names the module, slot or supply that failed, also where the kernel died of it. What was mended "
           "stays in it until somebody empties it, hence a warning.",
       .source = "the BMC's System Event Log, by FreeIPMI's table of severities",
       .standard =
           "no critical event and fewer than 10 corrected errors of one memory module (warning), no uncorrectable memory error (failure)",
       .remedy = "Mend what it names, then empty it: railbed sel --clear.",
       .fixture = "v100-bmc-memory",
       .explained_by = {},
       .check = events},
      {.id = "bmc.log-full",
       .title = "event log has room",
       .why = "Most BMCs drop new events once the log is full, so that the failure of today is not in it.",
       .source = "Get SEL Info, as ipmitool sel info prints it",
       .standard = "free bytes, less than 100 % used, no overflow",
       .remedy = "Keep the events, then empty it: railbed sel --clear.",
       .fixture = "v100-bmc-log-full",
       .explained_by = {},
       .check = log_full},
      {.id = "bmc.cipher-zero",
       .title = "BMC asks for a password",
       .why =
           "Cipher suite 0 lets anybody who knows a user's name in, with any password (CVE-2013-4782 and its kin).",
       .source = "Get LAN Configuration Parameters, as ipmitool lan print prints them",
       .standard = "suite 0 unused (failure; as CALLBACK a warning)",
       .remedy = "Forbid suite 0: ipmitool lan set 1 cipher_privs.",
       .fixture = "v100-bmc-cipher-zero",
       .explained_by = {},
       .check = cipher_zero},
      {.id = "bmc.clock",
       .title = "BMC's clock is right",
       .why = "Its events can only be matched with the kernel's and the jobs' when their times agree.",
       .source = "Get SEL Time, beside the controller's clock",
       .standard = "within 300 s of UTC (ours)",
       .remedy = "Give the BMC an NTP server.",
       .fixture = "v100-bmc-clock",
       .explained_by = {},
       .check = clock},
      {.id = "bmc.default-login",
       .title = "BMC refuses its maker's default login",
       .why = "Whoever is in a BMC switches the machine off, boots another system and reads every key.",
       .source = "one login with the default of this maker",
       .standard = "refused",
       .remedy = "railbed bmc set-password",
       .fixture = "v100-bmc-default-login",
       .explained_by = {},
       .check = default_login},
      {.id = "bmc.serial-console",
       .title = "serial console is carried from kernel to BMC",
       .why = "A blank console is noticed on the day when it is the only way in.",
       .source = "Get SOL Configuration Parameters; /proc/cmdline",
       .standard = "serial-over-LAN is on, the kernel writes to a serial port, and both have one rate",
       .remedy = "railbed bmc set-sol-rate; `configure: {console: ttyS1}`.",
       .fixture = "v100-bmc-serial-rate",
       .explained_by = {},
       .check = serial},
      {.id = "bmc.network",
       .title = "BMC is on a network of its own",
       .why =
           "IPMI 2.0 gives anybody who asks a hash of each user's password (CVE-2013-4786), and BMCs are seldom mended.",
       .source = "cluster.yaml",
       .standard = "a private address, on no rail's subnet",
       .remedy = "Move the BMCs to a network that only administrators reach.",
       .fixture = "v100-bmc-on-rail",
       .explained_by = {},
       .check = network},
  };
  return kRules;
}

}  // namespace railbed
