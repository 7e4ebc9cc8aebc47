#include "facts/software/engine_files.h"

#include <gmock/gmock.h>

#include <string>

#include "base/json.h"
#include "facts/collectors.h"
#include "host/tree.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// containerd 1.7 as kubeadm's guides set it up: `containerd config default`, with SystemdCgroup.
constexpr std::string_view kVersion2 = R"(disabled_plugins = []
imports = []
oom_score = 0
version = 2

[grpc]
  address = "/run/containerd/containerd.sock"

[plugins]

  [plugins."io.containerd.grpc.v1.cri"]
    sandbox_image = "registry.k8s.io/pause:3.9"

    [plugins."io.containerd.grpc.v1.cri".containerd]
      default_runtime_name = "runc"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes]

        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
          cni_max_conf_num = 0
          pod_annotations = []
          runtime_type = "io.containerd.runc.v2"

          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
            BinaryName = ""
            SystemdCgroup = true

    [plugins."io.containerd.grpc.v1.cri".registry.configs."r.example".auth]
      password = "s3cret"
)";

// The same with `nvidia-ctk runtime configure --runtime=containerd` of 1.17, which writes the file anew.
constexpr std::string_view kNvidiaVersion2 = R"(version = 2

[plugins]

  [plugins."io.containerd.grpc.v1.cri"]

    [plugins."io.containerd.grpc.v1.cri".containerd]
      default_runtime_name = "nvidia"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes]

        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
          privileged_without_host_devices = false
          runtime_engine = ""
          runtime_root = ""
          runtime_type = "io.containerd.runc.v2"

          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
            BinaryName = "/usr/bin/nvidia-container-runtime"
)";

// containerd 2 as k3s and others write it.
constexpr std::string_view kVersion3 = R"(version = 3
imports = ['/etc/containerd/conf.d/*.toml']

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = true
)";

// CRI-O of pkgs.k8s.io, /etc/crio/crio.conf.d/10-crio.conf.
constexpr std::string_view kCrio = R"([crio.image]
signature_policy = "/etc/crio/policy.json"

[crio.runtime]
default_runtime = "crun"

[crio.runtime.runtimes.crun]
runtime_path = "/usr/libexec/crio/crun"
runtime_root = "/run/crun"
monitor_path = "/usr/libexec/crio/conmon"
allowed_annotations = [
    "io.containers.trace-syscall",
]

[crio.runtime.runtimes.runc]
runtime_path = "/usr/libexec/crio/runc"
runtime_root = "/run/runc"
monitor_path = "/usr/libexec/crio/conmon"
)";

ContainerEngines engines_of(std::string_view lines) {
  auto tree =
      parse_tree("railbed-tree 1\n" + std::string(lines), "test",
                 [](const std::string&) -> Result<Tree> { return fail(ErrorKind::kBadInput, "no bases"); });
  EXPECT_TRUE(tree) << tree.error().text;
  return collect_engines(*open_tree(tree ? std::move(*tree) : Tree{}));
}

std::string engine_text(std::string_view path, std::string_view content) {
  return std::string(path) + " <<END\n" + std::string(content) + "END\n";
}

std::vector<std::string> names(const std::vector<EngineRuntime>& runtimes) {
  std::vector<std::string> all;
  for (const EngineRuntime& runtime : runtimes) all.push_back(runtime.name + "=" + runtime.program);
  return all;
}

TEST(EngineFile, ReadsBothVersionsOfContainerd) {
  const auto second = parse_engine_file(kVersion2);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->says.version, 2);
  EXPECT_TRUE(second->says.cri);
  EXPECT_TRUE(second->has_section);
  EXPECT_EQ(second->says.default_runtime, "runc");
  ASSERT_THAT(names(second->says.runtimes), ElementsAre("runc="));
  EXPECT_EQ(second->says.runtimes[0].settings.at("options.SystemdCgroup"), "true");
  EXPECT_EQ(second->says.runtimes[0].settings.at("pod_annotations"), "[]");
  EXPECT_THAT(names(parse_engine_file(kNvidiaVersion2)->says.runtimes),
              ElementsAre("nvidia=/usr/bin/nvidia-container-runtime"));
  EXPECT_THAT(names(parse_engine_file(kVersion3)->says.runtimes), ElementsAre("runc="));
  // Version 3 does not read the plugin of version 2.
  EXPECT_THAT(
      parse_engine_file("version = 3\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia]\n")
          ->says.runtimes,
      IsEmpty());
  // As Docker's package ships it.
  const auto docker = parse_engine_file("disabled_plugins = [\"cri\"]\n#root = \"/var/lib/containerd\"\n");
  EXPECT_FALSE(docker->says.cri);
  EXPECT_FALSE(docker->says.blank);
  EXPECT_EQ(docker->says.version, 0);
  EXPECT_TRUE(parse_engine_file("# nothing\n")->says.blank);
  EXPECT_FALSE(parse_engine_file("version = \n"));
}

TEST(EngineFile, ReadsCrio) {
  const auto crio = parse_engine_file(kCrio);
  ASSERT_TRUE(crio);
  EXPECT_EQ(crio->says.default_runtime, "crun");
  EXPECT_THAT(names(crio->says.runtimes),
              ElementsAre("crun=/usr/libexec/crio/crun", "runc=/usr/libexec/crio/runc"));
  EXPECT_EQ(crio->says.runtimes[0].settings.at("monitor_path"), "\"/usr/libexec/crio/conmon\"");
}

