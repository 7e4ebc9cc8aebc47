#include <gmock/gmock.h>

#include "settings/step.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// A node with a GPU, driver 580.95.05, docker and NVIDIA's toolkit.
Facts container_node() {
  Facts facts = facts_of_machine("h100-toolkit-sound").begin()->second;
  facts.gpus.driver_version = {"580.95.05", "test"};
  std::vector<Service> services = facts.system.services.value_or({});
  std::erase_if(services, [](const Service& service) { return service.name == "docker"; });
  services.push_back({"docker", "loaded", "active", "enabled", 7});
  facts.system.services = {services, "test"};
  facts.system.engines.toolkit = {true, "test"};
  facts.system.engines.hook = {true, "test"};
  facts.system.engines.cdi_refresh = {false, "test"};
  facts.system.engines.docker_runtimes = {Miss{Missing::kAbsent, "no such file"}, "test"};
  facts.system.engines.cdi = {Miss{Missing::kAbsent, "no such folder"}, "test"};
  return facts;
}

std::optional<Setting> service_setting(const std::string& name, const Facts& facts, std::string_view expect,
                                       std::string_view configure = "") {
  const std::string yaml = "railbed: 1\ncluster: one\nexpect: {" + std::string(expect) + "}\nconfigure: {" +
                           std::string(configure) + "}\nnodes: [gpu1]\n";
  for (Setting& setting : sample(yaml, {{"gpu1", facts}}).render("gpu1", Section::kServices)) {
    for (const NodeStep& step : setting.steps) EXPECT_TRUE(check_step(step)) << setting.title;
    if (setting.name == name) return std::move(setting);
  }
  return std::nullopt;
}

constexpr std::string_view kDockerImage = "container: 'nvcr.io/nvidia/pytorch:25.01-py3'";
constexpr std::string_view kPodmanImage =
    "container: 'nvcr.io/nvidia/pytorch:25.01-py3', container_runtime: podman";

TEST(DockerGpus, AreAskedForByAnImageAndNeedTheToolkit) {
  Facts facts = container_node();
  const auto setting = service_setting("services/docker-gpus", facts, kDockerImage);
  ASSERT_TRUE(setting);
  EXPECT_EQ(setting->needs.at(0).now, false);
  EXPECT_EQ(setting->files.at(0).path, "/etc/docker/daemon.json");
  EXPECT_EQ(setting->risk, Risk::kService);
  EXPECT_FALSE(service_setting("services/docker-gpus", facts, ""));
  EXPECT_FALSE(service_setting("services/docker-gpus", facts, kPodmanImage));
  facts.system.engines.docker_runtimes = {std::vector<std::string>{"nvidia"}, "test"};
  EXPECT_EQ(service_setting("services/docker-gpus", facts, kDockerImage)->needs.at(0).at_boot, true);
  facts.system.engines.docker_runtimes = {Miss{Missing::kGarbled, "no JSON"}, "test"};
  EXPECT_EQ(service_setting("services/docker-gpus", facts, kDockerImage)->needs.at(0).now, std::nullopt);
  facts.system.engines.toolkit = {false, "test"};
  EXPECT_FALSE(service_setting("services/docker-gpus", facts, kDockerImage));
}

TEST(DockerGpus, AreMadeUnaskedWhereNothingLeadsToAGpu) {
  Facts facts = container_node();
  facts.system.engines.hook = {Miss{Missing::kAbsent, "no such file"}, "test"};
  const auto setting = service_setting("services/docker-gpus", facts, "");
  ASSERT_TRUE(setting);
  EXPECT_FALSE(setting->asked);
  EXPECT_EQ(setting->subjects, std::vector<std::string>{"docker"});
  facts.system.engines.cdi = {Miss{Missing::kDenied, "only root"}, "test"};
  EXPECT_FALSE(service_setting("services/docker-gpus", facts, ""));
}

