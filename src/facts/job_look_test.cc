#include "facts/job_look.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "host/open.h"

namespace railbed {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<Host> job_machine(const std::string& tree) {
  auto host = open_root(tree);
  EXPECT_TRUE(host) << host.error().text;
  return host ? std::shared_ptr<Host>(std::move(*host)) : nullptr;
}

TEST(JobLook, ReadsPortsInterfacesAndGpusOfACapturedNode) {
  const auto host = job_machine("tests/machines/h100-cx7/gpu01.tree");
  ASSERT_TRUE(host);
  const JobGlance seen = glance_at_node(host, 20s, 0.0);
  EXPECT_FALSE(seen.hangs);
  EXPECT_FALSE(seen.look.driver.empty());
  EXPECT_TRUE(seen.look.uptime);
  ASSERT_FALSE(seen.look.gpus.empty());
  for (const auto& [address, gpu] : seen.look.gpus) {
    EXPECT_TRUE(gpu.unread.empty()) << address << ": " << gpu.unread;
    EXPECT_FALSE(gpu.uuid.empty());
    EXPECT_TRUE(gpu.counters.contains("ecc_uncorrectable"));
    EXPECT_TRUE(gpu.temperature);
  }
  ASSERT_FALSE(seen.look.ports.empty());
  for (const auto& [name, port] : seen.look.ports) {
    EXPECT_NE(name.find('/'), std::string::npos);
    EXPECT_FALSE(port.state.empty());
  }
  EXPECT_FALSE(seen.look.interfaces.empty());
}

// A captured machine whose GPUs were held back, and on which one call hangs, like a broken driver.
class HangingHost : public Host {
 public:
  HangingHost(std::shared_ptr<Host> real, std::string hangs)
      : real_(std::move(real)), hangs_(std::move(hangs)) {}
  Reading<std::string> read(std::string_view path, std::size_t limit) override {
    return real_->read(path, limit);
  }
  Reading<std::vector<std::string>> list(std::string_view path) override { return real_->list(path); }
  Reading<std::string> resolve(std::string_view path) override { return real_->resolve(path); }
  Reading<CommandOutput> run(const std::vector<std::string>& words,
                             std::chrono::milliseconds deadline) override {
    return real_->run(words, deadline);
  }
  Reading<std::string> call(std::string_view name) override {
    if (name == hangs_) std::this_thread::sleep_for(3s);
    if (name == "nvml held-back")
      return {R"({"0000:17:00.0": {"power brake": 5000000000}, "0000:99:00.0": {"power cap": 1}})",
              std::string(name)};
    return real_->call(name);
  }

 private:
  std::shared_ptr<Host> real_;
  std::string hangs_;
};

TEST(JobLook, ReadsForHowLongGpusWereHeldBack) {
  const auto real = job_machine("tests/machines/h100-cx7/gpu01.tree");
  ASSERT_TRUE(real);
  const JobGlance seen = glance_at_node(std::make_shared<HangingHost>(real, ""), 20s, std::nullopt);
  ASSERT_TRUE(seen.look.gpus.contains("0000:17:00.0"));
  EXPECT_EQ(seen.look.gpus.at("0000:17:00.0").held_back.at("power brake"), 5'000'000'000U);
  EXPECT_FALSE(seen.look.gpus.contains("0000:99:00.0")) << "no such GPU is on PCI";
}

TEST(JobLook, LeavesOutTheGpuThatHangsAndNamesIt) {
  const auto real = job_machine("tests/machines/h100-cx7/gpu01.tree");
  ASSERT_TRUE(real);
  const auto whole = glance_at_node(real, 20s, std::nullopt);
  ASSERT_GE(whole.look.gpus.size(), 1U);
  const std::string address = whole.look.gpus.begin()->first;
  const auto host = std::make_shared<HangingHost>(real, "nvml " + address);
  const JobGlance seen = glance_at_node(host, 500ms, std::nullopt);
  EXPECT_TRUE(seen.hangs);
  EXPECT_EQ(seen.look.gpus.size(), whole.look.gpus.size());
  EXPECT_NE(seen.look.gpus.at(address).unread.find("no answer within 0.5 s"), std::string::npos);
  EXPECT_FALSE(seen.log.ok());
  EXPECT_TRUE(seen.log.absent());
}

TEST(JobLook, ReadsTheLogSinceTheJobBegan) {
  const auto host = job_machine("tests/machines/h100-xid-31/gpu01.tree");
  ASSERT_TRUE(host);
  const JobGlance all = glance_at_node(host, 20s, 0.0);
  ASSERT_TRUE(all.log);
  ASSERT_FALSE(all.log->events.empty());
  const JobGlance later = glance_at_node(host, 20s, all.log->events.front().last + 1e6);
  EXPECT_TRUE(!later.log || later.log->events.empty());
}

}  // namespace
}  // namespace railbed