TEST(EngineFile, KeepsWhatIsReadAndNothingElse) {
  for (const std::string_view text : {kVersion2, kNvidiaVersion2, kVersion3, kCrio}) {
    const std::string kept = used_engine_file(text);
    EXPECT_THAT(kept, Not(HasSubstr("s3cret")));
    EXPECT_THAT(kept, Not(HasSubstr("registry")));
    EXPECT_EQ(used_engine_file(kept), kept);
    const auto before = parse_engine_file(text);
    const auto after = parse_engine_file(kept);
    ASSERT_TRUE(after) << kept;
    EXPECT_EQ(json::dump(json::encode(after->says)), json::dump(json::encode(before->says))) << kept;
    EXPECT_EQ(after->imports, before->imports);
    EXPECT_EQ(after->has_section, before->has_section);
  }
  EXPECT_FALSE(parse_engine_file(used_engine_file("a = ")));
  EXPECT_FALSE(parse_engine_file(used_engine_file("root = '/x'\n"))->says.blank);
}

TEST(EngineFile, LeavesOutWhatIsHostile) {
  const auto hostile = parse_engine_file(
      "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.\"a\\nb\"]\n"
      "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n"
      "runtime_type = \"\\u001b[2J\"\n\"x/y\" = 1\nlist = [1]\ngood = [\"a\"]\n");
  ASSERT_TRUE(hostile);
  ASSERT_THAT(names(hostile->says.runtimes), ElementsAre("runc="));
  EXPECT_EQ(hostile->says.runtimes[0].settings, (std::map<std::string, std::string>{{"good", "[\"a\"]"}}));
}

TEST(CollectEngines, FollowContainerdsImports) {
  const auto engines = engines_of(
      engine_text("/etc/containerd/config.toml", kVersion3) +
      engine_text("/etc/containerd/conf.d/99-nvidia.toml",
                  "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]\n"
                  "BinaryName = '/usr/bin/nvidia-container-runtime'\n") +
      engine_text("/etc/containerd/conf.d/notes.txt", "no toml\n"));
  ASSERT_TRUE(engines.containerd.ok()) << engines.containerd.miss().why;
  EXPECT_THAT(names(engines.containerd->runtimes),
              ElementsAre("runc=", "nvidia=/usr/bin/nvidia-container-runtime"));
  EXPECT_THAT(engines.containerd->overriding, ElementsAre("/etc/containerd/conf.d/99-nvidia.toml"));
}

TEST(CollectEngines, DoNotGuessWhatContainerdImports) {
  EXPECT_EQ(
      engines_of(engine_text("/etc/containerd/config.toml", "version = 2\nimports = ['/opt/c/*.toml']\n"))
          .containerd.miss()
          .missing,
      Missing::kUnsupported);
  EXPECT_EQ(engines_of(engine_text("/etc/containerd/config.toml", "version = 2\nimports = ['../shadow']\n"))
                .containerd.miss()
                .missing,
            Missing::kUnsupported);
  EXPECT_EQ(engines_of(engine_text("/etc/containerd/config.toml", "version = \n")).containerd.miss().missing,
            Missing::kGarbled);
  EXPECT_EQ(engines_of("/etc/containerd/config.toml ! EACCES\n").containerd.miss().missing, Missing::kDenied);
  EXPECT_TRUE(engines_of("").containerd.absent());
  // Two files that import each other.
  const auto both =
      engines_of(engine_text("/etc/containerd/config.toml", "version = 2\nimports = ['a.toml']\n") +
                 engine_text("/etc/containerd/a.toml",
                             "version = 2\nimports = ['/etc/containerd/config.toml', 'a.toml']\n"));
  EXPECT_TRUE(both.containerd.ok());
  const auto beside =
      engines_of(engine_text("/etc/containerd/config.toml", "version = 2\nimports = ['d/a.toml']\n") +
                 engine_text("/etc/containerd/d/a.toml", "imports = ['b.toml']\n") +
                 engine_text("/etc/containerd/d/b.toml",
                             "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia]\n"));
  EXPECT_THAT(names(beside.containerd->runtimes), ElementsAre("nvidia="));
  // From 2.2 on these are read without a file of its own.
  const auto blank = engines_of(engine_text("/etc/containerd/conf.d/x.toml", "version = 2\n"));
  EXPECT_TRUE(blank.containerd->blank);
  EXPECT_THAT(blank.containerd->overriding, ElementsAre("/etc/containerd/conf.d/x.toml"));
}

TEST(CollectEngines, JoinCriosFiles) {
  const auto engines = engines_of(
      engine_text("/etc/crio/crio.conf.d/10-crio.conf", kCrio) +
      engine_text(
          "/etc/crio/crio.conf.d/99-nvidia.conf",
          "[crio]\n\n  [crio.runtime]\n    default_runtime = \"nvidia\"\n\n    [crio.runtime.runtimes]\n\n"
          "      [crio.runtime.runtimes.nvidia]\n        runtime_path = \"/usr/bin/nvidia-container-runtime\"\n"
          "        runtime_type = \"oci\"\n") +
      "/sys/fs/cgroup/system.slice/crio.service/cgroup.procs = 7\n");
  ASSERT_TRUE(engines.crio.ok());
  EXPECT_EQ(engines.crio->default_runtime, "nvidia");
  EXPECT_THAT(names(engines.crio->runtimes),
              ElementsAre("crun=/usr/libexec/crio/crun", "runc=/usr/libexec/crio/runc",
                          "nvidia=/usr/bin/nvidia-container-runtime"));
  EXPECT_EQ(engines.crio_runs.value_or(false), true);
  EXPECT_EQ(engines_of("/sys/fs/cgroup/system.slice/ssh.service/cgroup.procs = 7\n").crio_runs.value_or(true),
            false);
  EXPECT_TRUE(engines_of("").crio.absent());
}

}  // namespace
}  // namespace railbed