TEST(DockerGpus, KeepWhatElseIsInDaemonJson) {
  const auto setting = service_setting("services/docker-gpus", container_node(), kDockerImage);
  ASSERT_TRUE(setting);
  const DesiredFile& file = setting->files.at(0);
  const std::string merged =
      content_after(file, R"({"data-root": "/mnt/docker", "runtimes": {"kata": {"path": "kata"}}})");
  EXPECT_EQ(merged, R"({
  "data-root": "/mnt/docker",
  "runtimes": {
    "kata": {
      "path": "kata"
    },
    "nvidia": {
      "args": [],
      "path": "nvidia-container-runtime"
    }
  }
}
)");
  EXPECT_EQ(content_after(file, merged), merged);
  // As `nvidia-ctk runtime configure` writes it: four spaces, and nothing left to do.
  const std::string theirs = R"({
    "runtimes": {
        "nvidia": {
            "args": [],
            "path": "nvidia-container-runtime"
        }
    }
})";
  EXPECT_EQ(content_after(file, theirs), theirs);
  EXPECT_EQ(content_after(file, "{ \"a\": "), "{ \"a\": ");  // dockerd does not read it either
  EXPECT_EQ(content_after(file, "[]"), "[]");
  EXPECT_THAT(content_after(file, std::nullopt), HasSubstr("\"nvidia\""));
}

TEST(Cdi, IsDescribedAnewAtEachBoot) {
  Facts facts = container_node();
  const auto own = service_setting("services/cdi", facts, kPodmanImage);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->needs.at(0).now, false);
  EXPECT_EQ(own->files.at(0).path, "/etc/systemd/system/railbed-cdi.service");
  EXPECT_THAT(own->files[0].content, HasSubstr("--output=/run/cdi/nvidia.yaml\n"));
  EXPECT_THAT(own->steps, Contains(NodeStep{StepKind::kEnableUnit, {"railbed-cdi.service"}}));
  facts.system.engines.cdi_refresh = {true, "test"};  // the toolkit's own, from 1.18 on
  const auto theirs = service_setting("services/cdi", facts, kPodmanImage);
  EXPECT_THAT(theirs->files, IsEmpty());
  EXPECT_EQ(theirs->needs.at(0).at_boot, true);
  EXPECT_FALSE(service_setting("services/cdi", facts, kDockerImage));  // docker does not need one
}

TEST(Cdi, ADescriptionOfAnotherDriverMovesAside) {
  Facts facts = container_node();
  facts.system.engines.cdi = {
      std::vector<CdiSpec>{
          {"/etc/cdi/nvidia.yaml", "570.133.20", {"/usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20"}}},
      "test"};
  const auto stale = service_setting("services/cdi", facts, "");
  ASSERT_TRUE(stale);
  EXPECT_FALSE(stale->asked);
  EXPECT_EQ(stale->needs.at(0).now, false);
  EXPECT_EQ(stale->contradictions.at(0).path, "/etc/cdi/nvidia.yaml");
  // One in /run replaces it.
  std::vector<CdiSpec> both = *facts.system.engines.cdi;
  both.push_back({"/run/cdi/nvidia.yaml", "580.95.05", {}});
  facts.system.engines.cdi = {both, "test"};
  EXPECT_EQ(service_setting("services/cdi", facts, "")->needs.at(0).now, true);
  facts.system.engines.cdi = {std::vector<CdiSpec>{{"/etc/cdi/nvidia.yaml", "580.95.05", {}}}, "test"};
  const auto current = service_setting("services/cdi", facts, "");
  EXPECT_EQ(current->needs.at(0).now, true);
  EXPECT_THAT(current->contradictions, IsEmpty());
}

