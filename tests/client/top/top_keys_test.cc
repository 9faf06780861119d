// Tests the keys of "actorctl top" and their effects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/top/keys.h"
#include "client/top/table.h"
#include "client/top/view.h"
#include "tests/client/top/top_fixture.h"

namespace actord::client::top {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Key Text(const std::string& text) {
  return {.kind = KeyKind::kText, .text = text};
}

TEST(TopKeys, AreReadFromBytes) {
  KeyReader reader;
  EXPECT_THAT(
      reader.Feed("q\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[H\x1b[4~\r\x7f\x03"),
      ElementsAre(Text("q"), Key{KeyKind::kUp}, Key{KeyKind::kDown},
                  Key{KeyKind::kPageUp}, Key{KeyKind::kPageDown},
                  Key{KeyKind::kHome}, Key{KeyKind::kEnd}, Key{KeyKind::kEnter},
                  Key{KeyKind::kBackspace}, Key{KeyKind::kInterrupt}));
  EXPECT_FALSE(reader.pending());
}

TEST(TopKeys, MayArriveInPieces) {
  KeyReader reader;
  EXPECT_THAT(reader.Feed("\x1b"), IsEmpty());
  EXPECT_TRUE(reader.pending());
  EXPECT_THAT(reader.Feed("["), IsEmpty());
  EXPECT_THAT(reader.Feed("5"), IsEmpty());
  EXPECT_THAT(reader.Feed("~\xe2\x82"), ElementsAre(Key{KeyKind::kPageUp}));
  EXPECT_THAT(reader.Feed("\xac"), ElementsAre(Text("€")));
}

TEST(TopKeys, EscapeIsAKeyWhenNothingFollows) {
  KeyReader reader;
  EXPECT_THAT(reader.Feed("\x1b"), IsEmpty());
  EXPECT_THAT(reader.Flush(), ElementsAre(Key{KeyKind::kEscape}));
  EXPECT_FALSE(reader.pending());
  EXPECT_THAT(reader.Feed("\x1b\x1b[A"),
              ElementsAre(Key{KeyKind::kEscape}, Key{KeyKind::kUp}));
  // Half a sequence is not a key.
  EXPECT_THAT(reader.Feed("\x1b["), IsEmpty());
  EXPECT_THAT(reader.Flush(), IsEmpty());
}

TEST(TopKeys, UnknownSequencesAreDropped) {
  KeyReader reader;
  EXPECT_THAT(reader.Feed("\x1b[99;5Xa\x01\xff\xc0z"),
              ElementsAre(Text("a"), Text("z")));
  // The reader gives up on a sequence that is too long to be one.
  EXPECT_THAT(reader.Feed("\x1b[" + std::string(100, '1')), IsEmpty());
  EXPECT_FALSE(reader.pending());
}

TEST(TopKeys, PastedBytesAreText) {
  KeyReader reader;
  EXPECT_THAT(reader.Feed("a\x1b[200~k\r\x1b[A\x1a"),
              ElementsAre(Text("a"), Key{KeyKind::kText, "k", true}));
  EXPECT_THAT(reader.Feed("y\x1b"),
              ElementsAre(Key{KeyKind::kText, "y", true}));
  EXPECT_THAT(reader.Flush(), IsEmpty());
  EXPECT_THAT(reader.Feed("\x03"), ElementsAre(Key{KeyKind::kInterrupt}));
  EXPECT_THAT(reader.Feed("\x1b[201~y"), ElementsAre(Text("y")));
}

class TopView : public testing::Test {
 protected:
  TopView() { model_.Add(Numbered(50)); }

  // A sample of processes p00, p01 and so on. A higher number has more steps.
  static Sample Numbered(int count) {
    std::vector<v1::Process> processes;
    for (int i = 0; i < count; ++i) {
      const std::string pid = (i < 10 ? "p0" : "p") + std::to_string(i);
      processes.push_back(MakeProcess(pid, i % 2 == 0 ? "order" : "order.line",
                                      static_cast<uint64_t>(i)));
    }
    return MakeSample(absl::Seconds(60), processes);
  }

  Wish Type(const std::string& bytes) {
    Wish wish;
    KeyReader reader;
    for (const Key& key : reader.Feed(bytes)) wish = view_.Press(key, model_);
    for (const Key& key : reader.Flush()) wish = view_.Press(key, model_);
    return wish;
  }
  std::string Selected() const {
    return view_.types() ? view_.type_rows()[view_.selected()]->type
                         : view_.processes()[view_.selected()]->process.pid();
  }
  void Start(ViewOptions options = {
                 .process_column = *ColumnNamed(ProcessColumns(), "steps")}) {
    view_ = View(std::move(options));
    view_.Refresh(model_);
    view_.SetVisibleRows(10);
  }

