// Redfish client (DMTF DSP0266). Only the service root, /redfish/v1/, is assumed: every other path is a link
// in a document. Documents are cached while this object lives, as far as they cannot have changed.
//
// A service may describe several systems: a DGX shows its baseboard of GPUs beside the machine itself. The
// machine is the first system whose boot source can be overridden, or else the first of all. Where several machines of
// one model share a BMC, it is the one with the node's name. Every chassis may hold sensors, and every system a log
// of events.
//
// Makers differ in what they refuse, so a change is tried in the ways that public reports name: without If-Match
// where that is refused (Lenovo), without a boot mode (HPE), in the system's pending settings (iDRAC 10). A
// response that a task follows is followed to its end, a busy service is asked again when it says, and what was
// changed is read back, because some services answer 200 and store nothing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "base/moment.h"
#include "base/text.h"
#include "base/wipe.h"
#include "bmc/freeipmi_text.h"
#include "bmc/https.h"
#include "bmc/redfish_text.h"

namespace railbed {
namespace {

using json::Value;
using std::chrono::steady_clock;

constexpr const char* kRoot = "/redfish/v1/";
constexpr std::size_t kMostSystems = 16;
constexpr std::size_t kMostChassis = 64;
constexpr int kMostPages = 64;
constexpr std::size_t kMostEvents = 4096;
constexpr int kMostBusy = 20;  // how often a service may answer that it is busy
// How long a service may take to show what it has stored.
constexpr std::chrono::seconds kSettles{15};

struct Document {
  std::string path;
  Value value;
  std::string etag;
};

Miss lacking(std::string_view what) {
  return {Missing::kUnsupported, fmt::format("its BMC's Redfish service has no {}", what)};
}

class RedfishBmc final : public Bmc {
 public:
  RedfishBmc(BmcTarget target, BmcOptions options)
      : target_(std::move(target)), options_(std::move(options)), client_(target_, options_) {}
  RedfishBmc(const RedfishBmc&) = delete;
  RedfishBmc& operator=(const RedfishBmc&) = delete;
  // A BMC has few sessions, so one that was opened is closed.
  ~RedfishBmc() override {
    if (!session_.empty())
      (void)client_.ask(HttpMethod::kDelete, session_, "", "", steady_clock::now() + options_.silence);
  }

  BmcProtocol protocol() const override { return BmcProtocol::kRedfish; }

  Reading<PowerState> power() override {
    begin();
    return system_now().parsed([](const Document& it) { return redfish::power_of(it.value); });
  }
  Reading<BmcDevice> device() override {
    begin();
    const auto manager = this->manager();
    if (!manager.ok()) return {manager.miss(), manager.from()};
    BmcDevice device{redfish::text_at(manager->value, {"Manufacturer"}),
                     redfish::text_at(manager->value, {"FirmwareVersion"})};
    if (device.firmware.empty()) device.firmware = firmware_of(*manager);
    if (device.manufacturer.empty())
      if (const auto system = this->system())
        device.manufacturer = redfish::text_at(system->value, {"Manufacturer"});
    return {std::move(device), manager.from()};
  }
  Reading<std::vector<BmcSensor>> sensors() override {
    begin();
    const auto root = fixed(kRoot);
    if (!root.ok()) return {root.miss(), root.from()};
    const auto chassis = collection(root->value, {"Chassis"}, kMostChassis);
    if (!chassis.ok()) return {chassis.miss(), chassis.from()};
    std::vector<BmcSensor> sensors;
    std::vector<std::string> places;
    std::optional<Miss> missed;
    for (const std::string& path : *chassis) {
      const auto miss = add_chassis(path, redfish::expands(root->value), sensors);
      if (miss && miss->missing == Missing::kTimeout) return {*miss, chassis.from()};
      if (miss) missed = miss;
      places.resize(sensors.size(), path);
    }
    redfish::tell_apart(places, sensors);
    // A service without sensors is no machine whose sensors are in order.
    if (sensors.empty()) return {missed.value_or(lacking("sensors")), chassis.from()};
    return {std::move(sensors), chassis.from()};
  }
  Reading<std::vector<BmcEvent>> events() override {
    begin();
    const auto system = this->system();
    if (fails(system)) return {system.miss(), system.from()};
    std::vector<BmcEvent> events;
    std::string from;
    std::optional<Miss> missed;
    const auto late = each_event_log([&] { return !events.empty(); },
                                     [&](const Document&, const std::string& entries) -> std::optional<Miss> {
                                       const auto miss = add_events(entries, events);
                                       if (miss && miss->missing == Missing::kTimeout) return miss;
                                       if (miss)
                                         missed = miss;
                                       else
                                         from += fmt::format("{}GET https://{}{}", from.empty() ? "" : ", ",
                                                             target_.address, entries);
                                       return std::nullopt;
                                     });
    if (late) return {*late, system.from()};
    if (from.empty()) return {missed.value_or(lacking("event log")), system.from()};
    // The oldest first; events of the same second keep the order in the log.
    std::ranges::stable_sort(events, {}, &BmcEvent::time);
    return {std::move(events), from};
  }
  Reading<BmcLog> log() override {
    begin();
    const auto system = this->system();
    if (fails(system)) return {system.miss(), system.from()};
    std::optional<BmcLog> fullest;
    std::string from = system.from();
    const auto late =
        each_event_log([&] { return fullest.has_value(); },
                       [&](const Document& log, const std::string& entries) -> std::optional<Miss> {
                         const auto page = get(entries);
                         if (!page.ok()) {
                           if (page.miss().missing != Missing::kTimeout) return std::nullopt;
                           from = page.from();
                           return page.miss();
                         }
                         const BmcLog room = redfish::log_of(log.value, redfish::count_of(page->value));
                         if (fullest && room.percent_used.value_or(-1) <= fullest->percent_used.value_or(-1))
                           return std::nullopt;
                         fullest = room;
                         from = page.from();
                         return std::nullopt;
                       });
    if (late) return {*late, from};
    if (!fullest) return {lacking("event log"), from};
    if (!fullest->percent_used && !fullest->wraps)
      return {Miss{Missing::kUnsupported, "the log's service states no size"}, from};
    return {*fullest, from};
  }
  // Redfish does not know the cipher suites of IPMI.
  Reading<BmcLan> lan() override { return {lacking("cipher suites of IPMI"), target_.address}; }
  Reading<double> clock_offset() override {
    begin();
    const auto manager = manager_now();
    if (manager.ok() && redfish::text_at(manager->value, {"DateTime"}).empty())
      return {lacking("clock"), manager.from()};
    return manager.parsed([](const Document& it) -> std::optional<double> {
      const auto time = redfish::clock_of(it.value);
      return time ? std::optional(*time - now_unix()) : std::nullopt;
    });
  }
  Reading<SerialOverLan> serial() override {
    begin();
    const auto manager = this->manager();
    if (!manager.ok()) return {manager.miss(), manager.from()};
    const auto interface = serial_interface();
    const auto system = this->system();
    const auto serial = redfish::serial_of(manager->value, system.ok() ? system->value : Value{},
                                           interface.ok() ? interface->value : Value{});
    if (!serial) return {lacking("word on whether its serial console is on"), manager.from()};
    return {*serial, manager.from()};
  }