TEST(Cdi, IsMadeAnewForGpusThatItDoesNotDescribe) {
  Facts facts = container_node();
  facts.gpus.device_nodes = {std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}, "test"};
  facts.system.engines.cdi = {
      std::vector<CdiSpec>{{"/etc/cdi/nvidia.yaml", "580.95.05", {}, {0, 1, 2, 3, 4, 5, 6}}}, "test"};
  const auto partial = service_setting("services/cdi", facts, "");
  ASSERT_TRUE(partial);
  EXPECT_EQ(partial->needs.at(0).now, false);
  EXPECT_EQ(partial->needs.at(0).found, "/etc/cdi/nvidia.yaml does not describe /dev/nvidia7");
  // It is not wrong, and what is made in /run counts for more.
  EXPECT_THAT(partial->contradictions, IsEmpty());
  facts.system.engines.cdi = {
      std::vector<CdiSpec>{{"/etc/cdi/nvidia.yaml", "580.95.05", {}, {0, 1, 2, 3, 4, 5, 6, 7, 8}}}, "test"};
  const auto gone = service_setting("services/cdi", facts, "");
  EXPECT_EQ(gone->needs.at(0).found, "/etc/cdi/nvidia.yaml names /dev/nvidia8, which is not there");
  EXPECT_EQ(gone->contradictions.at(0).path, "/etc/cdi/nvidia.yaml");
  // Until something has opened the driver, files of /dev are missing.
  facts.gpus.device_nodes = {std::vector<int>{0}, "test"};
  EXPECT_EQ(service_setting("services/cdi", facts, "")->needs.at(0).now, true);
}

// kubeadm's node with containerd 1.7 or 2.
EngineFiles containerd_files(int version) {
  EngineFiles files;
  files.version = version;
  files.default_runtime = "runc";
  files.runtimes = {{"runc",
                     "",
                     {{"runtime_type", "\"io.containerd.runc.v2\""},
                      {"pod_annotations", "[]"},
                      {"options.SystemdCgroup", "true"}}}};
  return files;
}

Facts kubernetes_node() {
  Facts facts = container_node();
  std::vector<Service> services = *facts.system.services;
  std::erase_if(services, [](const Service& service) {
    return service.name == "containerd" || service.name == "kubelet";
  });
  services.push_back({"containerd", "loaded", "active", "enabled", 8});
  services.push_back({"kubelet", "loaded", "active", "enabled", 9});
  facts.system.services = {services, "test"};
  facts.system.engines.containerd = {containerd_files(2), "test"};
  facts.system.engines.crio = {Miss{Missing::kAbsent, "none"}, "test"};
  facts.system.engines.crio_runs = {false, "test"};
  return facts;
}

// The main file that containerd_files() is read of.
constexpr std::string_view kContainerdConfig = R"(version = 2
[plugins."io.containerd.grpc.v1.cri".containerd]
  default_runtime_name = "runc"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
    SystemdCgroup = true)";

TEST(ContainerdGpus, GetTheOptionsOfRunc) {
  const auto setting =
      service_setting("services/containerd-gpus", kubernetes_node(), "", "nvidia_runtime: containerd");
  ASSERT_TRUE(setting);
  EXPECT_TRUE(setting->asked);
  EXPECT_EQ(setting->needs.at(0).now, false);
  EXPECT_THAT(setting->steps, Contains(NodeStep{StepKind::kRestartUnit, {"containerd.service"}}));
  const DesiredFile& file = setting->files.at(0);
  EXPECT_EQ(file.path, "/etc/containerd/config.toml");
  const std::string after = content_after(file, std::string(kContainerdConfig));
  EXPECT_EQ(after, std::string(kContainerdConfig) + R"(

# railbed: pods get GPUs by the handler nvidia
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
pod_annotations = []
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
BinaryName = "/usr/bin/nvidia-container-runtime"
SystemdCgroup = true
)");
  EXPECT_EQ(content_after(file, after), after);
  // As `nvidia-ctk runtime configure --runtime=containerd` writes it; and files that are none of TOML.
  const std::string theirs =
      "version = 2\n[plugins]\n  [plugins.\"io.containerd.grpc.v1.cri\"]\n    "
      "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia]\n      runtime_engine = \"\"\n";
  for (const std::string& kept : {theirs, std::string("version = \n"), std::string("plugins = 1\n"),
                                  std::string("plugins.\"io.containerd.grpc.v1.cri\" = 1\n")})
    EXPECT_EQ(content_after(file, kept), kept);
}

