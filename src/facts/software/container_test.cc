#include "facts/software/container.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/text.h"
#include "facts/system.h"
#include "host/host.h"

namespace railbed {
namespace {

// Returns the given outputs in order; everything else is absent. Records all commands.
class Answers : public Host {
 public:
  explicit Answers(std::deque<Reading<CommandOutput>> outputs) : outputs_(std::move(outputs)) {}
  Reading<std::string> read(std::string_view path, std::size_t) override { return none(path); }
  Reading<std::vector<std::string>> list(std::string_view path) override { return {none(path).miss(), ""}; }
  Reading<std::string> resolve(std::string_view path) override { return none(path); }
  Reading<std::string> call(std::string_view name) override { return none(name); }
  Reading<CommandOutput> run(const std::vector<std::string>& words, std::chrono::milliseconds) override {
    asked.push_back(words);
    if (outputs_.empty()) return {none("run").miss(), "run"};
    auto output = std::move(outputs_.front());
    outputs_.pop_front();
    return output;
  }
  std::vector<std::vector<std::string>> asked;

 private:
  static Reading<std::string> none(std::string_view path) {
    return {Miss{Missing::kAbsent, "none"}, std::string(path)};
  }
  std::deque<Reading<CommandOutput>> outputs_;
};

Reading<CommandOutput> said(int code, std::string output, std::string error = {}) {
  return {CommandOutput{code, std::move(output), std::move(error)}, "run"};
}
Reading<CommandOutput> missed(Missing missing) { return {Miss{missing, ""}, "run"}; }

const ContainerPlan kPlan{.image = "ubuntu:24.04", .runtime = {}, .gpus = true, .rdma = true};
constexpr const char* kSight =
    "gpu 0\ngpu 1\nrdma rdma_cm\nrdma uverbs0\nmemlock unlimited\nlibcuda\nsmi 2\nend\n";

bool holds(const std::vector<std::string>& words, const std::string& text) {
  std::string all;
  for (const std::string& word : words) all += " " + word;
  return all.find(text) != std::string::npos;
}

TEST(Container, SaysWhatItSees) {
  Answers host({said(0, kSight)});
  const auto look = look_into_container(host, kPlan);
  ASSERT_TRUE(look) << look.miss().why;
  EXPECT_EQ(look->runtime, "docker");
  EXPECT_EQ(look->start, ContainerStart::kStarted);
  EXPECT_EQ(look->inside.gpus, (std::vector<int>{0, 1}));
  EXPECT_EQ(look->inside.rdma_nodes, (std::vector<std::string>{"rdma_cm", "uverbs0"}));
  EXPECT_EQ(look->inside.memlock, kUnlimited);
  EXPECT_TRUE(look->inside.libcuda);
  EXPECT_EQ(look->inside.listed, 2);
}

TEST(Container, GetsWhatAJobGetsAndNoMore) {
  Answers host({said(0, kSight)});
  look_into_container(host, kPlan);
  const auto& words = host.asked.at(0);
  for (const char* const part : {" run --rm --pull=never ", " --network none ", " --cap-drop ALL ",
                                 " no-new-privileges ", " --gpus all ", " --device /dev/infiniband "})
    EXPECT_TRUE(holds(words, part)) << part;
  for (const std::string& word : words) EXPECT_EQ(word.find('\n'), std::string::npos);
  EXPECT_EQ(*(std::ranges::find(words, "--entrypoint") + 2), "ubuntu:24.04");

  Answers bare({missed(Missing::kAbsent), missed(Missing::kAbsent), said(0, kSight)});
  look_into_container(bare, {.image = "ubuntu", .runtime = {}});
  EXPECT_TRUE(holds(bare.asked.at(2), "podman run"));
  EXPECT_TRUE(holds(bare.asked.at(2), "label=disable"));
  EXPECT_FALSE(holds(bare.asked.at(2), "--device"));
  Answers podman({said(0, kSight)});
  look_into_container(podman, {.image = "ubuntu", .runtime = "podman", .gpus = true});
  EXPECT_TRUE(holds(podman.asked.at(0), " --device nvidia.com/gpu=all "));
}

TEST(Container, NamesWhatKeptItFromStarting) {
  using enum ContainerStart;
  const std::pair<const char*, ContainerStart> cases[] = {
      {"docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]]",
       kNoGpuSupport},
      {"Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all", kNoGpuSupport},
      {"docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?",
       kNoDaemon},
      {"permission denied while trying to connect to the Docker daemon socket at unix:///x", kDenied},
      {"docker: Error response from daemon: No such image: nvcr.io/nvidia/nvidia-container:1", kNoImage},
      {"Error: localhost/none:1: image not known", kNoImage},
      {"Conflict. The container name \"/railbed-look\" is already in use by container \"4f\"", kBusy},
      {"stderr: nvidia-container-cli: initialization error: nvml error: driver not loaded", kGpuSetup},
      {"Error: crun: setrlimit `RLIMIT_MEMLOCK`: Operation not permitted: OCI permission denied", kMemlock},
      {"error setting rlimits for ready process: error setting rlimit type 8: operation not permitted",
       kMemlock},
      {"exec: \"sh\": executable file not found in $PATH: unknown.", kNoShell},
      {"Error: crun: executable file `sh` not found in $PATH: No such file or directory", kNoShell},
      {"no space left on device", kFailed},
  };
  for (const auto& [error, start] : cases) {
    Answers host({said(125, "", std::string(error) + "\n\nRun 'docker run --help' for more information\n")});
    const auto look = look_into_container(host, kPlan);
    ASSERT_TRUE(look);
    EXPECT_EQ(look->start, start) << error;
    EXPECT_EQ(look->said, error);
  }
}

TEST(Container, WithoutARuntimeIsToldFromATreeThatDoesNotKnow) {
  Answers none({missed(Missing::kAbsent), said(1, ""), missed(Missing::kAbsent), said(1, "")});
  EXPECT_EQ(look_into_container(none, kPlan)->start, ContainerStart::kNoRuntime);
  Answers tree({});
  EXPECT_TRUE(look_into_container(tree, kPlan).absent());
}

TEST(Container, ThatHangsIsRemoved) {
  Answers host({missed(Missing::kTimeout), said(0, "")});
  EXPECT_EQ(look_into_container(host, kPlan).miss().missing, Missing::kTimeout);
  EXPECT_EQ(host.asked.at(1), (std::vector<std::string>{"docker", "rm", "--force", "railbed-look"}));
}

TEST(Container, OfNoImageIsNotStarted) {
  Answers host({said(0, kSight)});
  EXPECT_TRUE(look_into_container(host, {}).absent());
  EXPECT_EQ(look_into_container(host, {.image = "--privileged", .runtime = {}}).miss().missing,
            Missing::kUnsupported);
  EXPECT_TRUE(host.asked.empty());
}

TEST(ContainerSight, IsReadStrictly) {
  EXPECT_TRUE(parse_container_sight(kSight));
  EXPECT_FALSE(parse_container_sight(""));
  EXPECT_FALSE(parse_container_sight("memlock 65536\n")) << "cut off";
  EXPECT_FALSE(parse_container_sight("gpu 0\nend\n")) << "without a limit";
  EXPECT_FALSE(parse_container_sight("memlock 65536\nhello\nend\n"));
  EXPECT_FALSE(parse_container_sight("memlock 65536\ngpu -1\nend\n"));
  EXPECT_FALSE(parse_container_sight("memlock 65536\nrdma ../../etc\nend\n"));
  const auto sight = parse_container_sight("memlock 65536\nsmi 0\nsaid Failed to \x1b[2J\nend\n");
  ASSERT_TRUE(sight);
  EXPECT_EQ(sight->memlock, 65536u);
  EXPECT_EQ(sight->complaint, printable("Failed to \x1b[2J"));
}

}  // namespace
}  // namespace railbed