  Result<void> change_power(PowerAction action) override {
    begin();
    const auto system = system_now();
    if (!system.ok()) return refused(system.miss());
    const auto target = redfish::action_of(system->value, "#ComputerSystem.Reset");
    if (!target) return refused(lacking("switch for the machine's power"));
    const auto allowed = reset_types(system->value);
    const auto words = redfish::reset_words(action);
    const std::string word(redfish::first_allowed(words, allowed));
    if (!word.empty()) return change(HttpMethod::kPost, *target, {{"ResetType", word}});
    if (action == PowerAction::kCycle && !redfish::first_allowed({"ForceOff"}, allowed).empty())
      return off_and_on();
    return fail(ErrorKind::kUnavailable,
                fmt::format("its BMC knows no {}, but {}", words.front(), fmt::join(allowed, ", ")));
  }
  Result<void> set_boot(const BootOrder& order) override {
    begin();
    const auto system = system_now();
    if (!system.ok()) return refused(system.miss());
    ASSIGN_OR_RETURN(Value patch, redfish::boot_patch(system->value, order));
    auto set = change(HttpMethod::kPatch, system->path, patch, system->etag);
    // HPE's mode cannot be written; Supermicro's falls back to its default unless it is.
    if (!set && status_ == 400 && patch["Boot"].contains("BootSourceOverrideMode")) {
      patch["Boot"].erase("BootSourceOverrideMode");
      set = change(HttpMethod::kPatch, system->path, patch, system->etag);
    }
    const auto is_stored = [&](const Value& document) { return redfish::holds_boot(document, patch); };
    if (set) set = read_back(system->path, "the boot order", is_stored);
    if (set) return set;
    // The system's pending settings, where its own document is read-only.
    const auto settings = redfish::link_at(system->value, {"@Redfish.Settings", "SettingsObject"});
    if (!settings || status_ == 401) return set;
    const auto pending = get(*settings);
    RETURN_IF_ERROR(change(HttpMethod::kPatch, *settings, patch, pending.ok() ? pending->etag : ""));
    return read_back(*settings, "the boot order", is_stored);
  }
  Result<void> set_identify(int seconds) override {
    begin();
    const auto system = system_now();
    if (!system.ok()) return refused(system.miss());
    // LocationIndicatorActive took the place of IndicatorLED in ComputerSystem 1.13.
    const bool lit = seconds > 0;
    if (redfish::truth_at(system->value, {"LocationIndicatorActive"})) {
      RETURN_IF_ERROR(
          change(HttpMethod::kPatch, system->path, {{"LocationIndicatorActive", lit}}, system->etag));
      return read_back(system->path, "the light's state", [&](const Value& now) {
        return redfish::truth_at(now, {"LocationIndicatorActive"}) == lit;
      });
    }
    if (redfish::text_at(system->value, {"IndicatorLED"}).empty())
      return refused(lacking("light that finds a machine"));
    RETURN_IF_ERROR(
        change(HttpMethod::kPatch, system->path, {{"IndicatorLED", lit ? "Blinking" : "Off"}}, system->etag));
    return read_back(system->path, "the light's state", [&](const Value& now) {
      return (redfish::text_at(now, {"IndicatorLED"}) != "Off") == lit;
    });
  }
  Result<void> clear_events() override {
    begin();
    const auto system = this->system();
    if (!system.ok()) return refused(system.miss());
    bool cleared = false;
    for (const bool of_manager : {false, true})
      for (const Document& log : event_logs(of_manager)) {
        const auto target = redfish::action_of(log.value, "#LogService.ClearLog");
        const std::string entries = redfish::link_at(log.value, {"Entries"}).value_or("");
        const auto before = get(entries);
        if (!target || !before.ok()) continue;
        RETURN_IF_ERROR(change(HttpMethod::kPost, *target, Value::object()));
        // Some logs begin anew with an entry that says who emptied them.
        RETURN_IF_ERROR(read_back(entries, "an empty event log", [&](const Value& now) {
          return redfish::count_of(now) <= 1 || redfish::count_of(now) < redfish::count_of(before->value);
        }));
        cleared = true;
      }
    if (!cleared) return refused(lacking("way to empty its event log"));
    return {};
  }
  Result<void> set_serial_rate(int rate) override {
    begin();
    const auto interface = serial_interface();
    if (!interface.ok()) return refused(interface.miss());
    const std::string text = std::to_string(rate);
    RETURN_IF_ERROR(change(HttpMethod::kPatch, interface->path, {{"BitRate", text}}, interface->etag));
    return read_back(interface->path, "the rate",
                     [&](const Value& now) { return redfish::text_at(now, {"BitRate"}) == text; });
  }
  Result<void> set_password(const std::string& password) override {
    begin();
    const auto account = own_account();
    if (!account.ok()) return refused(account.miss());
    RETURN_IF_ERROR(change(HttpMethod::kPatch, account->path, {{"Password", password}}, account->etag));
    client_.set_password(password);
    target_.login.password = password;
    known_.clear();
    system_ = {};
    if (const auto now = power(); !now.ok())
      return fail(ErrorKind::kUnavailable,
                  "its BMC took the new password and refuses it now: " + now.miss().why);
    return {};
  }
  Result<void> insert_media(const std::string& image) override {
    begin();
    const auto media = virtual_cd();
    if (!media.ok()) return refused(media.miss());
    if (redfish::truth_at(media->value, {"Inserted"}).value_or(false))
      return fail(ErrorKind::kUnavailable,
                  fmt::format("its BMC's virtual CD holds {} already: `railbed bmc eject` takes it out",
                              redfish::text_at(media->value, {"Image"})));
    const Value wanted = {{"Image", image}, {"Inserted", true}, {"WriteProtected", true}};
    const auto target = redfish::action_of(media->value, "#VirtualMedia.InsertMedia");
    RETURN_IF_ERROR(target ? change(HttpMethod::kPost, *target, wanted)
                           : change(HttpMethod::kPatch, media->path, wanted, media->etag));
    return read_back(media->path, "the image", [](const Value& now) {
      return redfish::truth_at(now, {"Inserted"}).value_or(true) && !redfish::text_at(now, {"Image"}).empty();
    });
  }
  Result<void> eject_media() override {
    begin();
    const auto media = virtual_cd();
    if (!media.ok()) return refused(media.miss());
    if (!redfish::truth_at(media->value, {"Inserted"}).value_or(true)) return {};
    const auto target = redfish::action_of(media->value, "#VirtualMedia.EjectMedia");
    RETURN_IF_ERROR(target ? change(HttpMethod::kPost, *target, Value::object())
                           : change(HttpMethod::kPatch, media->path,
                                    {{"Image", nullptr}, {"Inserted", false}}, media->etag));
    return read_back(media->path, "the empty drive",
                     [](const Value& now) { return !redfish::truth_at(now, {"Inserted"}).value_or(false); });
  }