TEST(ContainerdGpus, FollowTheVersionOfTheFile) {
  Facts facts = kubernetes_node();
  const auto content = [&](EngineFiles files) {
    facts.system.engines.containerd = {std::move(files), "test"};
    const auto setting =
        service_setting("services/containerd-gpus", facts, "", "nvidia_runtime: [containerd]");
    EXPECT_TRUE(setting);
    return setting && !setting->files.empty() ? setting->files[0].content : "";
  };
  EXPECT_THAT(content(containerd_files(3)),
              HasSubstr("\n[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.nvidia]\n"));
  EXPECT_THAT(content(containerd_files(2)), testing::Not(HasSubstr("version")));
  EngineFiles none;
  none.blank = true;
  EXPECT_EQ(content(none).substr(0, 13), "version = 2\n\n");
  EXPECT_THAT(content(none), HasSubstr("runtime_type = \"io.containerd.runc.v2\"\n"));
  // Once it is written, the file has a version, and stays as it is.
  const std::string written = content(none);
  none.blank = false;
  none.version = 2;
  facts.system.engines.containerd = {none, "test"};
  const auto again = service_setting("services/containerd-gpus", facts, "", "nvidia_runtime: [containerd]");
  EXPECT_EQ(content_after(again->files.at(0), written), written);
}

TEST(ContainerdGpus, WaitForAPersonWhereAFileIsOdd) {
  Facts facts = kubernetes_node();
  const auto doubt = [&](Reading<EngineFiles> files) {
    facts.system.engines.containerd = std::move(files);
    const auto setting =
        service_setting("services/containerd-gpus", facts, "", "nvidia_runtime: [containerd]");
    return setting ? setting->doubt : "no setting";
  };
  EXPECT_EQ(doubt({containerd_files(2), "test"}), "");
  EXPECT_THAT(doubt({containerd_files(1), "test"}), HasSubstr("containerd config migrate"));
  EXPECT_THAT(doubt({Miss{Missing::kGarbled, "line 3"}, "/etc/containerd/config.toml"}),
              HasSubstr("could not be read"));
  EngineFiles files = containerd_files(2);
  files.cri = false;
  EXPECT_THAT(doubt({files, "test"}), HasSubstr("switches the plugin cri off"));
  files = containerd_files(2);
  files.overriding = {"/etc/containerd/conf.d/site.toml"};
  EXPECT_THAT(doubt({files, "test"}),
              HasSubstr("/etc/containerd/conf.d/site.toml has settings of the same plugin"));
}

TEST(ContainerdGpus, AreMadeUnaskedWhereNothingLeadsToAGpu) {
  Facts facts = kubernetes_node();
  const auto setting = service_setting("services/containerd-gpus", facts, "");
  ASSERT_TRUE(setting);
  EXPECT_FALSE(setting->asked);
  facts.system.engines.cdi = {std::vector<CdiSpec>{{"/run/cdi/nvidia.yaml", "580.95.05", {}}}, "test"};
  EXPECT_FALSE(service_setting("services/containerd-gpus", facts, ""));
  facts.system.engines.cdi = {std::vector<CdiSpec>{}, "test"};  // others' descriptions may be there
  EXPECT_FALSE(service_setting("services/containerd-gpus", facts, ""));
  facts = kubernetes_node();
  facts.system.engines.crio_runs = {true, "test"};  // the kubelet's pods are CRI-O's
  EXPECT_FALSE(service_setting("services/containerd-gpus", facts, ""));
  facts = kubernetes_node();
  facts.system.engines.containerd = {Miss{Missing::kDenied, "only root"}, "test"};
  EXPECT_FALSE(service_setting("services/containerd-gpus", facts, ""));
  facts = container_node();  // no kubelet
  EXPECT_FALSE(service_setting("services/containerd-gpus", facts, ""));
}

