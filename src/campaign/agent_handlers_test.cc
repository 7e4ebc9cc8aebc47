#include "campaign/agent_handlers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/json.h"
#include "base/version.h"
#include "facts/facts.h"

namespace railbed {
namespace {

std::string ask(const std::string& method) {
  const Handlers handlers = agent_handlers();
  const auto found = handlers.find(method);
  if (found == handlers.end()) return "no such method";
  const auto answer = found->second("{}", {});
  return answer ? *answer : answer.error().text;
}

TEST(AgentHandlers, HelloSaysWhoAnswers) {
  const auto hello = json::parse(ask("hello"));
  ASSERT_TRUE(hello);
  EXPECT_EQ((*hello)["version"], railbed_version());
  EXPECT_EQ((*hello)["pid"], getpid());
}

TEST(AgentHandlers, FactsAreThoseOfThisMachine) {
  const auto facts = facts_from_json(ask("facts"));
  ASSERT_TRUE(facts) << facts.error().text;
  EXPECT_EQ(facts->version, kFactsVersion);
  ASSERT_TRUE(facts->system.os.hostname.ok());
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  EXPECT_EQ(*facts->system.os.hostname, name);
}

}  // namespace
}  // namespace railbed