 private:
  using Keys = std::initializer_list<const char*>;

  // Starts the deadline of a call. It is one for the call, however many documents that reads.
  void begin() { until_ = steady_clock::now() + options_.deadline; }

  // Waits for a while, but not past the call's deadline. Returns false if it was stopped or is out of time.
  bool pause(std::chrono::milliseconds time) {
    const auto end = steady_clock::now() + time;
    if (end >= until_) return false;
    while (steady_clock::now() < end) {
      if (options_.stop.stop_requested()) return false;
      std::this_thread::sleep_for(
          std::min<std::chrono::nanoseconds>(std::chrono::milliseconds(50), end - steady_clock::now()));
    }
    return true;
  }
  // Sends a request. Repeats it as long as the service is busy, and once with a session if it takes no user and
  // password with each request.
  Reading<HttpAnswer> ask(HttpMethod method, const std::string& path, const std::string& body = "",
                          const std::string& etag = "") {
    for (int busy = 0;; ++busy) {
      auto answer = client_.ask(method, path, body, etag, until_);
      if (!answer.ok()) return answer;
      status_ = answer->status;
      if (answer->status == 401 && !answer->offers_basic && open_session()) continue;
      if (answer->status != 503 || busy == kMostBusy) return answer;
      if (!pause(answer->retry_after.value_or(std::chrono::seconds(2)))) return answer;
    }
  }
  // Opens a session, once in this object's life. Returns false if there can be none.
  bool open_session() {
    if (std::exchange(session_tried_, true)) return false;
    std::string body = json::dump({{"UserName", target_.login.user}, {"Password", target_.login.password}});
    const auto opened =
        client_.ask(HttpMethod::kPost, "/redfish/v1/SessionService/Sessions", body, "", until_);
    wipe(body);
    if (!opened.ok() || opened->status < 200 || opened->status >= 300 || opened->token.empty()) return false;
    session_ = redfish::path_of(opened->location).value_or("");
    client_.use_token(opened->token);
    return true;
  }
  Reading<Document> get(const std::string& path) {
    auto answer = ask(HttpMethod::kGet, path);
    if (!answer.ok()) return {answer.miss(), answer.from()};
    if (answer->status != 200) return {redfish::why_refused(answer->status, answer->body), answer.from()};
    auto value = json::parse(answer->body);
    if (!value || !value->is_object())
      return {Miss{Missing::kGarbled, "its BMC's web service answers no document of Redfish"}, answer.from()};
    std::string etag = answer->etag.empty() ? redfish::text_at(*value, {"@odata.etag"}) : answer->etag;
    return {Document{path, *std::move(value), std::move(etag)}, answer.from()};
  }
  // Returns a document from the cache, or reads and caches it. Only for documents that stay the same during a
  // session: the root, and those that are read for their links.
  Reading<Document> fixed(const std::string& path) {
    if (const auto known = known_.find(path); known != known_.end()) return known->second;
    auto document = get(path);
    if (document.ok()) known_.emplace(path, document);
    return document;
  }
  // Sends a change and, if the service works on it in a task, waits for its end.
  Result<void> change(HttpMethod method, const std::string& path, const Value& body,
                      const std::string& etag = "") {
    std::string text = json::dump(body);
    auto answer = ask(method, path, text, etag);
    // The document has changed since it was read, or the service takes no If-Match at all.
    if (answer.ok() && answer->status == 412 && !etag.empty()) {
      const auto now = get(path);
      if (now.ok() && now->etag != etag) answer = ask(method, path, text, now->etag);
      if (answer.ok() && answer->status == 412) answer = ask(method, path, text);
    }
    wipe(text);
    if (!answer.ok()) return refused(answer.miss());
    if (answer->status == 202) return follow(*answer);
    if (answer->status >= 200 && answer->status < 300) return {};
    return refused(redfish::why_refused(answer->status, answer->body));
  }
  // Waits for the end of the task that the response names.
  Result<void> follow(const HttpAnswer& begun) {
    auto path = redfish::path_of(begun.location);
    const auto first = json::parse(begun.body);
    if (!path && first) path = redfish::path_of(redfish::text_at(*first, {"TaskMonitor"}));
    if (!path && first) path = redfish::path_of(redfish::text_at(*first, {"@odata.id"}));
    if (!path) return {};  // nothing can be followed; what was changed is read back
    std::string state = "not yet known";
    for (auto wait = begun.retry_after; pause(wait.value_or(std::chrono::seconds(1)));) {
      const auto answer = ask(HttpMethod::kGet, *path);
      if (!answer.ok()) return refused(answer.miss());
      if (answer->status == 404) return {};  // services forget a task after its end
      if (answer->status < 200 || answer->status >= 300)
        return refused(redfish::why_refused(answer->status, answer->body));
      wait = answer->retry_after;
      const auto task = json::parse(answer->body);
      if (!task || !task->is_object()) {
        if (answer->status == 202) continue;
        return {};
      }
      const auto progress = redfish::progress_of(*task);
      if (progress.failed)
        return fail(ErrorKind::kUnavailable,
                    fmt::format("its BMC began the change and failed ({}){}", progress.state,
                                progress.message.empty() ? "" : ": " + progress.message));
      if (progress.ended && answer->status != 202) return {};
      if (!progress.state.empty()) state = progress.state;
    }
    return fail(ErrorKind::kTimeout,
                fmt::format("its BMC still works on the change (task {}: {})", *path, state));
  }
  // Reads a document until it shows what a change should have stored.
  template <class IsSo>
  Result<void> read_back(const std::string& path, std::string_view what, const IsSo& is_so) {
    const auto end = steady_clock::now() + kSettles;
    for (std::chrono::milliseconds wait(100);; wait = std::min(wait * 2, std::chrono::milliseconds(2000))) {
      const auto now = get(path);
      if (!now.ok() && now.miss().missing == Missing::kTimeout) return refused(now.miss());
      if (now.ok() && is_so(now->value)) return {};
      if (steady_clock::now() + wait >= end || !pause(wait))
        return fail(
            ErrorKind::kUnavailable,
            fmt::format("its BMC accepted the change and does not show {} at {}: it may not have stored it",
                        what, path));
    }
  }

