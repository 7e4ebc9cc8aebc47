// Sends events to a receiver of Alertmanager's webhooks, in its format
// (prometheus.io/docs/alerting/latest/configuration/#webhook_config, version 4).
//
// One thread sends, so that a receiver that hangs, refuses or floods affects only this thread. Alerts wait in
// a bounded queue. If it is full, the oldest is dropped, counted and reported. Of alerts with the same labels
// only the latest waits, because a receiver keeps only one of them. A request holds up to 64 alerts of one
// node. They stay in the queue until the receiver accepts or refuses them. After a failure that may pass, the
// thread pauses, each time twice as long up to a limit, and sends them again.
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
#include "monitor/events/events.h"

namespace railbed {

// One alert as a receiver gets it. Waiting alerts are saved in the state file.
struct Alert {
  std::string status;                         // "firing" or "resolved"
  std::map<std::string, std::string> labels;  // its identity: alertname, rule, node, subject, severity
  std::map<std::string, std::string> annotations;
  std::string starts_at;  // RFC 3339
  std::string ends_at;    // the year 1 while it is firing
  std::string generator_url;
  std::string fingerprint;  // hash of the labels
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

// Returns the alerts that follow from an event. A start or a changed fact has none. A change of severity has
// two, because the severity is a label: the alert with the old one is resolved.
std::vector<Alert> alerts_of(const NodeEvent& event);

// Returns the body of one request. The alerts must not be empty, and belong to one node.
std::string webhook_body(const std::vector<Alert>& alerts, const std::string& receiver);

// Settings of a webhook.
struct WebhookOptions {
  std::string url;  // http:// or https://
  // Mode 0600; sent as a bearer token, only over https or to this machine; empty for none.
  std::string token_file;
  std::string receiver = "railbed";
  bool send_resolved = true;
  std::chrono::milliseconds timeout{10'000};
  std::chrono::milliseconds first_pause{1'000};  // after a failure; doubles after each further one,
  std::chrono::milliseconds most_pause{60'000};  // up to this
  std::size_t most_waiting = 1000;
  // Receives one line for each problem. May be called from the sending thread.
  std::function<void(const std::string&)> note = {};
};

struct WebhookCounts {
  std::uint64_t sent = 0;      // alerts that were accepted
  std::uint64_t failures = 0;  // requests that were not accepted
  std::uint64_t dropped = 0;   // alerts that were dropped: the queue was full, or the receiver refused them
};

// See the head of this file. Thread-safe.
class Webhook {
 public:
  // Returns what open() would fail with, and starts nothing.
  static Result<void> check(const WebhookOptions& options);
  // Starts the thread. Fails if the URL or the token file cannot be used, or libcurl is missing.
  static Result<std::unique_ptr<Webhook>> open(WebhookOptions options);
  ~Webhook();  // aborts the request in progress; waiting alerts are not sent

  // Queues alerts. Does not block.
  void send(std::vector<Alert> alerts);
  // Returns the alerts in the queue.
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
  std::string place_;  // the part of the URL that holds no secret
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Entry> queue_;
  std::uint64_t number_ = 0;
  WebhookCounts counts_;
  std::uint64_t failed_in_a_row_ = 0;
  bool told_dropped_ = false;
  std::jthread thread_;  // last, because it uses the members above
};

// Returns the scheme, host and port of a URL: "https://alerts.example:8443". Fails with the reason if a
// webhook may not use the URL.
Result<std::string> webhook_place(const std::string& url, bool has_token);

}  // namespace railbed
