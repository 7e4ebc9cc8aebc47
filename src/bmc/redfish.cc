// Redfish client (DMTF DSP0266). Only the service root, /redfish/v1/, is assumed: every other path is a link
// in a document. Documents are cached while this object lives, as far as they cannot have changed.
//
// A service may describe several systems: a DGX shows its baseboard of GPUs beside the machine itself. The
// machine is the first system whose boot source can be overridden, or else the first of all. Every chassis
// may hold sensors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/moment.h"
#include "base/text.h"
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
    for (const std::string& path : *chassis)
      if (const auto missed = add_chassis(path, redfish::expands(root->value), sensors))
        return {*missed, chassis.from()};
    return {std::move(sensors), chassis.from()};
  }
  Reading<std::vector<BmcEvent>> events() override {
    begin();
    const auto log = event_log();
    if (!log.ok()) return {log.miss(), log.from()};
    const auto entries = redfish::link_at(log->value, {"Entries"});
    if (!entries) return {lacking("entries of its event log"), log.from()};
    return events_of(*entries);
  }
  Reading<double> clock_offset() override {
    begin();
    const auto manager = manager_now();
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
    return {redfish::serial_of(manager->value, interface.ok() ? interface->value : Value{}), manager.from()};
  }

  Result<void> change_power(PowerAction action) override {
    begin();
    const auto system = system_now();
    if (!system.ok()) return refused(system.miss());
    const auto target = redfish::action_of(system->value, "#ComputerSystem.Reset");
    if (!target) return refused(lacking("switch for the machine's power"));
    const std::string word = redfish::reset_word(action);
    const auto allowed = redfish::allowed_at(
        system->value, {"Actions", "#ComputerSystem.Reset", "ResetType@Redfish.AllowableValues"});
    if (!allowed.empty() && std::ranges::find(allowed, word) == allowed.end())
      return fail(ErrorKind::kUnavailable,
                  fmt::format("its BMC knows no {}, but {}", word, fmt::join(allowed, ", ")));
    return tell(HttpMethod::kPost, *target, {{"ResetType", word}});
  }
  Result<void> set_boot(const BootOrder& order) override {
    begin();
    const auto system = system_now();
    if (!system.ok()) return refused(system.miss());
    ASSIGN_OR_RETURN(const auto patch, redfish::boot_patch(system->value, order));
    return tell(HttpMethod::kPatch, system->path, patch, system->etag);
  }
  Result<void> set_identify(int seconds) override {
    begin();
    const auto system = system_now();
    if (!system.ok()) return refused(system.miss());
    // LocationIndicatorActive took the place of IndicatorLED in ComputerSystem 1.13.
    if (redfish::truth_at(system->value, {"LocationIndicatorActive"}))
      return tell(HttpMethod::kPatch, system->path, {{"LocationIndicatorActive", seconds > 0}}, system->etag);
    if (redfish::text_at(system->value, {"IndicatorLED"}).empty())
      return refused(lacking("light that finds a machine"));
    return tell(HttpMethod::kPatch, system->path, {{"IndicatorLED", seconds > 0 ? "Blinking" : "Off"}},
                system->etag);
  }
  Result<void> clear_events() override {
    begin();
    const auto log = event_log();
    if (!log.ok()) return refused(log.miss());
    const auto target = redfish::action_of(log->value, "#LogService.ClearLog");
    if (!target) return refused(lacking("way to empty its event log"));
    return tell(HttpMethod::kPost, *target, Value::object());
  }
  Result<void> set_serial_rate(int rate) override {
    begin();
    const auto interface = serial_interface();
    if (!interface.ok()) return refused(interface.miss());
    return tell(HttpMethod::kPatch, interface->path, {{"BitRate", std::to_string(rate)}}, interface->etag);
  }
  Result<void> set_password(const std::string& password) override {
    begin();
    const auto account = own_account();
    if (!account.ok()) return refused(account.miss());
    if (auto set = tell(HttpMethod::kPatch, account->path, {{"Password", password}}, account->etag); !set)
      return set;
    client_.set_password(password);
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
    if (const auto target = redfish::action_of(media->value, "#VirtualMedia.InsertMedia"))
      return tell(HttpMethod::kPost, *target, wanted);
    return tell(HttpMethod::kPatch, media->path, wanted, media->etag);
  }
  Result<void> eject_media() override {
    begin();
    const auto media = virtual_cd();
    if (!media.ok()) return refused(media.miss());
    if (!redfish::truth_at(media->value, {"Inserted"}).value_or(true)) return {};
    if (const auto target = redfish::action_of(media->value, "#VirtualMedia.EjectMedia"))
      return tell(HttpMethod::kPost, *target, Value::object());
    return tell(HttpMethod::kPatch, media->path, {{"Image", nullptr}, {"Inserted", false}}, media->etag);
  }

 private:
  using Keys = std::initializer_list<const char*>;

  // Starts the deadline of a call. It is one for the call, however many documents that reads.
  void begin() { until_ = steady_clock::now() + options_.deadline; }

  Reading<Document> get(const std::string& path) {
    auto answer = client_.ask(HttpMethod::kGet, path, "", "", until_);
    if (!answer.ok()) return {answer.miss(), answer.from()};
    if (answer->status != 200) return {redfish::why_refused(answer->status, answer->body), answer.from()};
    auto value = json::parse(answer->body);
    if (!value || !value->is_object())
      return {Miss{Missing::kGarbled, "its BMC's web service answers no document of Redfish"}, answer.from()};
    return {Document{path, *std::move(value), answer->etag}, answer.from()};
  }
  // Returns a document from the cache, or reads and caches it. Only for documents that stay the same during a
  // session: the root, and those that are read for their links.
  Reading<Document> fixed(const std::string& path) {
    if (const auto known = known_.find(path); known != known_.end()) return known->second;
    auto document = get(path);
    if (document.ok()) known_.emplace(path, document);
    return document;
  }
  // Sends a change. Any status from 200 to 299 is a success.
  Result<void> tell(HttpMethod method, const std::string& path, const Value& body,
                    const std::string& etag = "") {
    const auto answer = client_.ask(method, path, json::dump(body), etag, until_);
    if (!answer.ok()) return refused(answer.miss());
    if (answer->status >= 200 && answer->status < 300) return {};
    return refused(redfish::why_refused(answer->status, answer->body));
  }

  // Returns the first `most` members of the collection that the document links to.
  Reading<std::vector<std::string>> collection(const Value& document, Keys keys, std::size_t most) {
    const auto path = redfish::link_at(document, keys);
    if (!path) return {lacking(*(keys.end() - 1)), target_.address};
    return fixed(*path).parsed([&](const Document& it) {
      auto links = redfish::members_of(it.value);
      if (links.size() > most) links.resize(most);
      return std::optional(std::move(links));
    });
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
    for (const std::string& path : *systems) {
      auto one = fixed(path);
      if (!one.ok()) return one;
      const bool boots = !redfish::text_at(one->value, {"Boot", "BootSourceOverrideTarget"}).empty();
      if (!chosen.ok() || boots) chosen = std::move(one);
      if (boots) break;
    }
    return chosen;
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
  // The document of the BMC itself: the machine's first manager, or else the service's first.
  Reading<Document> manager() {
    if (!manager_path_.empty()) return fixed(manager_path_);
    const auto system = this->system();
    if (!system.ok()) return system;
    auto path = redfish::link_at(system->value, {"Links", "ManagedBy"});
    if (!path) {
      const auto managers = collection(fixed(kRoot)->value, {"Managers"}, 1);
      if (!managers.ok()) return {managers.miss(), managers.from()};
      if (managers->empty()) return {lacking("manager"), managers.from()};
      path = managers->front();
    }
    manager_path_ = *path;
    return fixed(*path);
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

  // Returns the log that is most likely the event log, of all logs of the system and then of the manager.
  Reading<Document> event_log() {
    const auto system = this->system();
    if (!system.ok()) return system;
    Reading<Document> best(lacking("event log"), system.from());
    int likeness = 0;
    const auto look = [&](const Reading<Document>& owner) {
      if (!owner.ok()) return;
      const auto logs = collection(owner->value, {"LogServices"}, kMostSystems);
      if (!logs.ok()) return;
      for (const std::string& path : *logs) {
        const auto log = fixed(path);
        if (!log.ok()) continue;
        const int now = redfish::likeness_to_event_log(log->value);
        if (now <= likeness) continue;
        likeness = now;
        best = log;
      }
    };
    look(system);
    if (likeness < 4) look(manager());
    return best;
  }
  // Reads the pages of a log. Pages seen before end the loop, because a service that names the same page
  // twice would never end.
  Reading<std::vector<BmcEvent>> events_of(const std::string& entries) {
    std::vector<BmcEvent> events;
    std::vector<std::string> seen;
    std::optional<std::string> page = entries;
    while (page && static_cast<int>(seen.size()) < kMostPages &&
           std::ranges::find(seen, *page) == seen.end()) {
      seen.push_back(*page);
      const auto document = get(*page);
      // A missing further page leaves what was read so far.
      if (!document.ok() && seen.size() > 1 && document.miss().missing == Missing::kUnsupported) break;
      if (!document.ok()) return {document.miss(), document.from()};
      const auto whole = redfish::whole_members(document->value);
      std::size_t added = 0;
      for (const Value* entry : whole) added += add_event(*entry, events);
      if (whole.empty())
        for (const std::string& link : redfish::members_of(document->value))
          if (const auto entry = get(link); entry.ok()) added += add_event(entry->value, events);
      if (added == 0) break;
      page = redfish::next_page(document->value);
    }
    // The oldest first; events of the same second keep the order in the log.
    std::ranges::stable_sort(events, {}, &BmcEvent::time);
    return {std::move(events), fmt::format("GET https://{}{}", target_.address, entries)};
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
  // ones have a document for each sensor. Returns a miss if the chassis cannot be read or a document times
  // out; other documents that cannot be read are skipped.
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
    if (sensors.size() > before) return std::nullopt;
    if (const auto link = redfish::link_at(chassis->value, {"Sensors"}))
      if (auto missed = add_members(*link, expands, sensors)) return missed;
    if (const auto power = redfish::link_at(chassis->value, {"PowerSubsystem"}))
      if (const auto subsystem = get(*power); subsystem.ok())
        if (const auto supplies = redfish::link_at(subsystem->value, {"PowerSupplies"}))
          return add_members(*supplies, expands, sensors);
    return std::nullopt;
  }
  std::optional<Miss> add_members(const std::string& path, bool expands, std::vector<BmcSensor>& sensors) {
    const auto all = get(expands ? path + "?$expand=." : path);
    if (!all.ok()) return all.miss().missing == Missing::kTimeout ? std::optional(all.miss()) : std::nullopt;
    const auto whole = redfish::whole_members(all->value);
    for (const Value* member : whole) redfish::add_sensors(*member, sensors);
    if (!whole.empty()) return std::nullopt;
    for (const std::string& link : redfish::members_of(all->value)) {
      const auto member = get(link);
      if (member.ok()) redfish::add_sensors(member->value, sensors);
      if (!member.ok() && member.miss().missing == Missing::kTimeout) return member.miss();
    }
    return std::nullopt;
  }

  Reading<Document> own_account() {
    const auto root = fixed(kRoot);
    if (!root.ok()) return root;
    const auto link = redfish::link_at(root->value, {"AccountService"});
    if (!link) return {lacking("accounts"), root.from()};
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
        if (auto one = get(path); one.ok() && redfish::is_virtual_cd(one->value)) return one;
    }
    return {lacking("virtual CD"), system.from()};
  }

  BmcTarget target_;
  BmcOptions options_;
  HttpsClient client_;
  steady_clock::time_point until_ = {};
  std::map<std::string, Reading<Document>> known_;  // by path
  Reading<Document> system_;
  std::string manager_path_;
};

}  // namespace

std::unique_ptr<Bmc> open_redfish(BmcTarget target, BmcOptions options) {
  return std::make_unique<RedfishBmc>(std::move(target), std::move(options));
}

}  // namespace railbed