  // Returns the values that ResetType may have; empty if the service does not list them.
  std::vector<std::string> reset_types(const Value& system) {
    auto types = redfish::allowed_at(
        system, {"Actions", "#ComputerSystem.Reset", "ResetType@Redfish.AllowableValues"});
    if (!types.empty()) return types;
    const auto info = redfish::path_of(
        redfish::text_at(system, {"Actions", "#ComputerSystem.Reset", "@Redfish.ActionInfo"}));
    if (!info) return {};
    const auto document = fixed(*info);
    return document.ok() ? redfish::parameter_values(document->value, "ResetType")
                         : std::vector<std::string>();
  }
  // A power cycle for services that have none: off, wait, on.
  Result<void> off_and_on() {
    RETURN_IF_ERROR(change_power(PowerAction::kOff));
    for (;;) {
      const auto system = system_now();
      if (system.ok() && redfish::power_of(system->value) == PowerState::kOff) break;
      if (!pause(std::chrono::seconds(1)))
        return fail(ErrorKind::kTimeout,
                    "its BMC knows no PowerCycle, and the machine did not go off in time for one");
    }
    return change_power(PowerAction::kOn);
  }

  // Returns the first `most` members of the collection that the document links to.
  Reading<std::vector<std::string>> collection(const Value& document, Keys keys, std::size_t most) {
    const auto path = redfish::link_at(document, keys);
    if (!path) return {lacking(*(keys.end() - 1)), target_.address};
    std::vector<std::string> links;
    const auto first = each_page(
        *path,
        [&](const Document& page) {
          for (std::string& link : redfish::members_of(page.value))
            if (links.size() < most) links.push_back(std::move(link));
          return links.size() < most;
        },
        true);
    if (!first.ok()) return {first.miss(), first.from()};
    return {std::move(links), first.from()};
  }
  // Calls visit(Document) on each page of a collection until it returns false; `keep`: pages come from the cache. Pages seen before end the walk,
  // because a service that names the same page twice would never end. Returns the first page; a further one that
  // is missing ends the walk, too, but a service that stopped answering is a miss.
  template <class Visit>
  Reading<Document> each_page(const std::string& path, const Visit& visit, bool keep = false) {
    Reading<Document> first;
    std::vector<std::string> seen;
    std::optional<std::string> page = path;
    while (page && static_cast<int>(seen.size()) < kMostPages &&
           std::ranges::find(seen, *page) == seen.end()) {
      seen.push_back(*page);
      auto document = keep ? fixed(*page) : get(*page);
      if (seen.size() == 1) first = document;
      if (!document.ok()) return document.miss().missing == Missing::kTimeout ? document : first;
      if (!visit(*document)) break;
      page = redfish::next_page(document->value);
    }
    return first;
  }
  // Reads the first member of the collection that the document links to.
  Reading<Document> first_of(const Value& document, Keys keys) {
    const auto members = collection(document, keys, 1);
    if (!members.ok()) return {members.miss(), members.from()};
    if (members->empty()) return {lacking(*(keys.end() - 1)), members.from()};
    return get(members->front());
  }

