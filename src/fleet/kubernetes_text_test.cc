#include "fleet/kubernetes_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/kubernetes_launcher.h"
#include "fleet/prepared_launcher.h"

namespace railbed::fleet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kPodNonce = "0123456789abcdef";

std::string from_kubectl(std::string text) {
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos;) text.replace(at, 1, kPodNonce);
  return text;
}

std::vector<KubernetesPod> pods_of(std::string text) {
  return parse_kubernetes_pods(from_kubectl(std::move(text)), kPodNonce);
}

// The output of kubectl 1.20 and 1.32 for this format.
TEST(KubernetesText, ReadsPodsAndWhyTheyAreOfNoUse) {
  const auto pods = pods_of(
      "@|agent-a|gpu1|gpu1|agent||Running|True||| \n"
      "@|agent-b|gpu2|gpu2|agent||Pending|False||ImagePullBackOff|Back-off pulling \"x\"\nrailbed \n"
      "@|agent-c||gpu3|agent||Pending||||0/9 nodes: 1 Insufficient memory.\nx|y\n"
      "@|agent-d|gpu4|gpu4|agent|2026-01-01T00:00:00Z|Running|True||| \n"
      "@|agent-e|gpu5||agent||Failed||Evicted|| \n");
  ASSERT_EQ(pods.size(), 5u);
  EXPECT_EQ(pods[0].name, "agent-a");
  EXPECT_EQ(pods[0].node, "gpu1");
  EXPECT_EQ(pods[0].container, "agent");
  EXPECT_EQ(pods[0].why_not, "");
  EXPECT_THAT(pods[1].why_not, HasSubstr("phase Pending, ImagePullBackOff, Back-off pulling \"x\")"));
  EXPECT_EQ(pods[2].node, "gpu3");
  EXPECT_THAT(pods[2].why_not, HasSubstr("Insufficient memory"));
  EXPECT_THAT(pods[3].why_not, HasSubstr("being deleted"));
  EXPECT_THAT(pods[4].why_not, HasSubstr("phase Failed, Evicted"));
}

// During an update of a DaemonSet, a node has an old and a new pod.
TEST(KubernetesText, OneThatCanBeUsedStandsForItsNode) {
  const auto pods = pods_of(
      "@|old|gpu1||agent|2026-01-01T00:00:00Z|Running|True||| \n@|new|gpu1||agent||Running|True||| \n"
      "@|newer|gpu1||agent||Pending|||| \n");
  ASSERT_EQ(pods.size(), 1u);
  EXPECT_EQ(pods[0].name, "new");
}

TEST(KubernetesText, AReasonMakesNoPodAndNoOption) {
  EXPECT_THAT(pods_of("|x|gpu9||agent||Running|True||| \n@|-x|gpu1||agent||Running|True||| \n"
                      "@|x|a b||agent||Running|True||| \n@|x|gpu1||$(id)||Running|True||| \n@|x||||\n@\n"),
              IsEmpty());
  const auto pods = pods_of("@|x|gpu1||agent||Pending||||\033[2J\n");
  ASSERT_EQ(pods.size(), 1u);
  EXPECT_THAT(pods[0].why_not, Not(HasSubstr("\033")));
}

TEST(KubernetesText, ReadsNodes) {
  const auto nodes = parse_kubernetes_nodes(
      from_kubectl("@|gpu1||True|kubelet is ready\n@|gpu2|true|True|x\n@|gpu3||Unknown|Kubelet | stopped\n"),
      kPodNonce);
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].not_ready, "");
  EXPECT_FALSE(nodes[0].cordoned);
  EXPECT_TRUE(nodes[1].cordoned);
  EXPECT_THAT(nodes[2].not_ready, HasSubstr("Kubelet | stopped"));
}

TEST(KubernetesText, NamesAreKubernetesOwn) {
  for (const char* good : {"gpu1", "ip-10-0-0-1.ec2.internal", "a", "0"})
    EXPECT_TRUE(is_kubernetes_name(good)) << good;
  for (const char* bad : {"", "-a", "a-", ".a", "GPU1", "a_b", "a b", "a/b", "a;b"})
    EXPECT_FALSE(is_kubernetes_name(bad)) << bad;
  EXPECT_FALSE(is_kubernetes_name(std::string(254, 'a')));
  EXPECT_FALSE(is_kubernetes_label("a.b"));
  EXPECT_FALSE(is_kubernetes_label(std::string(64, 'a')));
  EXPECT_TRUE(is_kubernetes_selector("app.kubernetes.io/name=x,tier in (a, b),!c"));
  for (const char* bad : {"", "-l", "a=$(b)", "a=\n"}) EXPECT_FALSE(is_kubernetes_selector(bad)) << bad;
}

TEST(KubernetesText, SaysWhatToDoAboutWhatKubectlSays) {
  EXPECT_THAT(kubernetes_remedy("The connection to the server localhost:8080 was refused"),
              HasSubstr("use-context"));
  EXPECT_THAT(kubernetes_remedy("error: context \"x\" does not exist"), HasSubstr("get-contexts"));
  EXPECT_THAT(kubernetes_remedy("Error from server (Forbidden): pods is forbidden"), HasSubstr("role"));
  EXPECT_THAT(kubernetes_remedy("error: You must be logged in to the server (Unauthorized)"),
              HasSubstr("log in"));
  EXPECT_EQ(kubernetes_remedy("something else"), "");
}

TEST(KubernetesExec, WhereKubectlIsNotWhatToDoIsSaid) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"no-such-program-here"}, {"env", "no-such-program-here"}}) {
    const auto asked = ask_scheduler("kubectl", words, "install it", {});
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().text, "install it");
  }
}

// Messages of kubectl 1.32 for a cluster without a valid login.
TEST(KubernetesExec, LogsStandInNoError) {
  const auto asked = ask_scheduler(
      "kubectl",
      {"sh", "-c", "echo 'E1125 07:21:29.401749   31690 memcache.go:265] x' >&2; echo no >&2; exit 1"}, "",
      {});
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().text, "kubectl: no");
}

TEST(KubernetesExec, NamesAllAndHasNoTerminal) {
  KubernetesChoice choice;
  EXPECT_THAT(exec_words(choice, "pod", "agent", "script"),
              ElementsAre("kubectl", "exec", "--namespace=railbed", "--stdin", "--container=agent", "pod",
                          "--", "/bin/sh", "-c", "script"));
  choice.context = "-x";
  choice.kubeconfig = "/k";
  choice.name_space = "gpu";
  EXPECT_THAT(exec_words(choice, "pod", "agent", "script"), Contains("--context=-x"));
  EXPECT_THAT(exec_words(choice, "pod", "agent", "script"), Contains("--kubeconfig=/k"));
  EXPECT_THAT(exec_words(choice, "pod", "agent", "script"), Contains("--namespace=gpu"));
}

}  // namespace
}  // namespace railbed::fleet
