// Tests what "actorctl top" writes on terminals of all sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/top/layout.h"
#include "tests/client/top/top_fixture.h"

namespace actord::client::top {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Text in cells.

TEST(TopCells, FitsTextIntoCells) {
  const Cells cells(true);
  EXPECT_EQ(cells.Fit("abc", 5), "abc  ");
  EXPECT_EQ(cells.Fit("abc", 5, Align::kRight), "  abc");
  EXPECT_EQ(cells.Fit("abcdef", 6), "abcdef");
  EXPECT_EQ(cells.Fit("abcdef", 5), "abcd…");
  EXPECT_EQ(cells.Fit("abcdef", 1), "…");
  EXPECT_EQ(cells.Fit("abcdef", 0), "");
  EXPECT_EQ(cells.Clip("abc", 5), "abc");
}

TEST(TopCells, WideCharactersTakeTwoCells) {
  const Cells cells(true);
  EXPECT_EQ(cells.Width("注文"), 4u);
  EXPECT_EQ(cells.Fit("注文", 5), "注文 ");
  EXPECT_EQ(cells.Fit("注文", 4), "注文");
  // A character that would be cut in half at the edge is left out.
  EXPECT_EQ(cells.Fit("注文", 3), "注…");
  EXPECT_EQ(cells.Fit("注文", 2), "… ");
}

TEST(TopCells, ReplacesCharactersThatActOnATerminal) {
  const Cells cells(true);
  EXPECT_EQ(cells.Clip("\x1b]0;title\x07", 99), "?]0;title?");
  EXPECT_EQ(cells.Clip("a\x1b[2Jb\r\n\tc\x7f", 99), "a?[2Jb   c?");
  EXPECT_EQ(cells.Clip("\xc2\x9b"
                       "31m",
                       99),
            "?31m");  // CSI as one character
  EXPECT_EQ(cells.Clip("a\xe2\x80\xae"
                       "b",
                       99),
            "a?b");                              // right-to-left override
  EXPECT_EQ(cells.Clip("e\xcc\x81", 99), "e?");  // a combining accent
  EXPECT_EQ(cells.Clip("a\xff\xc3", 99), "a??");
  EXPECT_EQ(cells.Width("\x1b\xff"), 2u);
}

TEST(TopCells, WritesAsciiWithoutUtf8) {
  const Cells cells(false);
  EXPECT_EQ(cells.Clip("Bestellung für 注文", 99), "Bestellung f?r ??");
  EXPECT_EQ(cells.Fit("abcdef", 5), "abcd~");
  EXPECT_STREQ(cells.descending(), "v");
}

TEST(TopCells, EnvironmentDecidesWhetherTheTerminalShowsUtf8) {
  const auto is_utf8 = [](std::map<std::string, std::string> variables) {
    Cancellation cancellation;
    std::ostringstream out;
    return IsUtf8Terminal(
        {.stdin_fd = -1,
         .out = out,
         .err = out,
         .cancellation = cancellation,
         .variable = [&](const char* name) { return variables[name]; }});
  };
  EXPECT_FALSE(is_utf8({}));
  EXPECT_TRUE(is_utf8({{"LANG", "de_DE.UTF-8"}}));
  EXPECT_TRUE(is_utf8({{"LANG", "C"}, {"LC_CTYPE", "C.utf8"}}));
  EXPECT_FALSE(is_utf8({{"LC_ALL", "C"}, {"LANG", "C.UTF-8"}}));
}

// Bytes for a terminal.

TEST(TopFrame, WritesChangedLinesOnly) {
  const Frame before = {{{.text = "one"}}, {{.text = "two"}}, {{.text = "3"}}};
  const Frame after = {{{.text = "one"}}, {{.text = "TWO"}}};
  EXPECT_EQ(Encode(after, before, true), "\x1b[2;1H\x1b[2KTWO\x1b[3;1H\x1b[J");
  EXPECT_EQ(Encode(before, before, true), "");
  EXPECT_EQ(Encode({{{.text = "one"}}}, {}, true),
            "\x1b[H\x1b[2J\x1b[1;1H\x1b[2Kone");
}

TEST(TopFrame, EndsEachStyleAfterItsText) {
  const Frame frame = {{{.text = "bad", .style = Style::kBad},
                        {.text = " plain"},
                        {.text = "row", .style = Style::kReverse}}};
  EXPECT_THAT(Encode(frame, {}, true),
              HasSubstr("\x1b[1;31mbad\x1b[0m plain\x1b[7mrow\x1b[0m"));
  // NO_COLOR removes colours alone: bold and reversed text has a meaning.
  EXPECT_THAT(Encode(frame, {}, false),
              HasSubstr("\x1b[1mbad\x1b[0m plain\x1b[7mrow\x1b[0m"));
}

// Frames.

class TopLayout : public testing::Test {
 protected:
  // Adds two samples, two seconds apart.
  void Start(ViewOptions options = {}) {
    Sample sample = MakeSample(absl::Hours(27));
    sample.processes = {
        MakeProcess("1.f7dcb807.0.1", "counter", 12'345'678),
        MakeProcess("1.f7dcb807.1.1", "order", 40, absl::Hours(26)),
        MakeProcess("1.f7dcb807.2.1", "order.line", 7, absl::Hours(25))};
    v1::Process& busy = sample.processes[1];
    busy.set_state(v1::PROCESS_STATE_BLOCKED);
    busy.set_mailbox_messages(1500);
    busy.set_mailbox_bytes(3 << 20);
    busy.set_yields_outstanding(2);
    busy.set_priority(31);
    v1::Counters& counters = *sample.status.mutable_counters();
    counters.set_processes_live(3);
    counters.set_steps_total(1'000'000);
    counters.set_yields_external_waiting(12);
    counters.set_tasks_leased(4);
    counters.set_remote_workers(1);
    counters.set_dead_letters_total(5);
    model_.Add(sample);
    *sample.status.mutable_uptime() =
        FromDuration(absl::Hours(27) + absl::Seconds(2));
    counters.set_steps_total(1'024'690);
    counters.set_messages_total(3);
    counters.set_process_limit_total(8);
    sample.processes[0].set_steps(12'370'000);
    sample.processes[2].set_cancel_requested(true);
    model_.Add(sample);
    view_ = View(std::move(options));
    view_.Refresh(model_);
  }
  void Type(const std::string& bytes) {
    KeyReader reader;
    for (const Key& key : reader.Feed(bytes)) view_.Press(key, model_);
  }
  Frame DrawFrame(Size size) {
    return Draw(model_, view_, link_, cells_, size);
  }
  std::string Drawn(Size size) { return '\n' + PlainText(DrawFrame(size)); }

