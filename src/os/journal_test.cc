#include "os/journal.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdlib>

#include "base/testing/temporary_folder.h"

namespace railbed {
namespace {

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() { socket_ = Fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }

  void listen() {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path_.copy(name.sun_path, sizeof name.sun_path - 1);
    ASSERT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  }
  std::string heard() {
    std::string text(1 << 20, '\0');
    const ssize_t got = recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }

  TemporaryFolder temporary_;
  std::string path_ = temporary_.path() / "socket";
  Fd socket_;
};

TEST_F(JournalTest, SendsOneDatagramAnEntry) {
  listen();
  SystemJournal journal(path_);
  ASSERT_TRUE(journal.send({{"MESSAGE", "mlx5_0/1 is DOWN"}, {"PRIORITY", "3"}}));
  EXPECT_EQ(heard(), "MESSAGE=mlx5_0/1 is DOWN\nPRIORITY=3\n");
  EXPECT_EQ(heard(), "");
}

TEST_F(JournalTest, AValueWithLineBreaksIsNoFieldOfItsOwn) {
  listen();
  SystemJournal journal(path_);
  ASSERT_TRUE(journal.send({{"MESSAGE", "a\nPRIORITY=0"}, {"PRIORITY", "6"}}));
  EXPECT_EQ(heard(), std::string("MESSAGE\n\x0c\0\0\0\0\0\0\0a\nPRIORITY=0\nPRIORITY=6\n", 40));
}

TEST_F(JournalTest, CutsWhatIsTooLong) {
  listen();
  SystemJournal journal(path_);
  ASSERT_TRUE(journal.send({{"MESSAGE", std::string(10 << 20, 'x')}, {"PRIORITY", "6"}}));
  const std::string entry = heard();
  EXPECT_LT(entry.size(), 10'000U);
  EXPECT_TRUE(entry.ends_with("x\nPRIORITY=6\n"));
}

TEST_F(JournalTest, CutsToWhatTheSocketTakes) {
  listen();
  std::vector<JournalField> fields;
  for (int i = 0; i < 64; ++i) fields.push_back({"F" + std::to_string(i), std::string(8000, 'x')});
  SystemJournal journal(path_);
  ASSERT_TRUE(journal.send(fields)) << "half a megabyte is more than a socket's buffer";
  EXPECT_FALSE(heard().empty());
}

TEST_F(JournalTest, NeverWaits) {
  listen();
  SystemJournal journal(path_);
  bool refused = false;
  for (int i = 0; i < 10'000 && !refused; ++i) refused = !journal.send({{"MESSAGE", "nobody reads"}});
  EXPECT_TRUE(refused);
}

TEST_F(JournalTest, SaysWhenNobodyListensAndGoesOnWhenSomebodyDoes) {
  SystemJournal journal(path_);
  const auto sent = journal.send({{"MESSAGE", "x"}});
  ASSERT_FALSE(sent);
  EXPECT_NE(sent.error().text.find(path_), std::string::npos);
  listen();
  EXPECT_TRUE(journal.send({{"MESSAGE", "x"}}));
}

}  // namespace
}  // namespace railbed
