#include "monitor/events/webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/json.h"
#include "base/testing/temporary_folder.h"
#include "monitor/testing/alert_receiver.h"

namespace railbed {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

NodeEvent red(EventKind kind, const std::string& subject = "mlx5_0/1") {
  NodeEvent event;
  event.time = {1'800'000'600};
  event.kind = kind;
  event.node = "gpu01";
  event.rule = "rdma.port-down";
  event.subject = subject;
  event.status = Status::kFail;
  event.present = kind != EventKind::kGone;
  event.message = subject + " is DOWN";
  event.remedy = "Plug the cable in.";
  event.since = UtcTime{1'800'000'000};
  return event;
}

class WebhookTest : public ::testing::Test {
 protected:
  WebhookOptions options(const std::string& url) {
    WebhookOptions options;
    options.url = url;
    options.timeout = milliseconds(2000);
    options.first_pause = milliseconds(20);
    options.most_pause = milliseconds(100);
    options.note = [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      notes_ += text + '\n';
    };
    return options;
  }
  std::unique_ptr<Webhook> open(WebhookOptions options) {
    auto webhook = Webhook::open(std::move(options));
    EXPECT_TRUE(webhook) << webhook.error().text;
    return webhook ? std::move(*webhook) : nullptr;
  }
  std::string notes() {
    const std::lock_guard lock(mutex_);
    return notes_;
  }
  // Waits until the queue is empty. Returns false if it is not after ten seconds.
  static bool sent_all(const Webhook& webhook) {
    for (int i = 0; i < 1000 && !webhook.waiting().empty(); ++i)
      std::this_thread::sleep_for(milliseconds(10));
    return webhook.waiting().empty();
  }
  std::string token_file(const std::string& text, mode_t mode = 0600) {
    const std::string path = folder_ + "/token";
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }

  TemporaryFolder temporary_;
  std::string folder_ = temporary_.path();
  std::mutex mutex_;
  std::string notes_;
};

// The format of prometheus.io/docs/alerting/latest/configuration/#webhook_config.
TEST(Alerts, AreInAlertmanagersFormat) {
  NodeEvent event = red(EventKind::kAppeared);
  event.changes_before = {"firmware of mlx5_0 20.39 → 20.43, 2 h before"};
  const auto message = *json::parse(webhook_body(alerts_of(event), "railbed"));
  EXPECT_EQ(message["version"], "4");
  EXPECT_EQ(message["status"], "firing");
  EXPECT_EQ(message["receiver"], "railbed");
  EXPECT_EQ(message["groupKey"], "{}:{node=\"gpu01\"}");
  EXPECT_EQ(message["groupLabels"]["node"], "gpu01");
  EXPECT_EQ(message["commonLabels"]["alertname"], "rdma.port-down");
  EXPECT_EQ(message["externalURL"], "");
  EXPECT_EQ(message["truncatedAlerts"], 0);
  const auto& alert = message["alerts"][0];
  EXPECT_EQ(alert["status"], "firing");
  EXPECT_EQ(alert["labels"]["severity"], "critical");
  EXPECT_EQ(alert["labels"]["subject"], "mlx5_0/1");
  EXPECT_EQ(alert["annotations"]["summary"], "gpu01: mlx5_0/1 is DOWN");
  EXPECT_EQ(alert["annotations"]["description"],
            "mlx5_0/1 is DOWN. Before it: firmware of mlx5_0 20.39 → 20.43, 2 h before.");
  EXPECT_EQ(alert["annotations"]["remedy"], "Plug the cable in.");
  EXPECT_EQ(alert["startsAt"], "2027-01-15T08:00:00Z");
  EXPECT_EQ(alert["endsAt"], "0001-01-01T00:00:00Z");
  EXPECT_EQ(alert["generatorURL"], "");
  EXPECT_EQ(alert["fingerprint"].get<std::string>().size(), 16U);
}

TEST(Alerts, WhatIsGoneIsResolved) {
  const auto gone = alerts_of(red(EventKind::kGone));
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].status, "resolved");
  EXPECT_EQ(gone[0].ends_at, "2027-01-15T08:10:00Z");
  NodeEvent held = red(EventKind::kGone);
  held.until = UtcTime{1'800'000'300};
  EXPECT_EQ(alerts_of(held)[0].ends_at, "2027-01-15T08:05:00Z") << "when it went, not when that was told";
  EXPECT_EQ(gone[0].fingerprint, alerts_of(red(EventKind::kAppeared))[0].fingerprint);
}

TEST(Alerts, AnotherSeverityIsAnotherAlert) {
  NodeEvent worse = red(EventKind::kChanged);
  worse.was = Status::kWarn;
  const auto alerts = alerts_of(worse);
  ASSERT_EQ(alerts.size(), 2U);
  EXPECT_EQ(alerts[0].status + alerts[0].labels.at("severity"), "resolvedwarning");
  EXPECT_EQ(alerts[1].status + alerts[1].labels.at("severity"), "firingcritical");
  EXPECT_NE(alerts[0].fingerprint, alerts[1].fingerprint);
}

TEST(Alerts, OfWhatFlapsOneFiresUntilItIsCalmAndGone) {
  EXPECT_EQ(alerts_of(red(EventKind::kFlapping))[0].status, "firing");
  NodeEvent flapping = red(EventKind::kFlapping);
  flapping.flaps = 5;
  flapping.flapping_since = UtcTime{1'800'000'300};
  EXPECT_EQ(alerts_of(flapping)[0].annotations.at("description"),
            "mlx5_0/1 is DOWN. It comes and goes. It changed 5 times since 2027-01-15T08:05:00Z. It is not "
            "reported again until it settles.");
  EXPECT_EQ(alerts_of(flapping)[0].fingerprint, alerts_of(red(EventKind::kAppeared))[0].fingerprint);
  NodeEvent calm = red(EventKind::kCalm);
  EXPECT_EQ(alerts_of(calm)[0].status, "firing");
  calm.present = false;
  EXPECT_EQ(alerts_of(calm)[0].status, "resolved");
  NodeEvent fact;
  fact.kind = EventKind::kFactChanged;
  EXPECT_TRUE(alerts_of(fact).empty());
}

TEST(Alerts, WhereTheyMayGo) {
  EXPECT_EQ(*webhook_place("https://alerts.example:8443/x?key=s3cret", true), "https://alerts.example:8443");
  EXPECT_EQ(*webhook_place("http://[::1]:9/x", true), "http://[::1]:9");
  EXPECT_TRUE(webhook_place("http://10.0.0.1/x", false));
  EXPECT_FALSE(webhook_place("http://10.0.0.1/x", true));
  EXPECT_FALSE(webhook_place("http://127.0.0.1.evil.example/x", true));
  EXPECT_FALSE(webhook_place("http://localhost.evil.example/", true));
  for (const char* bad :
       {"", "ftp://a/", "file:///etc/passwd", "http://", "http:///x", "http://:80/", "http://me:pw@a/",
        "http://a b/", "http://a\r\nX: y/", "http://[::1", "a.example/x"}) {
    const auto place = webhook_place(bad, false);
    ASSERT_FALSE(place) << bad;
    EXPECT_THAT(place.error().text, Not(HasSubstr("pw@")));
  }
}

TEST_F(WebhookTest, FailsThenIsTaken) {
  AlertReceiver receiver([](int request) { return AlertReceiver::status(request < 3 ? 500 : 200); });
  auto webhook = open(options(receiver.url()));
  webhook->send(alerts_of(red(EventKind::kAppeared)));
  ASSERT_TRUE(sent_all(*webhook));
  EXPECT_EQ(webhook->counts().failures, 3U);
  EXPECT_EQ(webhook->counts().sent, 1U);
  EXPECT_EQ(receiver.bodies()[0], receiver.bodies()[3]);
  EXPECT_THAT(receiver.heads()[3], HasSubstr("POST /alerts HTTP/1.1"));
  EXPECT_THAT(receiver.heads()[3], HasSubstr("Content-Type: application/json"));
  EXPECT_THAT(notes(), HasSubstr("it answers HTTP 500; alerts wait, and are sent again"));
  EXPECT_THAT(notes(), HasSubstr("takes alerts again, after 3 failures"));
}

TEST_F(WebhookTest, NobodyListensYet) {
  std::string url;
  {
    const AlertReceiver gone;
    url = gone.url();
  }
  auto webhook = open(options(url));
  webhook->send(alerts_of(red(EventKind::kAppeared)));
  for (int i = 0; i < 1000 && webhook->counts().failures < 2; ++i)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(webhook->waiting().size(), 1U);
  EXPECT_GE(webhook->counts().failures, 2U);
}

TEST_F(WebhookTest, AReceiverThatHangsCostsNothingButItself) {
  AlertReceiver receiver([](int request) { return request == 0 ? "" : AlertReceiver::status(200); });
  WebhookOptions impatient = options(receiver.url());
  impatient.timeout = milliseconds(200);
  auto webhook = open(impatient);
  webhook->send(alerts_of(red(EventKind::kAppeared)));
  ASSERT_TRUE(receiver.wait_for(1));
  webhook->send(alerts_of(red(EventKind::kAppeared, "mlx5_1/1")));  // even if the receiver hangs
  ASSERT_TRUE(sent_all(*webhook));
  EXPECT_EQ(webhook->counts().sent, 2U);
}

TEST_F(WebhookTest, EndsWhileAReceiverHangs) {
  AlertReceiver receiver([](int) { return ""; });
  WebhookOptions patient = options(receiver.url());
  patient.timeout = std::chrono::hours(1);
  auto webhook = open(patient);
  webhook->send(alerts_of(red(EventKind::kAppeared)));
  ASSERT_TRUE(receiver.wait_for(1));
  EXPECT_EQ(webhook->waiting().size(), 1U);
  webhook.reset();  // waiting for an hour would exceed the test's timeout
}

TEST_F(WebhookTest, AHugeAnswerIsNotRead) {
  AlertReceiver receiver([](int) {
    return "HTTP/1.1 200 x\r\nContent-Length: 10000000\r\n\r\n" + std::string(10'000'000, 'x');
  });
  auto webhook = open(options(receiver.url()));
  webhook->send(alerts_of(red(EventKind::kAppeared)));
  ASSERT_TRUE(sent_all(*webhook));
  EXPECT_EQ(webhook->counts().sent, 1U);
}

TEST_F(WebhookTest, ARedirectionIsNotFollowed) {
  AlertReceiver elsewhere;
  AlertReceiver receiver(
      [&](int) { return AlertReceiver::status(302, "Location: " + elsewhere.url() + "\r\n"); });
  auto webhook = open(options(receiver.url()));
  webhook->send(alerts_of(red(EventKind::kAppeared)));
  ASSERT_TRUE(sent_all(*webhook));
  EXPECT_EQ(webhook->counts().dropped, 1U);
  EXPECT_TRUE(elsewhere.bodies().empty());
  EXPECT_THAT(notes(), HasSubstr("it answers HTTP 302; 1 alerts are dropped"));
}

TEST_F(WebhookTest, WhatWaitsIsBoundedAndTheOldestIsDropped) {
  bool open_door = false;
  std::mutex mutex;
  AlertReceiver receiver([&](int) {
    const std::lock_guard lock(mutex);
    return AlertReceiver::status(open_door ? 200 : 503);
  });
  WebhookOptions small = options(receiver.url());
  small.most_waiting = 10;
  auto webhook = open(small);
  for (int i = 0; i < 25; ++i) webhook->send(alerts_of(red(EventKind::kAppeared, std::to_string(i))));
  EXPECT_EQ(webhook->waiting().size(), 10U);
  EXPECT_EQ(webhook->counts().dropped, 15U);
  EXPECT_EQ(webhook->waiting().front().labels.at("subject"), "15");
  {
    const std::lock_guard lock(mutex);
    open_door = true;
  }
  ASSERT_TRUE(sent_all(*webhook));
  EXPECT_GE(webhook->counts().sent, 10U) << "what is dropped while it is under way may arrive all the same";
  EXPECT_THAT(notes(), HasSubstr("more than 10 alerts wait: the oldest are dropped"));
  EXPECT_THAT(receiver.bodies().back(), HasSubstr("24 is DOWN"));
}

TEST_F(WebhookTest, OfOneAlertTheLatestWaits) {
  AlertReceiver receiver([](int) { return AlertReceiver::status(503); });
  auto webhook = open(options(receiver.url()));
  webhook->send(alerts_of(red(EventKind::kAppeared)));
  webhook->send(alerts_of(red(EventKind::kGone)));
  ASSERT_EQ(webhook->waiting().size(), 1U);
  EXPECT_EQ(webhook->waiting()[0].status, "resolved");
}

TEST_F(WebhookTest, SendsATokenThatNoNoteHolds) {
  AlertReceiver receiver([](int request) { return AlertReceiver::status(request == 0 ? 401 : 200); });
  WebhookOptions with_token = options(receiver.url("/services/s3cret-path"));
  with_token.token_file = token_file("s3cret-t0ken\n");
  auto webhook = open(with_token);
  webhook->send(alerts_of(red(EventKind::kAppeared)));
  ASSERT_TRUE(receiver.wait_for(1));
  EXPECT_THAT(receiver.heads()[0], HasSubstr("Authorization: Bearer s3cret-t0ken\r\n"));
  EXPECT_THAT(receiver.bodies()[0], Not(HasSubstr("s3cret")));
  ASSERT_TRUE(sent_all(*webhook));
  token_file("renewed\n");
  webhook->send(alerts_of(red(EventKind::kGone)));
  ASSERT_TRUE(receiver.wait_for(2));
  EXPECT_THAT(receiver.heads()[1], HasSubstr("Authorization: Bearer renewed\r\n"));
  ASSERT_TRUE(sent_all(*webhook));
  EXPECT_THAT(notes(), HasSubstr("HTTP 401"));
  EXPECT_THAT(notes(), Not(HasSubstr("s3cret")));
}

TEST_F(WebhookTest, ATokenThatOthersReadOrThatIsNoneIsRefused) {
  WebhookOptions with_token = options("https://alerts.example/");
  with_token.token_file = token_file("t0ken", 0644);
  EXPECT_THAT(Webhook::open(with_token).error().text, HasSubstr("chmod 600"));
  for (const char* text : {"", "two words", "line\nbreak", "\x01"}) {
    with_token.token_file = token_file(text);
    EXPECT_FALSE(Webhook::open(with_token)) << text;
  }
  with_token.token_file = token_file("t0ken");
  with_token.url = "http://10.0.0.1/";
  EXPECT_THAT(Webhook::open(with_token).error().text, HasSubstr("over https only"));
}

TEST_F(WebhookTest, ResolvedOnesAreLeftOutWhereNobodyWantsThem) {
  AlertReceiver receiver;
  WebhookOptions quiet = options(receiver.url());
  quiet.send_resolved = false;
  auto webhook = open(quiet);
  webhook->send(alerts_of(red(EventKind::kGone)));
  EXPECT_TRUE(webhook->waiting().empty());
}

}  // namespace
}  // namespace railbed