  Reading<Document> find_system() {
    const auto root = fixed(kRoot);
    if (!root.ok()) return root;
    const auto systems = collection(root->value, {"Systems"}, kMostSystems);
    if (!systems.ok()) return {systems.miss(), systems.from()};
    Reading<Document> chosen(lacking("computer system"), systems.from());
    other_systems_.clear();
    nodes_.clear();
    std::vector<Document> equals;  // systems like the chosen one, and it
    for (const std::string& path : *systems) {
      auto system = fixed(path);
      if (!system.ok() && system.miss().missing == Missing::kTimeout) return system;
      // A member that cannot be read, or is none, does not hide the others.
      if (!system.ok() || !redfish::is_system(system->value)) {
        if (!system.ok() && !chosen.ok()) chosen = std::move(system);
        continue;
      }
      const bool better =
          !chosen.ok() || (redfish::overrides_boot(system->value) && !redfish::overrides_boot(chosen->value));
      if (better) equals.clear();
      if (better || redfish::is_like(chosen->value, system->value)) equals.push_back(*system);
      if (better && chosen.ok()) other_systems_.push_back(chosen->path);
      if (better)
        chosen = std::move(system);
      else
        other_systems_.push_back(path);
    }
    return equals.size() > 1 ? own_of(equals, chosen.from()) : chosen;
  }
  // Returns the one of several machines behind this BMC that bears the node's name: to switch or to report any other
  // would be wrong.
  Reading<Document> own_of(const std::vector<Document>& machines, const std::string& from) {
    // The others' logs are those of other nodes.
    std::erase_if(other_systems_, [&](const std::string& path) {
      return std::ranges::any_of(machines, [&](const Document& machine) { return machine.path == path; });
    });
    const auto is_own = [&](const Document& machine) {
      return redfish::is_named(machine.value, target_.node);
    };
    const auto own = std::ranges::find_if(machines, is_own);
    if (own == machines.end() || std::ranges::count_if(machines, is_own) > 1) {
      std::vector<std::string> ids;
      for (const Document& machine : machines) {
        nodes_.push_back(machine.path);
        ids.push_back(redfish::text_at(machine.value, {"Id"}));
      }
      return {Miss{Missing::kUnsupported,
                   fmt::format("its BMC serves {} machines ({}), and none of them alone has the node's name",
                               machines.size(), fmt::join(ids, ", "))},
              from};
    }
    return {*own, from};
  }
  // The machine itself, as it was first read; used for its links.
  Reading<Document> system() {
    if (!system_.ok()) system_ = find_system();
    return system_;
  }
  // The machine as it is now.
  Reading<Document> system_now() {
    const bool known = system_.ok();
    const auto system = this->system();
    return known ? get(system->path) : system;
  }
  // Returns false for a service without a machine, such as a chassis' or a switch's: its manager and logs can be read.
  static bool fails(const Reading<Document>& system) {
    return !system.ok() && system.miss().missing != Missing::kUnsupported;
  }
  // The document of the BMC itself: the machine's first manager, or else the likeliest of all. A service without a
  // machine, such as a chassis' or a switch's, has a manager, too.
  Reading<Document> manager() {
    if (!manager_path_.empty()) return fixed(manager_path_);
    const auto system = this->system();
    if (fails(system)) return system;
    if (system.ok())
      if (const auto path = redfish::link_at(system->value, {"Links", "ManagedBy"})) {
        manager_path_ = *path;
        return fixed(*path);
      }
    auto likeliest = find_manager(system.ok() ? std::vector{system->path} : nodes_);
    if (likeliest.ok()) manager_path_ = likeliest->path;
    return likeliest;
  }
  // Returns the manager that is likeliest the BMC of the systems at these paths. Several systems have none unless its
  // links name them all.
  Reading<Document> find_manager(const std::vector<std::string>& systems) {
    const auto root = fixed(kRoot);
    if (!root.ok()) return root;
    const auto managers = collection(root->value, {"Managers"}, kMostSystems);
    if (!managers.ok()) return {managers.miss(), managers.from()};
    Reading<Document> likeliest(lacking("manager"), managers.from());
    int best = systems.size() > 1 ? 3 : -1;
    for (const std::string& path : *managers) {
      auto manager = fixed(path);
      if (!manager.ok() && manager.miss().missing == Missing::kTimeout) return manager;
      if (!manager.ok()) {
        if (!likeliest.ok()) likeliest = std::move(manager);
        continue;
      }
      int likeness = redfish::likeness_to_bmc(manager->value, systems.empty() ? "" : systems.front());
      for (const std::string& system : systems)
        likeness = std::min(likeness, redfish::likeness_to_bmc(manager->value, system));
      if (likeness <= best) continue;
      best = likeness;
      likeliest = std::move(manager);
    }
    return likeliest;
  }
  // Returns the version of the BMC's firmware that the service's inventory of software holds; empty if it is not
  // there: the manager's active image, or the entry of the manager's own name.
  std::string firmware_of(const Document& manager) {
    if (const auto image = redfish::link_at(manager.value, {"Links", "ActiveSoftwareImage"}))
      if (const auto document = fixed(*image); document.ok())
        return redfish::text_at(document->value, {"Version"});
    const auto root = fixed(kRoot);
    const auto link = root.ok() ? redfish::link_at(root->value, {"UpdateService"}) : std::nullopt;
    const auto service = link ? fixed(*link) : root;
    const std::string id = redfish::text_at(manager.value, {"Id"});
    if (!link || !service.ok() || id.empty()) return "";
    const auto images = collection(service->value, {"FirmwareInventory"}, redfish::kMaxMembers);
    if (!images.ok()) return "";
    for (const std::string& path : *images)
      if (redfish::last_of_path(path) == id)
        if (const auto document = fixed(path); document.ok())
          return redfish::text_at(document->value, {"Version"});
    return "";
  }
  Reading<Document> manager_now() {
    const bool known = known_.contains(manager_path_);
    const auto manager = this->manager();
    return known ? get(manager_path_) : manager;
  }
  Reading<Document> serial_interface() {
    const auto manager = this->manager();
    return manager.ok() ? first_of(manager->value, {"SerialInterfaces"}) : manager;
  }

