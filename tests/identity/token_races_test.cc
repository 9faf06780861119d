// Several programs edit a file of tokens at a time, and some of them are
// killed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "identity/token_edit.h"
#include "identity/token_file.h"
#include "tests/identity/directory.h"
#include "tests/identity/tokens.h"

namespace actord::identity {
namespace {

EditOptions Patient() {
  return {.wait = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return absl::OkStatus();
  }};
}

class TokenRaces : public WithDirectory {
 protected:
  // Runs `work` in a process of its own, whose exit status says whether it
  // returned true.
  static pid_t Start(const std::function<bool()>& work) {
    const pid_t pid = fork();
    if (pid == 0) _exit(work() ? 0 : 1);
    EXPECT_GT(pid, 0);
    return pid;
  }
  static int StatusAtEnd(pid_t pid) {
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return status;
  }
  std::set<std::string> Ids(const std::string& path) {
    std::set<std::string> ids;
    const auto tokens = ReadTokenFile(path);
    EXPECT_TRUE(tokens.ok()) << tokens.status();
    if (!tokens.ok()) return ids;
    for (const StoredToken& token : *tokens) {
      ids.insert(token.identity.token_id);
    }
    return ids;
  }
};

TEST_F(TokenRaces, NoEditIsLost) {
  constexpr int kPrograms = 4;
  constexpr int kEdits = 10;
  const std::string path = PathOf("tokens.toml");
  std::vector<pid_t> pids;
  for (int program = 0; program < kPrograms; ++program) {
    pids.push_back(Start([&] {
      for (int edit = 0; edit < kEdits; ++edit) {
        const auto number = static_cast<uint8_t>(program * kEdits + edit);
        if (!AddToken(path, ClientToken(number), Patient()).ok()) return false;
        // One of two tokens is revoked again.
        if (edit % 2 == 1 &&
            !RevokeToken(path, ClientToken(number).identity.token_id, Patient())
                 .ok()) {
          return false;
        }
      }
      return true;
    }));
  }
  for (const pid_t pid : pids) EXPECT_EQ(StatusAtEnd(pid), 0);
  std::set<std::string> expected;
  for (int number = 0; number < kPrograms * kEdits; number += 2) {
    expected.insert(
        ClientToken(static_cast<uint8_t>(number)).identity.token_id);
  }
  EXPECT_EQ(Ids(path), expected);
  EXPECT_EQ(Files(), "tokens.toml ");
}

// A program is killed at moments that differ by 100 µs, while it adds and
// revokes one token. At every moment the other token is there. The time until
// the kill begins with the program's first edit, because a fork may take longer
// than all of these edits.
TEST_F(TokenRaces, ProgramThatIsKilledLeavesAWholeFile) {
  const std::string path = PathOf("tokens.toml");
  ASSERT_TRUE(AddToken(path, ClientToken(0), Patient()).ok());
  const std::string id = ClientToken(1).identity.token_id;
  const std::string other = ClientToken(0).identity.token_id;
  int with = 0;
  constexpr int kKills = 100;
  for (int i = 0; i < kKills; ++i) {
    std::array<int, 2> begun{};
    ASSERT_EQ(pipe(begun.data()), 0);
    const pid_t pid = Start([&] {
      static_cast<void>(RevokeToken(path, id, Patient()));
      if (write(begun[1], "b", 1) != 1) return false;
      for (;;) {
        static_cast<void>(AddToken(path, ClientToken(1), Patient()));
        static_cast<void>(RevokeToken(path, id, Patient()));
      }
    });
    close(begun[1]);
    char byte = 0;
    ASSERT_EQ(read(begun[0], &byte, 1), 1);
    close(begun[0]);
    std::this_thread::sleep_for(std::chrono::microseconds(100 * i));
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    ASSERT_TRUE(WIFSIGNALED(StatusAtEnd(pid)));
    const std::set<std::string> ids = Ids(path);
    EXPECT_EQ(ids.count(other), 1u);
    EXPECT_EQ(ids.count(id) + 1, ids.size());
    with += ids.size() == 2 ? 1 : 0;
    ASSERT_EQ(StatusOf(path).st_mode & 07777u, 0640u);
  }
  // Otherwise the program was never killed in the middle of its work.
  EXPECT_GT(with, 0);
  EXPECT_LT(with, kKills);
  // The next edit clears up what the killed ones left.
  ASSERT_TRUE(AddToken(path, ClientToken(2), Patient()).ok());
  EXPECT_EQ(Files(), "tokens.toml ");
}

TEST_F(TokenRaces, FileThatMayNotGrowIsReportedAndStaysAsItWas) {
  const std::string path = PathOf("tokens.toml");
  ASSERT_TRUE(AddToken(path, ClientToken(0), Patient()).ok());
  const std::string text = Content(path);
  const pid_t pid = Start([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {text.size(), text.size()};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    const absl::Status status =
        AddToken(path, ClientToken(1), Patient()).status();
    return status.code() == absl::StatusCode::kResourceExhausted &&
           status.message() == path +
                                   ": the new file cannot be written: File too "
                                   "large; the file is unchanged";
  });
  EXPECT_EQ(StatusAtEnd(pid), 0);
  EXPECT_EQ(Content(path), text);
  EXPECT_EQ(Files(), "tokens.toml ");
}

}  // namespace
}  // namespace actord::identity
