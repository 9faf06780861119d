#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "nlohmann/json.hpp"
#include "tests/client/commands/commands_fixture.h"

namespace actord::client {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class DeadLettersCommand : public Commands {
 protected:
  void Add(const std::string& id, const std::string& data = "") {
    v1::DeadLetter letter;
    letter.set_id(id);
    letter.set_to_pid("p-1");
    letter.set_topic("add");
    letter.mutable_payload()->set_data(data);
    letter.set_payload_bytes(5000);
    letter.set_reason(v1::DEAD_LETTER_REASON_MAILBOX_FULL);
    daemon_.dead_letters.push_back(letter);
  }
};

TEST_F(DeadLettersCommand, ListShowsAndFilters) {
  Add("d.1", R"({"amount":3})");
  const CliResult wide = Run({"dead-letters", "list", "--to", "p-1", "--reason",
                              "mailbox-full", "--newest", "-o", "wide"});
  EXPECT_EQ(wide.status, ExitStatus::kDone) << wide.err;
  for (const char* text :
       {"d.1", "MAILBOX_FULL", "p-1", "add", "4.9 KiB", R"({"amount":3})"}) {
    EXPECT_THAT(wide.out, HasSubstr(text));
  }
  const v1::ListDeadLettersRequest request =
      daemon_.log().dead_letter_lists.at(0);
  EXPECT_EQ(request.to_pid(), "p-1");
  EXPECT_EQ(request.reason(), v1::DEAD_LETTER_REASON_MAILBOX_FULL);
  EXPECT_TRUE(request.newest_first());
  EXPECT_EQ(Run({"dead-letters", "list", "-o", "name"}).out, "d.1\n");
  const json line =
      json::parse(Run({"dead-letters", "list", "-o", "jsonl"}).out);
  EXPECT_EQ(line["payload"]["json"]["amount"], 3);
  EXPECT_EQ(line["payload_bytes"], 5000);
  EXPECT_EQ(daemon_.log().dead_letter_lists.at(1).reason(),
            v1::DEAD_LETTER_REASON_UNSPECIFIED);
}

TEST_F(DeadLettersCommand, ShowWritesFieldsOrThePayloadByteForByte) {
  Add("d.1", std::string("\0\xff", 2));
  const std::string table = Run({"dead-letters", "show", "d.1"}).out;
  EXPECT_THAT(table, HasSubstr("Reason:"));
  EXPECT_THAT(table, HasSubstr("application/json"));
  EXPECT_EQ(Run({"dead-letters", "show", "d.1", "--payload"}).out,
            std::string("\0\xff", 2));
  EXPECT_EQ(json::parse(Run({"dead-letters", "show", "d.1", "-o", "json"})
                            .out)["payload"]["base64"],
            "AP8=");
  const CliResult none = Run({"dead-letters", "show", "d.2"});
  EXPECT_EQ(none.status, ExitStatus::kNotFound);
  EXPECT_EQ(none.err, "actorctl: no dead letter d.2 (DEAD_LETTER_NOT_FOUND)\n");
}

TEST_F(DeadLettersCommand, ResendContinuesAfterARefusal) {
  Add("d.1");
  Add("d.3");
  const CliResult result = Run({"dead-letters", "resend", "d.1", "d.2", "d.3",
                                "--to", "@heir", "-o", "jsonl"});
  EXPECT_EQ(result.status, ExitStatus::kNotFound);
  EXPECT_THAT(result.err, HasSubstr("dead letter d.2: no dead letter d.2"));
  EXPECT_EQ(result.out, R"({"id":"d.1","pid":"p-heir","receipt":"LOGGED"})"
                        "\n"
                        R"({"id":"d.3","pid":"p-heir","receipt":"LOGGED"})"
                        "\n");
  ASSERT_THAT(daemon_.log().resends, SizeIs(3));
  EXPECT_EQ(daemon_.log().resends[0].to(), "@heir");
  Add("d.4");
  const CliResult quiet = Run({"dead-letters", "resend", "d.4"});
  EXPECT_EQ(quiet.out, "");
  EXPECT_EQ(daemon_.log().resends[3].to(), "") << "whom it was for";
}

TEST_F(DeadLettersCommand, DropTakesIdsOrAll) {
  for (int i = 0; i < 1500; ++i) Add("d." + std::to_string(i));
  EXPECT_EQ(Run({"dead-letters", "drop", "d.1", "d.2", "d.9999"}).out,
            "2 dropped\n");
  EXPECT_EQ(json::parse(Run({"dead-letters", "drop", "--all", "--to", "p-1",
                             "-o", "json"})
                            .out)["dropped_count"],
            1498);
  ASSERT_THAT(daemon_.log().drops, SizeIs(3));
  EXPECT_EQ(daemon_.log().drops[1].ids_size(), 1000);
  EXPECT_EQ(daemon_.log().drops[2].ids_size(), 498);
  EXPECT_EQ(daemon_.log().dead_letter_lists.at(0).to_pid(), "p-1");
  EXPECT_EQ(Run({"dead-letters", "drop", "--all"}).out, "0 dropped\n");
}

TEST_F(DeadLettersCommand, ListsWithoutACommand) {
  Add("d.1");
  EXPECT_THAT(Run({"dead-letters"}).out, testing::HasSubstr("d.1"));
  EXPECT_EQ(Run({"dead-letters", "-o", "name"}).out, "d.1\n");
  EXPECT_EQ(Run({"dead-letters", "drop", "d.1"}).out, "1 dropped\n");
}

TEST_F(DeadLettersCommand, UsageErrorsMakeNoCall) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{
           {"dead-letters", "burn"},
           {"dead-letters", "show"},
           {"dead-letters", "resend"},
           {"dead-letters", "drop"},
           {"dead-letters", "drop", "d.1", "--all"},
           {"dead-letters", "drop", "d.1", "--to", "p-1"},
           {"dead-letters", "list", "--reason", "bad luck"}}) {
    const CliResult result = Run(arguments);
    EXPECT_EQ(result.status, ExitStatus::kUsage)
        << testing::PrintToString(arguments);
    EXPECT_EQ(result.out, "");
  }
  EXPECT_THAT(daemon_.log().dead_letter_lists, SizeIs(0));
  EXPECT_THAT(daemon_.log().drops, SizeIs(0));
}

}  // namespace
}  // namespace actord::client