  // Returns the logs that may hold the machine's events: those of all its systems, since a baseboard of GPUs has one
  // of its own, or those of the manager, which counts where no system has any event. A log of a doubtful kind is
  // left out where there is a better one.
  std::vector<Document> event_logs(bool of_manager) {
    std::vector<std::pair<int, Document>> candidates;  // likeness, log
    int best = 0;
    const auto look = [&](const Reading<Document>& owner) {
      if (!owner.ok()) return;
      const auto paths = collection(owner->value, {"LogServices"}, kMostSystems);
      if (!paths.ok()) return;
      for (const std::string& path : *paths) {
        const auto log = fixed(path);
        if (!log.ok() || !redfish::link_at(log->value, {"Entries"})) continue;
        const int likeness = redfish::likeness_to_event_log(log->value);
        if (likeness > 0) candidates.emplace_back(likeness, *log);
        best = std::max(best, likeness);
      }
    };
    if (of_manager) {
      look(manager());
    } else {
      look(system());
      for (const std::string& path : other_systems_) look(fixed(path));
    }
    std::vector<Document> logs;
    for (auto& [likeness, log] : candidates)
      if (likeness >= std::min(best, 3)) logs.push_back(std::move(log));
    return logs;
  }
  // Calls `look` with each log that may hold the machine's events and with the path of its entries, until it returns a
  // miss, which is returned. The manager's come last; of them only the SEL counts if `found` is true by then: it is the
  // machine's log, wherever it hangs (MegaRAC).
  template <class Found, class Look>
  std::optional<Miss> each_event_log(Found found, Look look) {
    for (const bool of_manager : {false, true}) {
      const bool sel_alone = found();
      for (const Document& log : event_logs(of_manager)) {
        if (sel_alone && !redfish::is_sel(log.value)) continue;
        if (auto miss = look(log, redfish::link_at(log.value, {"Entries"}).value_or(""))) return miss;
      }
    }
    return std::nullopt;
  }
  // Adds the events of a log. Returns the miss if its first page cannot be read or the service stops answering.
  std::optional<Miss> add_events(const std::string& entries, std::vector<BmcEvent>& events) {
    const auto first = each_page(entries, [&](const Document& page) {
      const auto whole = redfish::whole_members(page.value);
      std::size_t added = 0;
      for (const Value* entry : whole) added += add_event(*entry, events);
      if (whole.empty())
        for (const std::string& link : redfish::members_of(page.value))
          if (const auto entry = get(link); entry.ok()) added += add_event(entry->value, events);
      return added > 0;
    });
    return first.ok() ? std::nullopt : std::optional(first.miss());
  }
  // Adds an entry's event. True if it is a new one and there was room.
  static bool add_event(const Value& entry, std::vector<BmcEvent>& events) {
    auto event = redfish::event_of(entry);
    if (!event || events.size() >= kMostEvents) return false;
    const bool known = std::ranges::any_of(events, [&](const BmcEvent& bmc_event) {
      return bmc_event.id == event->id && bmc_event.time == event->time && bmc_event.event == event->event;
    });
    if (!known) events.push_back(*std::move(event));
    return !known;
  }

