// Labels and names in lists and events, from the submission to the end.
#include <set>
#include <string>
#include <vector>

#include "runtime/actors/lifecycle_log.h"
#include "tests/runtime/runtime_fixture.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Labels LabelsOf(const std::vector<std::string>& texts) {
  return Labels::OfTexts(texts).value();
}
std::vector<LabelSelector> SelectorsOf(const std::vector<std::string>& texts) {
  std::vector<LabelSelector> selectors;
  for (const std::string& text : texts) {
    selectors.push_back(ReadLabelSelector("labels", text).value());
  }
  return selectors;
}
std::vector<std::string> TextsOf(const SharedLabels& labels) {
  return labels == nullptr ? std::vector<std::string>() : labels->Texts();
}

// A process that waits for ever. The script must live until Init has returned.
const Script& Waiting() {
  static const Script script{};
  return script;
}

class Labelled : public RuntimeTest {
 protected:
  SubmitRequest RequestOf(const Script& script,
                          const std::vector<std::string>& labels,
                          Owner owner = Owner::kNobody) {
    SubmitRequest request{"script", "", {InputOf(script), ""}, {}};
    request.labels = LabelsOf(labels);
    request.owner = owner;
    return request;
  }
  Pid MustSubmitLabelled(const Script& script,
                         const std::vector<std::string>& labels,
                         Owner owner = Owner::kNobody) {
    const absl::StatusOr<Pid> pid = Submit(RequestOf(script, labels, owner));
    EXPECT_TRUE(pid.ok()) << pid.status();
    return pid.value_or(Pid{});
  }
  std::set<Pid> Listed(const std::vector<std::string>& selectors,
                       Owner by = Owner::kAny) {
    ProcessFilter filter;
    filter.labels = SelectorsOf(selectors);
    filter.by = by;
    std::set<Pid> pids;
    uint32_t slot = 0;
    do {
      const ProcessPage page = runtime_->ListProcesses(filter, slot, 2);
      for (const ProcessInfo& info : page.processes) pids.insert(info.pid);
      slot = page.next_slot;
    } while (slot != 0);
    return pids;
  }
};

TEST_F(Labelled, ListsSelectByLabelsUntilTheEnd) {
  Start();
  const Script waiting{};
  const Pid plain = MustSubmit(waiting);
  const Pid a = MustSubmitLabelled(waiting, {"tenant=a", "urgent="});
  const Pid b = MustSubmitLabelled(waiting, {"tenant=b"});
  EXPECT_EQ(Listed({}), (std::set<Pid>{plain, a, b}));
  EXPECT_EQ(Listed({"tenant"}), (std::set<Pid>{a, b}));
  EXPECT_EQ(Listed({"tenant=a"}), std::set<Pid>{a});
  EXPECT_EQ(Listed({"tenant=a", "urgent"}), std::set<Pid>{a});
  EXPECT_EQ(Listed({"tenant=b", "urgent"}), std::set<Pid>{});
  EXPECT_THAT(TextsOf(runtime_->Describe(a)->labels),
              ElementsAre("tenant=a", "urgent="));
  EXPECT_THAT(TextsOf(runtime_->Describe(plain)->labels), IsEmpty());
  ASSERT_TRUE(runtime_->Terminate(a, "").ok());
  EXPECT_THAT(TextsOf(MustAwait(a).labels()),
              ElementsAre("tenant=a", "urgent="));
  EXPECT_EQ(Listed({"tenant"}), std::set<Pid>{b});
  // The next process of the slot has none of these labels.
  const Pid next = MustSubmit(waiting);
  EXPECT_THAT(TextsOf(runtime_->Describe(next)->labels), IsEmpty());
  EXPECT_EQ(Listed({"tenant"}), std::set<Pid>{b});
}

TEST_F(Labelled, OthersSeeNothing) {
  Start();
  const Pid pid = MustSubmitLabelled(Waiting(), {"tenant=a"}, Owner{1});
  EXPECT_EQ(Listed({"tenant"}, Owner{1}), std::set<Pid>{pid});
  EXPECT_EQ(Listed({"tenant"}, Owner{2}), std::set<Pid>{});
}

