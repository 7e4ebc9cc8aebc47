// Events to whatever receives Alertmanager's webhooks, in its format
// (prometheus.io/docs/alerting/latest/configuration/#webhook_config, version 4). One thread sends; a receiver
// that hangs, refuses or floods costs that thread's time alone. What waits is bounded: the oldest is dropped,
// counted and told. Of alerts with the same labels the latest waits, as a receiver keeps one of them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "monitor/events.h"

namespace railbed {

// One alert as a receiver gets it; waiting ones are kept in the state file.
struct Alert {
  std::string status;                         // firing, resolved
  std::map<std::string, std::string> labels;  // alertname, rule, node, subject, severity: whom it is
  std::map<std::string, std::string> annotations;
  std::string starts_at;  // RFC 3339
  std::string ends_at;    // the year 1 while it fires
  std::string generator_url;
  std::string fingerprint;  // of the labels
  static void fields(auto&& field) {
    field("status", &Alert::status);
    field("labels", &Alert::labels);
    field("annotations", &Alert::annotations);
    field("startsAt", &Alert::starts_at);
    field("endsAt", &Alert::ends_at);
    field("generatorURL", &Alert::generator_url);
    field("fingerprint", &Alert::fingerprint);
  }
};

// What an event means to a receiver of alerts: none for starts and facts; two where the severity is another
// now, for that is a label: the old one is resolved.
std::vector<Alert> alerts_of(const NodeEvent& event);

// The body of one request; the alerts are of one node.
std::string webhook_body(const std::vector<Alert>& alerts, const std::string& receiver);

struct WebhookOptions {
  std::string url;         // http:// or https://
  std::string token_file;  // 0600; sent as a bearer token, over https or to this machine only; empty: none
  std::string receiver = "railbed";
  bool send_resolved = true;
  std::chrono::milliseconds timeout{10'000};
  std::chrono::milliseconds first_pause{1'000};  // after a failure; twice as long after each further one,
  std::chrono::milliseconds most_pause{60'000};  // until this
  std::size_t most_waiting = 1000;
  // What a person should know of it, a line each; from the sending thread too.
  std::function<void(const std::string&)> note = {};
};

struct WebhookCounts {
  std::uint64_t sent = 0;      // alerts that were accepted
  std::uint64_t failures = 0;  // requests that were not
  std::uint64_t dropped = 0;   // alerts: too many waited, or the receiver refused them
};

class Webhook {
 public:
  static Result<std::unique_ptr<Webhook>> open(WebhookOptions options);
  ~Webhook();  // stops what is under way; what waits is not sent

  void send(std::vector<Alert> alerts);
  std::vector<Alert> waiting() const;
  WebhookCounts counts() const;

 private:
  struct Entry {
    std::uint64_t number = 0;
    Alert alert;
  };
  enum class Outcome { kAccepted, kRefused, kFailed };

  explicit Webhook(WebhookOptions options);
  void run(const std::stop_token& stop);
  std::vector<Entry> next_batch() const;
  Outcome post(const std::string& body, const std::stop_token& stop, std::string& why) const;
  void finish(const std::vector<Entry>& batch, Outcome outcome, const std::string& why);
  void note(const std::string& text) const;

  WebhookOptions options_;
  std::string place_;  // of the URL what no secret stands in
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Entry> queue_;
  std::uint64_t number_ = 0;
  WebhookCounts counts_;
  std::uint64_t failed_in_a_row_ = 0;
  bool told_dropped_ = false;
  std::jthread thread_;  // the last: it ends before what it uses
};

// "https://alerts.example:8443" of a URL that a webhook may have; says what is wrong with others.
Result<std::string> webhook_place(const std::string& url, bool has_token);

}  // namespace railbed