  // Adds the sensors of a chassis. Older services hold them all in the documents Thermal and Power; newer
  // ones have a document for each sensor; some have both, of which neither is complete. Returns a miss if the
  // chassis cannot be read or a document times out; other documents that cannot be read are skipped.
  std::optional<Miss> add_chassis(const std::string& path, bool expands, std::vector<BmcSensor>& sensors) {
    const auto chassis = fixed(path);
    if (!chassis.ok()) return chassis.miss();
    const std::size_t before = sensors.size();
    for (const char* name : {"Thermal", "Power"})
      if (const auto link = redfish::link_at(chassis->value, {name})) {
        const auto document = get(*link);
        if (document.ok()) redfish::add_sensors(document->value, sensors);
        if (!document.ok() && document.miss().missing == Missing::kTimeout) return document.miss();
      }
    const std::size_t older = sensors.size() - before;
    if (const auto link = redfish::link_at(chassis->value, {"Sensors"})) {
      std::vector<BmcSensor> own;
      std::vector<std::string> places;
      if (auto missed = add_members(*link, expands, own, &places, older)) return missed;
      redfish::add_others(std::move(own), places, before, sensors);
    }
    if (older > 0) return std::nullopt;
    const bool has_sensors = sensors.size() > before;
    if (const auto power = redfish::link_at(chassis->value, {"PowerSubsystem"}))
      if (const auto subsystem = get(*power); subsystem.ok())
        if (const auto supplies = redfish::link_at(subsystem->value, {"PowerSupplies"}))
          if (auto missed = add_members(*supplies, expands, sensors)) return missed;
    // The values of ThermalSubsystem are excerpts of the sensors.
    if (const auto thermal = redfish::link_at(chassis->value, {"ThermalSubsystem"}); thermal && !has_sensors)
      if (const auto subsystem = get(*thermal); subsystem.ok()) {
        if (const auto metrics = redfish::link_at(subsystem->value, {"ThermalMetrics"}))
          if (const auto document = get(*metrics); document.ok())
            redfish::add_sensors(document->value, sensors);
        if (const auto fans = redfish::link_at(subsystem->value, {"Fans"}))
          return add_members(*fans, expands, sensors);
      }
    return std::nullopt;
  }
  // Adds the sensors in a collection, and the paths of their documents to `places`. Members that need a request each are
  // left alone if the collection has no more of them than are known already. While any are known, the others get a
  // quarter of the call's time.
  std::optional<Miss> add_members(const std::string& path, bool expands, std::vector<BmcSensor>& sensors,
                                  std::vector<std::string>* places = nullptr, std::size_t known = 0) {
    std::optional<Miss> missed;
    const auto add = [&](const Value& member, const std::string& at) {
      redfish::add_sensors(member, sensors);
      if (places) places->resize(sensors.size(), at);
    };
    const auto first = each_page(expands ? path + "?$expand=." : path, [&](const Document& page) {
      const auto whole = redfish::whole_members(page.value);
      for (const Value* member : whole) add(*member, redfish::link_at(*member, {}).value_or(""));
      if (!whole.empty()) return true;
      if (known > 0 && redfish::count_of(page.value) <= known) return false;
      for (const std::string& link : redfish::members_of(page.value)) {
        if (known > 0 && until_ - steady_clock::now() < options_.deadline * 3 / 4) return false;
        const auto member = get(link);
        if (member.ok()) add(member->value, link);
        if (!member.ok() && member.miss().missing == Missing::kTimeout) missed = member.miss();
        if (missed) return false;
      }
      return true;
    });
    if (!missed && !first.ok() && first.miss().missing == Missing::kTimeout) missed = first.miss();
    // A service that announces $expand and refuses it here.
    if (!missed && !first.ok() && expands) return add_members(path, false, sensors, places, known);
    return missed;
  }