  Model model_;
  View view_{ViewOptions{}};
};

TEST_F(TopView, MovesWithinTheRows) {
  Start();
  EXPECT_EQ(Selected(), "p49");
  Type("\x1b[A");
  EXPECT_EQ(Selected(), "p49");
  Type("\x1b[B\x1b[B");
  EXPECT_EQ(Selected(), "p47");
  EXPECT_EQ(view_.first_visible(), 0u);
  Type("\x1b[6~");
  EXPECT_EQ(Selected(), "p37");
  EXPECT_EQ(view_.first_visible(), 3u);
  Type("\x1b[F\x1b[B");
  EXPECT_EQ(Selected(), "p00");
  EXPECT_EQ(view_.first_visible(), 40u);
  view_.SetVisibleRows(20);  // the larger terminal is filled
  EXPECT_EQ(view_.first_visible(), 30u);
  Type("\x1b[H");
  EXPECT_EQ(view_.first_visible(), 0u);
}

TEST_F(TopView, TheSelectedProcessStaysSelected) {
  Start();
  Type("\x1b[B\x1b[B");
  ASSERT_EQ(Selected(), "p47");
  Sample sample = Numbered(50);
  sample.processes[3].set_steps(1000);  // moves to the top
  model_.Add(sample);
  view_.Refresh(model_);
  EXPECT_EQ(Selected(), "p47");
  EXPECT_EQ(view_.selected(), 3u);
  // The selected process has ended: the next row is in its place.
  sample.processes.erase(sample.processes.begin() + 47);
  model_.Add(sample);
  view_.Refresh(model_);
  EXPECT_EQ(view_.selected(), 3u);
  EXPECT_EQ(Selected(), "p46");
}

TEST_F(TopView, ShowsTheTopUntilTheSelectionMoves) {
  Start();
  Sample sample = Numbered(50);
  sample.processes[3].set_steps(1000);
  model_.Add(sample);
  view_.Refresh(model_);
  EXPECT_EQ(Selected(), "p03");
}

TEST_F(TopView, AcceptsKeysWithoutRows) {
  model_.Add(MakeSample(absl::Seconds(61)));
  Start();
  for (const char* keys : {"\x1b[A", "\x1b[B", "\x1b[6~", "\x1b[F", "\r", "k",
                           "K", "t", "\r", "s", "S"}) {
    EXPECT_EQ(Type(keys).kind, Wish::Kind::kNone) << keys;
    EXPECT_EQ(view_.prompt(), View::Prompt::kNone);
  }
}

TEST_F(TopView, SortsByEveryColumnInTurn) {
  Start({.process_column = 0});
  EXPECT_EQ(Selected(), "p00");
  Type("S");
  EXPECT_EQ(Selected(), "p49");
  for (size_t i = 0; i < ProcessColumns().size(); ++i) Type("s");
  EXPECT_EQ(view_.sorted_by(), 0u);
  EXPECT_TRUE(view_.reversed());
}

TEST_F(TopView, FiltersByTypedText) {
  Start();
  Type("/linx\x7f");
  EXPECT_EQ(view_.typed(), "lin");
  EXPECT_EQ(view_.rows(), 50u);
  EXPECT_EQ(Type("\r").kind, Wish::Kind::kSample);
  EXPECT_EQ(view_.rows(), 25u);
  EXPECT_EQ(view_.WantedType(model_.status()), "");
  // Only a whole type name restricts the request to one type.
  Type(
      "/\x7f\x7f\x7f"
      "order\r");
  EXPECT_EQ(view_.WantedType(model_.status()), "order");
  EXPECT_EQ(view_.rows(), 25u);
  EXPECT_EQ(Selected(), "p48");
  Type("/zzz\x1b");
  EXPECT_EQ(view_.filter(), "order");
  Type("\x1b");
  EXPECT_EQ(view_.rows(), 50u);
}

TEST_F(TopView, FilterIsBounded) {
  Start();
  Type("/" + std::string(1000, 'x') + "€");
  EXPECT_EQ(view_.typed().size(), 128u);
  Type(
      "\x7f\x7f"
      "€");
  EXPECT_EQ(view_.typed().size(), 126u);  // no room for three more bytes
  Type("\x7f€\x7f");
  EXPECT_EQ(view_.typed(), std::string(125, 'x'));
}

TEST_F(TopView, AsksBeforeACancel) {
  Start();
  Type("\x1b[B");
  EXPECT_EQ(Type("k").kind, Wish::Kind::kNone);
  EXPECT_EQ(view_.prompt(), View::Prompt::kCancel);
  // The process ends meanwhile, and another one is selected in its place.
  Sample sample = Numbered(50);
  sample.processes.erase(sample.processes.begin() + 48);
  model_.Add(sample);
  view_.Refresh(model_);
  const Wish wish = Type("y");
  EXPECT_EQ(wish.kind, Wish::Kind::kCancel);
  EXPECT_EQ(wish.pid, "p48");
  EXPECT_EQ(Selected(), "p47");
  Type("K");
  EXPECT_EQ(view_.prompt(), View::Prompt::kTerminate);
  EXPECT_EQ(Type("y").kind, Wish::Kind::kTerminate);
  for (const char* other : {"n", "Y", "\r", "\x1b", "q", " "}) {
    Type("k");
    EXPECT_EQ(Type(other).kind, Wish::Kind::kNone) << other;
    EXPECT_EQ(view_.message(), "nothing was done");
  }
}

TEST_F(TopView, PastedTextGoesIntoAFilterOnly) {
  Start();
  const auto paste = [&](const std::string& text) {
    return Type("\x1b[200~" + text + "\x1b[201~");
  };
  paste("kq");
  EXPECT_EQ(view_.prompt(), View::Prompt::kNone);
  Type("K");
  EXPECT_TRUE(view_.asks());
  EXPECT_EQ(paste("y").kind, Wish::Kind::kNone);
  EXPECT_TRUE(view_.asks());
  Type("n/");
  EXPECT_FALSE(view_.asks());
  paste("ord\r");
  EXPECT_EQ(view_.typed(), "ord");
  EXPECT_EQ(view_.prompt(), View::Prompt::kFilter);
}

TEST_F(TopView, EnterOnATypeShowsItsProcesses) {
  Start({.types = true});
  ASSERT_EQ(view_.rows(), 2u);
  EXPECT_EQ(Selected(), "order");
  Type("k");
  EXPECT_EQ(view_.prompt(), View::Prompt::kNone);
  EXPECT_THAT(view_.message(), testing::HasSubstr("choose a process"));
  Type("\x1b[B");
  EXPECT_EQ(Type("\r").kind, Wish::Kind::kSample);
  EXPECT_FALSE(view_.types());
  EXPECT_EQ(view_.filter(), "order.line");
  EXPECT_EQ(view_.rows(), 25u);
}

TEST_F(TopView, ShowsResultsOfSeveralCommandsSideBySide) {
  view_.Say("asking p2 to end ...");
  view_.Tell("p1 was asked to end");
  view_.Tell("p2 was asked to end");
  EXPECT_EQ(view_.message(), "p2 was asked to end; p1 was asked to end");
  for (int i = 0; i < 100; ++i) view_.Tell("n");
  EXPECT_EQ(view_.message().size(),
            View::kMostTold + (View::kMostTold - 1) * 2);
  view_.Press(Key{KeyKind::kDown}, model_);
  EXPECT_EQ(view_.message(), "");
  view_.Tell("p3 was asked to end");
  EXPECT_EQ(view_.message(), "p3 was asked to end");
}

TEST_F(TopView, DetailsShowOneProcess) {
  Start();
  const Wish look = Type("\r");
  EXPECT_EQ(look.kind, Wish::Kind::kLook);
  EXPECT_EQ(look.pid, "p49");
  EXPECT_EQ(view_.page(), View::Page::kDetails);
  EXPECT_FALSE(view_.details().has_value());
  view_.ShowDetails(MakeProcess("p49", "order", 1));
  EXPECT_TRUE(view_.details().has_value());
  Type("K");
  EXPECT_EQ(Type("y").pid, "p49");
  Type("\x1b");
  EXPECT_EQ(view_.page(), View::Page::kTable);
  // Late details of a process that is no longer shown are dropped.
  Type("\x1b[B\r");
  EXPECT_FALSE(view_.details().has_value());
}

TEST_F(TopView, IntervalChangesInSteps) {
  Start();
  Type("+");
  EXPECT_EQ(view_.interval(), absl::Seconds(5));
  for (int i = 0; i < 20; ++i) Type("+");
  EXPECT_EQ(view_.interval(), absl::Minutes(1));
  for (int i = 0; i < 20; ++i) Type("-");
  EXPECT_EQ(view_.interval(), absl::Milliseconds(100));
  Start({.interval = absl::Milliseconds(1500)});
  Type("-");
  EXPECT_EQ(view_.interval(), absl::Seconds(1));
}

TEST_F(TopView, PausesAndResumesAtOnce) {
  Start();
  EXPECT_EQ(Type("p").kind, Wish::Kind::kNone);
  EXPECT_TRUE(view_.paused());
  EXPECT_EQ(Type("p").kind, Wish::Kind::kSample);
  EXPECT_FALSE(view_.paused());
}

TEST_F(TopView, QuitsExceptWhileTextIsTyped) {
  for (const char* before : {"", "?", "\r", "t"}) {
    Start();
    Type(before);
    EXPECT_EQ(Type("q").kind, Wish::Kind::kQuit) << before;
  }
  Start();
  EXPECT_EQ(Type("/q").kind, Wish::Kind::kNone);
  EXPECT_EQ(view_.typed(), "q");
  EXPECT_EQ(Type("\x03").kind, Wish::Kind::kInterrupt);
}

}  // namespace
}  // namespace actord::client::top