TEST(ContainerdGpus, TakeNoValueThatIsNone) {
  Facts facts = kubernetes_node();
  EngineFiles files = containerd_files(2);
  files.runtimes[0].settings = {
      {"a\nb", "1"}, {"good", "[\"x\"]"}, {"bad", "1\n[evil]"}, {"worse", "{\"a\":1}"}};
  facts.system.engines.containerd = {files, "test"};
  const auto setting = service_setting("services/containerd-gpus", facts, "", "nvidia_runtime: [containerd]");
  ASSERT_TRUE(setting);
  EXPECT_THAT(setting->files.at(0).content,
              HasSubstr("runtimes.nvidia]\ngood = [\"x\"]\nruntime_type = \"io.containerd.runc.v2\"\n\n["));
}

TEST(CrioGpus, KeepThePathOfConmon) {
  Facts facts = kubernetes_node();
  facts.system.engines.crio_runs = {true, "test"};
  EngineFiles files;
  files.default_runtime = "crun";
  files.runtimes = {{"crun",
                     "/usr/libexec/crio/crun",
                     {{"runtime_root", "\"/run/crun\""}, {"monitor_path", "\"/usr/libexec/crio/conmon\""}}}};
  facts.system.engines.crio = {files, "test"};
  EXPECT_FALSE(service_setting("services/crio-gpus", facts, ""));
  const auto setting = service_setting("services/crio-gpus", facts, "", "nvidia_runtime: [docker, crio]");
  ASSERT_TRUE(setting);
  EXPECT_EQ(setting->files.at(0).path, "/etc/crio/crio.conf.d/99-railbed-nvidia.conf");
  EXPECT_THAT(setting->files[0].content, HasSubstr("[crio.runtime.runtimes.nvidia]\n"
                                                   "monitor_path = \"/usr/libexec/crio/conmon\"\n"
                                                   "runtime_path = \"/usr/bin/nvidia-container-runtime\"\n"
                                                   "runtime_root = \"/run/crun\"\n"
                                                   "runtime_type = \"oci\"\n"));
  EXPECT_THAT(setting->notes, Contains(HasSubstr("here it is /usr/libexec/crio/crun")));
  // What railbed wrote is found again, and the file stays the same.
  const std::string written = setting->files[0].content;
  files.runtimes.push_back({"nvidia", "/usr/bin/nvidia-container-runtime", {{"runtime_type", "\"oci\""}}});
  facts.system.engines.crio = {files, "test"};
  const auto again = service_setting("services/crio-gpus", facts, "", "nvidia_runtime: [crio]");
  EXPECT_EQ(again->needs.at(0).now, true);
  EXPECT_EQ(again->files.at(0).content, written);
}

TEST(MemoryGuard, IsMadeWhereItIsAskedFor) {
  Facts facts = container_node();
  EXPECT_FALSE(service_setting("services/memory-guard", facts, ""));
  facts.system.memory_guards = {std::vector<std::string>{"systemd-oomd"}, "test"};
  const auto setting = service_setting("services/memory-guard", facts, "", "memory_guard: true");
  ASSERT_TRUE(setting);
  EXPECT_EQ(setting->needs.at(0).now, false);
  EXPECT_THAT(setting->files.at(0).content, HasSubstr("ExecStart=\nExecStart=/usr/bin/earlyoom "));
  EXPECT_THAT(setting->steps, Contains(NodeStep{StepKind::kInstallPackages, {"earlyoom"}}));
  facts.system.memory_guards = {std::vector<std::string>{"earlyoom"}, "test"};
  EXPECT_EQ(service_setting("services/memory-guard", facts, "", "memory_guard: true")->needs.at(0).now, true);
  facts.system.memory_guards = {std::vector<std::string>{"nohang"}, "test"};
  EXPECT_EQ(service_setting("services/memory-guard", facts, "", "memory_guard: true")->needs.at(0).now, true);
}

}  // namespace
}  // namespace railbed