  Reading<Document> own_account() {
    const auto root = fixed(kRoot);
    if (!root.ok()) return root;
    const auto link = redfish::link_at(root->value, {"AccountService"});
    if (!link) return {lacking("accounts"), root.from()};
    // A service that demands another password first shows nothing else, but names the account.
    const auto refusal = ask(HttpMethod::kGet, *link);
    if (refusal.ok() && refusal->status == 403)
      if (const auto body = json::parse(refusal->body))
        if (const auto named = redfish::password_account(*body); named && !named->empty())
          return {Document{*named, Value::object(), ""}, refusal.from()};
    const auto service = fixed(*link);
    if (!service.ok()) return service;
    const auto accounts = collection(service->value, {"Accounts"}, redfish::kMaxMembers);
    if (!accounts.ok()) return {accounts.miss(), accounts.from()};
    for (const std::string& path : *accounts) {
      auto account = get(path);
      if (account.ok() && redfish::text_at(account->value, {"UserName"}) == target_.login.user)
        return account;
      if (!account.ok() && account.miss().missing == Missing::kTimeout) return account;
    }
    return {lacking("account of this user"), accounts.from()};
  }
  // VirtualMedia belonged to the manager before it belonged to the system (ComputerSystem 1.13).
  Reading<Document> virtual_cd() {
    const auto system = this->system();
    if (!system.ok()) return system;
    const auto manager = this->manager();
    for (const auto* owner : {&system, &manager}) {
      if (!owner->ok()) continue;
      const auto media = collection((*owner)->value, {"VirtualMedia"}, kMostSystems);
      if (!media.ok()) continue;
      for (const std::string& path : *media)
        if (auto drive = get(path); drive.ok() && redfish::is_virtual_cd(drive->value)) return drive;
    }
    return {lacking("virtual CD"), system.from()};
  }

  BmcTarget target_;
  BmcOptions options_;
  HttpsClient client_;
  steady_clock::time_point until_ = {};
  std::map<std::string, Reading<Document>> known_;  // by path
  std::vector<std::string> other_systems_;          // paths of systems that are not the machine itself
  std::vector<std::string> nodes_;                  // paths of machines among which the node was not found
  std::string session_;                             // path of the session that was opened; empty if none
  bool session_tried_ = false;
  int status_ = 0;  // of the latest response
  Reading<Document> system_;
  std::string manager_path_;
};

}  // namespace

std::unique_ptr<Bmc> open_redfish(BmcTarget target, BmcOptions options) {
  return std::make_unique<RedfishBmc>(std::move(target), std::move(options));
}

}  // namespace railbed
