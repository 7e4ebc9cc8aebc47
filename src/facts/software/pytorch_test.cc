#include "facts/software/pytorch.h"

#include <gtest/gtest.h>

#include "host/host.h"

namespace railbed {
namespace {

// Returns the same output for every program; records the words.
class OneAnswer : public Host {
 public:
  explicit OneAnswer(CommandOutput output) : output_(std::move(output)) {}
  Reading<std::string> read(std::string_view path, std::size_t) override { return none(path); }
  Reading<std::vector<std::string>> list(std::string_view path) override { return {none(path).miss(), ""}; }
  Reading<std::string> resolve(std::string_view path) override { return none(path); }
  Reading<std::string> call(std::string_view name) override {
    return changeable.empty() ? none(name) : Reading<std::string>(changeable, std::string(name));
  }
  Reading<CommandOutput> run(const std::vector<std::string>& words, std::chrono::milliseconds) override {
    asked = words;
    return {output_, "python"};
  }
  std::vector<std::string> asked;
  std::string changeable;  // result of the call "changeable"

 private:
  static Reading<std::string> none(std::string_view path) {
    return {Miss{Missing::kAbsent, "none"}, std::string(path)};
  }
  CommandOutput output_;
};

constexpr std::chrono::seconds kMinute{60};

TEST(CollectPyTorch, ReadsWhatPythonPrintsLast) {
  OneAnswer host(
      {0,
       "a warning of a library\n{\"version\": \"2.5.1+cu124\", \"cuda\": \"12.4\", \"cuda_available\": true, "
       "\"devices\": 8, \"nccl\": true, \"nccl_version\": \"2.21.5\"}\n",
       ""});
  const auto torch = collect_pytorch(host, "/opt/venv", kMinute, false);
  ASSERT_TRUE(torch) << torch.miss().why;
  EXPECT_EQ(torch->version, "2.5.1+cu124");
  EXPECT_EQ(torch->devices, 8);
  EXPECT_TRUE(torch->nccl);
  EXPECT_EQ(host.asked.front(), "/opt/venv/bin/python");
  for (const std::string& word : host.asked) EXPECT_EQ(word.find('\n'), std::string::npos);
}

TEST(CollectPyTorch, TriesAGpuOnlyWhereNobodyElseUsesOne) {
  OneAnswer host(
      {0,
       "{\"version\": \"2.11.0\", \"operation\": \"worked\", \"all_reduce\": \"KeyError('{x}')\"}\n"
       "vm:616:616 [0] NCCL INFO ENV/Plugin: Closing env plugin ncclEnvDefault\n",
       ""});
  const auto torch = collect_pytorch(host, "/opt/venv", kMinute, true);
  ASSERT_TRUE(torch) << torch.miss().why;
  EXPECT_EQ(torch->operation, "worked");
  EXPECT_EQ(torch->all_reduce, "KeyError('{x}')");
  EXPECT_EQ(host.asked.back(), "try");
  collect_pytorch(host, "/opt/venv", kMinute, false);
  EXPECT_NE(host.asked.back(), "try");
}

TEST(CollectPyTorch, SaysWhyThereIsNone) {
  OneAnswer error({0, "{\"error\": \"ModuleNotFoundError(\\\"No module named 'torch'\\\")\"}\n", ""});
  EXPECT_EQ(collect_pytorch(error, "/opt/venv", kMinute, false)->error,
            "ModuleNotFoundError(\"No module named 'torch'\")");
  OneAnswer crashed({139, "", ""});
  EXPECT_EQ(collect_pytorch(crashed, "/opt/venv", kMinute, false)->error, "python ended with 139");
  OneAnswer nonsense({0, "hello\n", ""});
  EXPECT_EQ(collect_pytorch(nonsense, "/opt/venv", kMinute, false).miss().missing, Missing::kGarbled);
  EXPECT_TRUE(collect_pytorch(nonsense, "", kMinute, false).absent());
  EXPECT_EQ(collect_pytorch(nonsense, "venv", kMinute, false).miss().missing, Missing::kUnsupported);
}

TEST(CollectPyTorch, RunsNothingThatOthersCanChange) {
  OneAnswer host({0, "{\"version\": \"2.5.1\"}\n", ""});
  host.changeable = R"(["/home/mallory/venv/bin"])";
  const auto torch = collect_pytorch(host, "/home/mallory/venv", kMinute, false);
  EXPECT_EQ(torch.miss().missing, Missing::kDenied);
  EXPECT_TRUE(torch.miss().why.starts_with("/home/mallory/venv/bin can be changed by users other"))
      << torch.miss().why;
  EXPECT_TRUE(host.asked.empty());
  host.changeable = "[]";
  EXPECT_TRUE(collect_pytorch(host, "/opt/venv", kMinute, false));
}

}  // namespace
}  // namespace railbed
