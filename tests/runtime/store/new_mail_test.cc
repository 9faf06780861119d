#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "runtime/store/resident_processes.h"

namespace actord::runtime {
namespace {

Mail MailOf(uint64_t tag) {
  Mail mail;
  mail.tag = tag;
  return mail;
}

std::vector<uint64_t> TagsOf(NewMail& mail) {
  std::vector<uint64_t> tags;
  for (const NewMail::Entry& entry : mail.TakeAll()) {
    EXPECT_EQ(entry.position, entry.mail.tag);
    tags.push_back(entry.mail.tag);
  }
  return tags;
}

TEST(NewMail, KeepsTheOrderOfPositions) {
  NewMail mail;
  for (const uint64_t position : {10, 30, 20, 5, 40}) {
    mail.Add(position, MailOf(position));
  }
  EXPECT_EQ(TagsOf(mail), (std::vector<uint64_t>{5, 10, 20, 30, 40}));
  EXPECT_TRUE(mail.empty());
}

TEST(NewMail, TakesFromTheFrontAndFromTheMiddle) {
  NewMail mail;
  for (uint64_t position = 1; position <= 100; ++position) {
    mail.Add(position, MailOf(position));
  }
  EXPECT_EQ(mail.Take(50)->tag, 50);
  for (uint64_t position = 1; position < 50; ++position) {
    EXPECT_EQ(mail.Take(position)->tag, position);
    EXPECT_FALSE(mail.Take(position).has_value());
  }
  // Taken mail is forgotten, and the rest stays.
  mail.Add(101, MailOf(101));
  EXPECT_FALSE(mail.Take(50).has_value());
  EXPECT_EQ(TagsOf(mail).size(), 51);
}

TEST(NewMail, AddsBehindWhatWasTaken) {
  NewMail mail;
  mail.Add(7, MailOf(7));
  mail.Add(9, MailOf(9));
  EXPECT_EQ(mail.Take(7)->tag, 7);
  mail.Add(8, MailOf(8));
  EXPECT_EQ(TagsOf(mail), (std::vector<uint64_t>{8, 9}));
}

}  // namespace
}  // namespace actord::runtime