  Model model_;
  View view_{ViewOptions{}};
  Link link_{.address = "127.0.0.1:7600"};
  Cells cells_{true};
};

TEST_F(TopLayout, ShowsDaemonAndProcesses) {
  Start();
  EXPECT_EQ(Drawn({.width = 100, .height = 12}), R"(
actord 0.1.0 at 127.0.0.1:7600   SERVING   up 1d3h   4 workers   every 2s
Processes 3 live   started 0/s   ended 0/s   failed 0/s
Steps 12.3k/s   messages 1.5/s   completions 0/s
Waiting 12 external   4 of them held by 1 remote worker   0 pooled
Refused by limits 8 (4.0/s)   dead letters 5 (0/s)

PID             TYPE        STATE     PRI      STEPS  STEPS/S▼  MAILBOX       BYTES  YIELDS      AGE
1.f7dcb807.0.1  counter     IDLE       16      12.4M     12.2k        0         0 B       0     1d3h
1.f7dcb807.1.1  order       BLOCKED    31         40         0    1,500     3.0 MiB       2       1h
1.f7dcb807.2.1  order.line  IDLE!      16          7         0        0         0 B       0       2h

all 3 processes   ?: help   q: quit
)");
}

TEST_F(TopLayout, ShowsTypes) {
  Start({.types = true});
  EXPECT_EQ(Drawn({.width = 80, .height = 12}), R"(
actord 0.1.0 at 127.0.0.1:7600   SERVING   up 1d3h   4 workers   every 2s
Processes 3 live   started 0/s   ended 0/s   failed 0/s
Steps 12.3k/s   messages 1.5/s   completions 0/s
Waiting 12 external   4 of them held by 1 remote worker   0 pooled
Refused by limits 8 (4.0/s)   dead letters 5 (0/s)

TYPE        PROCESSES▼  RUNNING    READY  BLOCKED  STEPS/S  MAILBOX   YIELDS
counter              1        0        0        0    12.2k        0        0
order                1        0        0        1        0    1,500        2
order.line           1        0        0        0        0        0        0

all 3 processes   ?: help   q: quit
)");
}

// The column of the sort order, the type and the PID are dropped last.
TEST_F(TopLayout, NarrowTerminalsGetFewerColumns) {
  Start({.process_column = *ColumnNamed(ProcessColumns(), "priority")});
  EXPECT_EQ(Drawn({.width = 40, .height = 9}), R"(
actord 0.1.0 at 127.0.0.1:7600   SERVING
up 1d3h   4 workers   every 2s
Processes 3 live   started 0/s
ended 0/s   failed 0/s
PID             TYPE      STATE     PRI▼
1.f7dcb807.1.1  order     BLOCKED     31
1.f7dcb807.0.1  counter   IDLE        16
1.f7dcb807.2.1  order.l…  IDLE!       16
all 3 processes   ?: help   q: quit
)");
}

TEST_F(TopLayout, FitsEveryTerminalSize) {
  for (const char* keys : {"", "t", "?", "\r", "/abc", "k"}) {
    Start();
    Type(keys);
    for (size_t width = 0; width <= 120; width += width < 12 ? 1 : 9) {
      for (size_t height = 0; height <= 40; height += height < 12 ? 1 : 7) {
        const Frame frame = DrawFrame({.width = width, .height = height});
        ASSERT_LE(frame.size(), height);
        if (width > 0) {
          ASSERT_EQ(frame.size(), height) << width;
        }
        for (const Line& line : frame) {
          size_t used = 0;
          for (const Span& span : line) used += cells_.Width(span.text);
          ASSERT_LE(used, width) << keys << ' ' << height;
        }
      }
    }
  }
}

TEST_F(TopLayout, TheSelectedRowIsReversed) {
  Start();
  Type("\x1b[B");
  const Frame frame = DrawFrame({.width = 80, .height = 12});
  size_t reversed = 0;
  for (const Line& line : frame) {
    for (const Span& span : line) {
      if (span.style != Style::kReverse) continue;
      ++reversed;
      EXPECT_THAT(span.text, StartsWith("1.f7dcb807.1.1"));
      EXPECT_EQ(span.text.size(), 80u);  // the whole line
    }
  }
  EXPECT_EQ(reversed, 1u);
}

TEST_F(TopLayout, ShowsHowManyProcessesWereRead) {
  Start();
  EXPECT_EQ(LookedAt(model_), "all 3 processes");
  Sample sample = MakeSample(absl::Hours(28), {MakeProcess("a", "order", 1)});
  sample.complete = false;
  sample.status.mutable_counters()->set_processes_live(1'204'331);
  model_.Add(sample);
  view_.Refresh(model_);
  EXPECT_EQ(LookedAt(model_), "the first 1 of 1,204,331 processes");
  EXPECT_THAT(Drawn({.width = 80, .height = 12}),
              HasSubstr("\nthe first 1 of 1,204,331 processes   ?: help"));
  Type("/rde\r");
  EXPECT_THAT(Drawn({.width = 80, .height = 12}),
              HasSubstr("\n1 with \"rde\" in the first 1 of 1,204,331 "));
  sample.request.process_type = "order";
  model_.Add(sample);
  view_.Refresh(model_);
  EXPECT_EQ(LookedAt(model_), "the first 1 processes of type order");
  sample.complete = true;
  model_.Add(sample);
  view_.Refresh(model_);
  EXPECT_EQ(LookedAt(model_), "all 1 processes of type order");
}

TEST_F(TopLayout, ShowsALostConnection) {
  link_.state = absl::UnavailableError("Connection refused");
  link_.retry_in = absl::Seconds(4);
  EXPECT_THAT(
      Drawn({.width = 80, .height = 10}),
      StartsWith("\nactord at 127.0.0.1:7600   NO CONNECTION   next try "
                 "in 4s\nConnection refused\n"));
  Start();  // the last data stays
  link_.seen = absl::Milliseconds(12'700);
  const std::string drawn = Drawn({.width = 80, .height = 14});
  EXPECT_THAT(drawn,
              HasSubstr("NO CONNECTION   seen 12s ago   next try in 4s"));
  EXPECT_THAT(drawn, Not(HasSubstr("SERVING")));
  EXPECT_THAT(drawn, HasSubstr("1.f7dcb807.1.1"));
}

TEST_F(TopLayout, ErrorStatusIsNotALostConnection) {
  struct Case {
    absl::Status state;
    const char* text;
  };
  for (const Case& c : {Case{absl::DeadlineExceededError("x"), "NO ANSWER"},
                        Case{absl::PermissionDeniedError("x"), "NOT ALLOWED"},
                        Case{absl::UnauthenticatedError("x"), "NOT ALLOWED"},
                        Case{absl::UnimplementedError("x"), "NOT THIS ACTORD"},
                        Case{absl::ResourceExhaustedError("x"), "REFUSED"},
                        Case{absl::InternalError("x"), "REFUSED"}}) {
    link_.state = c.state;
    const std::string drawn = Drawn({.width = 80, .height = 10});
    EXPECT_THAT(drawn, HasSubstr(c.text)) << c.state;
    EXPECT_THAT(drawn, Not(HasSubstr("NO CONNECTION")));
  }
}

TEST_F(TopLayout, MeasuresVisibleRowsOnly) {
  Sample sample = MakeSample(absl::Seconds(9));
  for (int i = 0; i < 100; ++i) {
    sample.processes.push_back(
        MakeProcess("1.1." + std::to_string(1000 + i), "t", 0));
  }
  sample.processes.back().set_process_type("a.type.with.a.long.name");
  sample.processes.back().set_pid("1.1.9999");
  model_.Add(sample);
  view_ = View({.process_column = 0});
  view_.Refresh(model_);
  EXPECT_THAT(Drawn({.width = 120, .height = 12}),
              HasSubstr("\n1.1.1000  t     IDLE "));
  Type("\x1b[F");  // the End key
  EXPECT_THAT(Drawn({.width = 120, .height = 12}),
              HasSubstr("\n1.1.9999  a.type.with.a.long.name  IDLE "));
}

TEST_F(TopLayout, ByteColumnsHaveRoomUpToTheNextUnit) {
  Sample sample = MakeSample(absl::Seconds(9), {MakeProcess("p", "t", 1)});
  sample.processes[0].set_mailbox_bytes((uint64_t{1} << 30) - 200'000);
  model_.Add(sample);
  for (const bool types : {false, true}) {
    view_ = View({.types = types});
    view_.Refresh(model_);
    EXPECT_THAT(Drawn({.width = 140, .height = 12}), HasSubstr("  1.0 GiB  "));
  }
}

TEST_F(TopLayout, ShowsARestart) {
  Start();
  Sample sample = MakeSample(absl::Seconds(1));
  sample.status.set_incarnation("run2");
  model_.Add(sample);
  view_.Refresh(model_);
  EXPECT_THAT(Drawn({.width = 100, .height = 12}),
              HasSubstr("restarted 1 time "));
}

TEST_F(TopLayout, ReplacesControlCharactersInNames) {
  model_.Add(MakeSample(absl::Seconds(9),
                        {MakeProcess("p\x1b[2J", "or\nder\xe2\x80\xae", 1)}));
  view_.Refresh(model_);
  link_.address = "host\x1b]0;x\x07:1";
  link_.state = absl::UnavailableError("no\x1b[31m");
  view_.Say("p\x1b[H: gone");
  for (const char* keys : {"", "\r", "k"}) {
    Type(keys);
    view_.ShowDetails(model_.processes().front().process);
    const std::string bytes = PlainText(DrawFrame({.width = 80, .height = 16}));
    EXPECT_THAT(bytes, Not(HasSubstr("\x1b"))) << keys;
    EXPECT_THAT(bytes, Not(HasSubstr("\x07")));
    EXPECT_THAT(bytes, Not(HasSubstr("\xe2\x80\xae")));
    EXPECT_THAT(bytes, HasSubstr("p?[2J"));
  }
}

TEST_F(TopLayout, ShowsPromptsInTheLastLine) {
  Start();
  const Size size = {.width = 80, .height = 10};
  Type("k");
  EXPECT_THAT(Drawn(size),
              HasSubstr("\ncancel 1.f7dcb807.0.1 (counter)? y/n\n"));
  Type("nK");
  EXPECT_THAT(
      Drawn(size),
      HasSubstr("\nterminate 1.f7dcb807.0.1 (counter) by force? y/n\n"));
  Type("n");
  EXPECT_THAT(Drawn(size), HasSubstr("\nnothing was done\n"));
  Type("/or");
  EXPECT_THAT(Drawn(size), HasSubstr("\ntype: or_   Enter, or Escape\n"));
}

TEST_F(TopLayout, DetailsMatchTheOutputOfDescribe) {
  Start();
  Type("\r");
  EXPECT_THAT(Drawn({.width = 80, .height = 24}), HasSubstr("\n...\n"));
  view_.ShowDetails(model_.processes().front().process);
  EXPECT_THAT(Drawn({.width = 80, .height = 24}),
              HasSubstr("\nType:             counter\n"
                        "Method:           run\n"
                        "State:            IDLE\n"));
  view_.ShowDetails(absl::FailedPreconditionError("it has ended"));
  EXPECT_THAT(Drawn({.width = 80, .height = 24}),
              HasSubstr("\nit has ended\n"));
}

}  // namespace
}  // namespace actord::client::top
