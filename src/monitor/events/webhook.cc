#include "monitor/events/webhook.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/wipe.h"
#include "monitor/injection.h"
#include "os/curl.h"

namespace railbed {
namespace {

constexpr std::size_t kMostInRequest = 64;
constexpr std::size_t kMostAnswer = 64 << 10;  // its content is not used
constexpr std::size_t kLongestToken = 8 << 10;
constexpr std::size_t kLongestUrl = 2048;
// Go's zero time, which Alertmanager sends for an alert that is firing
constexpr std::string_view kStillFiring = "0001-01-01T00:00:00Z";

struct WebhookMessage {
  std::string receiver;
  std::string status;
  std::vector<Alert> alerts;
  std::map<std::string, std::string> group_labels;
  std::map<std::string, std::string> common_labels;
  std::map<std::string, std::string> common_annotations;
  std::string external_url;
  std::string version = "4";
  std::string group_key;
  int truncated_alerts = 0;
  static void fields(auto&& field) {
    using M = WebhookMessage;
    field("receiver", &M::receiver);
    field("status", &M::status);
    field("alerts", &M::alerts);
    field("groupLabels", &M::group_labels);
    field("commonLabels", &M::common_labels);
    field("commonAnnotations", &M::common_annotations);
    field("externalURL", &M::external_url);
    field("version", &M::version);
    field("groupKey", &M::group_key);
    field("truncatedAlerts", &M::truncated_alerts);
  }
};

std::string_view severity_label(Status status) {
  if (status == Status::kFail) return "critical";
  return status == Status::kWarn ? "warning" : "info";
}

std::string fingerprint_of(const std::map<std::string, std::string>& labels) {
  std::string text;
  for (const auto& [name, value] : labels) text += name + '\0' + value + '\0';
  return sha256_hex(text).substr(0, 16);
}

// Times are UTC here, because the receiver may be elsewhere.
std::string flapping_text(const NodeEvent& event) {
  const std::string changes = event.flapping_since ? fmt::format(" It changed {} times since {}.",
                                                                 event.flaps, event.flapping_since->to_text())
                                                   : "";
  return fmt::format("It comes and goes.{} It is not reported again until it settles.", changes);
}

Alert alert_of(const NodeEvent& event, Status status, bool firing) {
  Alert alert;
  alert.status = firing ? "firing" : "resolved";
  alert.labels = {{"alertname", event.rule},
                  {"rule", event.rule},
                  {"node", event.node},
                  {"subject", event.subject},
                  {"severity", std::string(severity_label(status))}};
  if (is_injected(event.message)) alert.labels["injected"] = "true";
  const bool flaps = event.kind == EventKind::kFlapping;
  alert.annotations = {
      {"summary", fmt::format("{}: {}{}", event.node, flaps ? "comes and goes: " : "", event.message)}};
  std::string more = flaps ? flapping_text(event) : "";
  for (const std::string& change : event.changes_before)
    more += fmt::format("{}Before it: {}.", more.empty() ? "" : " ", change);
  alert.annotations["description"] = more.empty() ? event.message : event.message + ". " + more;
  if (!event.remedy.empty()) alert.annotations["remedy"] = event.remedy;
  alert.starts_at = event.since.value_or(event.time).to_text();
  alert.ends_at = firing ? std::string(kStillFiring) : event.until.value_or(event.time).to_text();
  alert.fingerprint = fingerprint_of(alert.labels);
  return alert;
}

std::string node_label(const Alert& alert) {
  const auto found = alert.labels.find("node");
  return found == alert.labels.end() ? "" : found->second;
}

std::map<std::string, std::string> common(const std::vector<Alert>& alerts,
                                          std::map<std::string, std::string> Alert::*member) {
  std::map<std::string, std::string> shared = alerts.front().*member;
  for (const Alert& alert : alerts)
    std::erase_if(shared, [&](const auto& pair) {
      const auto found = (alert.*member).find(pair.first);
      return found == (alert.*member).end() || found->second != pair.second;
    });
  return shared;
}

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

Result<std::string> read_token(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  if ((status.st_mode & 077) != 0)
    return fail(ErrorKind::kBadInput,
                fmt::format("others may read {}: `{}`", path, command("chmod 600 {}", path).text()));
  ASSIGN_OR_RETURN(auto text, read_file(path, kLongestToken));
  std::string token(trim(text));
  wipe(text);
  if (is_plain_word(token, kLongestToken)) return token;
  wipe(token);
  return fail(ErrorKind::kBadInput, fmt::format("{}: a token is one word of visible characters", path));
}

}  // namespace

std::vector<Alert> alerts_of(const NodeEvent& event) {
  if (event.rule.empty()) return {};
  std::vector<Alert> alerts;
  if (event.was && severity_label(*event.was) != severity_label(event.status))
    alerts.push_back(alert_of(event, *event.was, false));
  const bool over = event.kind == EventKind::kGone || (event.kind == EventKind::kCalm && !event.present);
  // The end of a finding resolves one alert: that of the old severity, or of this one.
  if (!over || alerts.empty()) alerts.push_back(alert_of(event, event.status, !over));
  return alerts;
}

std::string webhook_body(const std::vector<Alert>& alerts, const std::string& receiver) {
  WebhookMessage message;
  message.receiver = receiver;
  const bool fires = std::ranges::any_of(alerts, [](const Alert& alert) { return alert.status == "firing"; });
  message.status = fires ? "firing" : "resolved";
  message.alerts = alerts;
  const std::string node = node_label(alerts.front());
  message.group_labels = {{"node", node}};
  message.common_labels = common(alerts, &Alert::labels);
  message.common_annotations = common(alerts, &Alert::annotations);
  message.group_key = fmt::format("{{}}:{{node={}}}", json::dump(json::encode(node)));
  return json::dump(json::encode(message));
}

Result<std::string> webhook_place(const std::string& url, bool has_token) {
  const auto refuse = [](std::string_view why) {
    return fail(ErrorKind::kBadInput, fmt::format("the webhook's URL: {}", why));  // it may hold a secret
  };
  const bool encrypted = url.starts_with("https://");
  if (!encrypted && !url.starts_with("http://")) return refuse("it begins with http:// or https://");
  if (!is_plain_word(url, kLongestUrl))
    return refuse("it has 2048 visible characters at most, and no spaces");
  const std::size_t begin = url.find("//") + 2;
  const std::size_t end = std::min(url.find_first_of("/?#", begin), url.size());
  const std::string_view authority = std::string_view(url).substr(begin, end - begin);
  if (authority.find_first_of("@\\") != std::string_view::npos)
    return refuse("no user and password there: name a file with a token");
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (authority.empty() || bracket == std::string_view::npos) return refuse("it names no host");
  const std::string_view host = authority.substr(0, authority.find(':', bracket));
  if (host.empty()) return refuse("it names no host");
  if (has_token && !encrypted && !is_this_machine(host))
    return refuse("a token goes over https only, or to this machine: everybody on the way could read it");
  return url.substr(0, end);
}

Webhook::Webhook(WebhookOptions options) : options_(std::move(options)) {}

Result<void> Webhook::check(const WebhookOptions& options) {
  if (!curl().error.empty()) return fail(ErrorKind::kUnavailable, curl().error);
  RETURN_IF_ERROR(webhook_place(options.url, !options.token_file.empty()));
  if (options.token_file.empty()) return {};
  ASSIGN_OR_RETURN(auto token, read_token(options.token_file));
  wipe(token);
  return {};
}

Result<std::unique_ptr<Webhook>> Webhook::open(WebhookOptions options) {
  RETURN_IF_ERROR(check(options));
  ASSIGN_OR_RETURN(auto place, webhook_place(options.url, !options.token_file.empty()));
  std::unique_ptr<Webhook> webhook(new Webhook(std::move(options)));
  webhook->place_ = std::move(place);
  webhook->thread_ = std::jthread([self = webhook.get()](const std::stop_token& stop) { self->run(stop); });
  return webhook;
}

Webhook::~Webhook() = default;

void Webhook::note(const std::string& text) const {
  if (options_.note) options_.note(fmt::format("webhook {}: {}", place_, printable(text)));
}

void Webhook::send(std::vector<Alert> alerts) {
  bool tell = false;
  {
    const std::lock_guard lock(mutex_);
    for (Alert& alert : alerts) {
      if (!options_.send_resolved && alert.status == "resolved") continue;
      std::erase_if(queue_, [&](const Entry& entry) { return entry.alert.fingerprint == alert.fingerprint; });
      queue_.push_back({++number_, std::move(alert)});
    }
    while (queue_.size() > options_.most_waiting) {
      queue_.pop_front();
      ++counts_.dropped;
      tell = !told_dropped_;
      told_dropped_ = true;
    }
  }
  changed_.notify_all();
  if (tell) note(fmt::format("more than {} alerts wait: the oldest are dropped", options_.most_waiting));
}

std::vector<Alert> Webhook::waiting() const {
  const std::lock_guard lock(mutex_);
  std::vector<Alert> alerts;
  for (const Entry& entry : queue_) alerts.push_back(entry.alert);
  return alerts;
}

WebhookCounts Webhook::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

// Returns the oldest alerts of one node. They stay in the queue until they are accepted or refused.
std::vector<Webhook::Entry> Webhook::next_batch() const {
  std::vector<Entry> batch;
  for (const Entry& entry : queue_)
    if (batch.size() < kMostInRequest && node_label(entry.alert) == node_label(queue_.front().alert))
      batch.push_back(entry);
  return batch;
}

void Webhook::run(const std::stop_token& stop) {
  std::chrono::milliseconds pause{0};
  while (!stop.stop_requested()) {
    std::vector<Entry> batch;
    {
      std::unique_lock lock(mutex_);
      // New alerts do not shorten a pause, which gives the receiver time to recover.
      if (pause.count() > 0) changed_.wait_for(lock, stop, pause, [] { return false; });
      changed_.wait(lock, stop, [&] { return !queue_.empty(); });
      if (stop.stop_requested()) return;
      batch = next_batch();
    }
    std::vector<Alert> alerts;
    for (const Entry& entry : batch) alerts.push_back(entry.alert);
    std::string why;
    const Outcome outcome = post(webhook_body(alerts, options_.receiver), stop, why);
    if (stop.stop_requested()) return;
    finish(batch, outcome, why);
    const bool failed = outcome == Outcome::kFailed;
    pause = failed ? std::clamp(pause * 2, options_.first_pause, options_.most_pause)
                   : std::chrono::milliseconds(0);
  }
}

Webhook::Outcome Webhook::post(const std::string& body, const std::stop_token& stop, std::string& why) const {
  std::vector<std::string> headers = {"Content-Type: application/json", "Expect:", "User-Agent: railbed"};
  if (!options_.token_file.empty()) {  // read each time: tokens are renewed
    auto token = read_token(options_.token_file);
    if (!token) {
      why = token.error().text;
      return Outcome::kFailed;
    }
    headers.push_back("Authorization: Bearer " + *token);
    wipe(*token);
  }
  HttpHandle handle;
  if (handle.begin(CURLPROTO_HTTP | CURLPROTO_HTTPS, options_.timeout, stop)) {
    handle.set(CURLOPT_POST, 1L);
    handle.set(CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    handle.set(CURLOPT_POSTFIELDS, body.c_str());
  }
  HttpBody answer{kMostAnswer};
  const CURLcode code =
      handle ? handle.perform(options_.url, headers, answer, options_.timeout) : CURLE_FAILED_INIT;
  if (!options_.token_file.empty()) wipe(headers.back());
  const int status = code == CURLE_OK || code == CURLE_WRITE_ERROR ? handle.status() : 0;
  if (status >= 200 && status < 300) return Outcome::kAccepted;  // even if the body is longer than the limit
  why = status == 0 ? curl().words(code) : fmt::format("it answers HTTP {}", status);
  // An alert that is refused now would be refused later, too. Alertmanager decides the same way.
  const bool passing = status == 0 || status >= 500 || status == 408 || status == 429;
  return passing ? Outcome::kFailed : Outcome::kRefused;
}

void Webhook::finish(const std::vector<Entry>& batch, Outcome outcome, const std::string& why) {
  std::string said;
  {
    const std::lock_guard lock(mutex_);
    if (outcome != Outcome::kFailed) {
      // An alert that was replaced meanwhile has another number and is sent separately.
      const auto done = [&](const Entry& entry) {
        return std::ranges::any_of(batch, [&](const Entry& sent) { return sent.number == entry.number; });
      };
      std::erase_if(queue_, done);
    }
    if (outcome == Outcome::kAccepted) {
      counts_.sent += batch.size();
      if (failed_in_a_row_ > 0)
        said = fmt::format("takes alerts again, after {} failures; {} alerts were dropped since the start",
                           failed_in_a_row_, counts_.dropped);
      failed_in_a_row_ = 0;
      told_dropped_ = false;
    } else {
      ++counts_.failures;
      if (outcome == Outcome::kRefused) counts_.dropped += batch.size();
      if (failed_in_a_row_++ == 0)
        said = why + (outcome == Outcome::kRefused ? fmt::format("; {} alerts are dropped", batch.size())
                                                   : "; alerts wait, and are sent again");
    }
  }
  if (!said.empty()) note(said);
}

}  // namespace railbed