TEST(LabelsOfSteppedCore, ARefusedSubmissionAndAnEndLeaveNoLabels) {
  SteppedCore core(1);
  const LabelTable& table = core.core->labels;
  SubmitRequest request{"script", "", {InputOf(Waiting()), ""}, {}};
  request.labels = LabelsOf({"tenant=a"});
  request.name = "taken";
  absl::StatusOr<Pid> answer;
  const auto submit = [&] {
    core.core->admission.Submit(
        request, Pid{}, /*keep_result=*/true,
        [&answer](absl::StatusOr<Pid> pid) { answer = std::move(pid); });
    core.Settle();
  };
  submit();
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Pid pid = *answer;
  EXPECT_EQ(table.size(), 1u);
  for (int i = 0; i < 3; ++i) {
    submit();
    EXPECT_EQ(ReasonOf(answer.status()), reason::kNameTaken);
    EXPECT_EQ(table.size(), 1u);
  }
  ASSERT_TRUE(
      core.core->delivery
          .Control(Owner::kAny, pid, kEventTerminate, "enough", core.core->lane)
          .ok());
  core.Settle();
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(Labelled, AListHasTheNameThatAProcessHasHeldLongest) {
  Start();
  SubmitRequest request = RequestOf(Waiting(), {});
  request.name = "first";
  const absl::StatusOr<Pid> named = Submit(request);
  ASSERT_TRUE(named.ok()) << named.status();
  MustSubmit(Waiting());
  std::vector<std::string> names;
  for (const ProcessInfo& info : runtime_->ListProcesses({}, 0, 10).processes) {
    names.push_back(info.names.empty() ? "-" : info.names[0]);
    EXPECT_LE(info.names.size(), 1u);
  }
  EXPECT_THAT(names, ElementsAre("first", "-"));
}

TEST_F(Labelled, TheOwnersQuotaCountsLabelsUntilTheEnd) {
  RuntimeOptions options;
  options.counts_owners = true;
  Start(options);
  const std::vector<std::string> labels = {"a=" + std::string(63, 'x')};
  const uint64_t charge = LabelsOf(labels).ChargeBytes();
  OwnerQuotas quotas;
  quotas.mailbox_bytes = 2 * charge;
  ASSERT_TRUE(runtime_->SetQuotas(quotas, {}).ok());
  const Script waiting{};
  const Pid first = MustSubmitLabelled(waiting, labels, Owner{1});
  MustSubmitLabelled(waiting, labels, Owner{1});
  const auto third = [&] {
    return Submit(RequestOf(waiting, labels, Owner{1})).status();
  };
  EXPECT_EQ(third().code(), absl::StatusCode::kResourceExhausted);
  // Without labels, and for another owner, there is room.
  SubmitRequest plain = RequestOf(waiting, {}, Owner{1});
  EXPECT_TRUE(Submit(plain).ok());
  MustSubmitLabelled(waiting, labels, Owner{2});
  ASSERT_TRUE(runtime_->Terminate(first, "").ok());
  MustAwait(first);
  // The end gives the bytes back a moment after its result is there.
  EXPECT_TRUE(Eventually([&] { return third().ok(); }));
}

class NoListener : public LifecycleListener {
 public:
  void Wake() override {}
};

TEST_F(Labelled, StartsAndEndsHaveTheLabels) {
  Start();
  LifecycleLog& log = runtime_->lifecycle_log();
  const auto reader = log.Open(std::make_shared<NoListener>());
  ASSERT_TRUE(reader.ok());
  const uint64_t begin = log.end();
  const Pid pid = MustSubmitLabelled(Waiting(), {"tenant=a"});
  const Pid other = MustSubmitLabelled(Waiting(), {"tenant=b"});
  MustSubmit(Waiting());
  for (const Pid& one : {pid, other}) {
    ASSERT_TRUE(runtime_->Terminate(one, "").ok());
    MustAwait(one);
  }
  ProcessFilter filter;
  filter.labels = SelectorsOf({"tenant=a"});
  std::vector<LifecycleEvent> events;
  ASSERT_TRUE(Eventually([&] {
    const LifecycleLog::Reading reading = log.Read(*reader, begin, filter, {});
    events = reading.events;
    return events.size() >= 2;
  }));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, LifecycleEvent::Kind::kStarted);
  EXPECT_EQ(events[1].kind, LifecycleEvent::Kind::kEnded);
  for (const LifecycleEvent& event : events) {
    EXPECT_EQ(event.pid, pid);
    EXPECT_THAT(TextsOf(event.labels), ElementsAre("tenant=a"));
  }
  log.Close(*reader);
}

TEST_F(Labelled, EndedProcessesAreListedWithTypeNameAndLabels) {
  Start();
  SubmitRequest request = RequestOf(Waiting(), {"tenant=a"});
  request.name = "job";
  const absl::StatusOr<Pid> named = Submit(request);
  ASSERT_TRUE(named.ok());
  const Pid plain = MustSubmit(Waiting());
  ASSERT_TRUE(runtime_->Terminate(*named, "enough").ok());
  MustAwait(*named);
  ASSERT_TRUE(runtime_->Terminate(plain, "").ok());
  MustAwait(plain);
  const EndedPage page = runtime_->ListEnded({}, 0, 10);
  ASSERT_EQ(page.processes.size(), 2u);
  EXPECT_EQ(page.processes[0].pid, plain);
  EXPECT_EQ(page.processes[0].name, "");
  EXPECT_EQ(page.processes[0].labels, nullptr);
  const EndedInfo& info = page.processes[1];
  EXPECT_EQ(info.pid, *named);
  EXPECT_EQ(info.process_type, "script");
  EXPECT_EQ(info.name, "job");
  EXPECT_THAT(TextsOf(info.labels), ElementsAre("tenant=a"));
  EXPECT_EQ(info.kind, EndKind::kTerminated);
  EXPECT_EQ(info.message, "enough");
  EXPECT_GE(info.ended_unix_ns, info.started_unix_ns);
  EXPECT_EQ(runtime_->ListEnded({.labels = SelectorsOf({"tenant=a"})}, 0, 10)
                .processes.size(),
            1u);
}

}  // namespace
}  // namespace actord::runtime
