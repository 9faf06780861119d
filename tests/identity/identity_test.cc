#include "identity/identity.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace actord::identity {
namespace {

TEST(Identity, PatternsRestrictWhatTheRolePermits) {
  Identity client;
  client.role = Role::kClient;
  client.submit = {"order", "invoice.*"};
  client.send = {"*"};
  EXPECT_TRUE(client.MaySubmit("order"));
  EXPECT_TRUE(client.MaySubmit("invoice."));
  EXPECT_TRUE(client.MaySubmit("invoice.new"));
  EXPECT_FALSE(client.MaySubmit("orders"));
  EXPECT_FALSE(client.MaySubmit("invoice"));
  EXPECT_FALSE(client.MaySubmit(""));
  EXPECT_TRUE(client.MaySend("anything"));
  EXPECT_FALSE(client.MayWork("anything"));
}

TEST(Identity, PatternsGrantNothingThatTheRoleForbids) {
  Identity viewer;
  viewer.role = Role::kViewer;
  viewer.submit = viewer.send = viewer.work = {"*"};
  EXPECT_FALSE(viewer.MaySubmit("order"));
  EXPECT_FALSE(viewer.MaySend("order"));
  EXPECT_FALSE(viewer.MayWork("payment.charge"));
  viewer.role = Role::kAdmin;
  EXPECT_TRUE(viewer.MaySubmit("order"));
  EXPECT_TRUE(viewer.MaySend("order"));
  EXPECT_TRUE(viewer.MayWork("payment.charge"));
}

TEST(Identity, WithoutAPatternMayDoNothing) {
  Identity admin;
  admin.role = Role::kAdmin;
  EXPECT_FALSE(admin.MaySubmit("order"));
  EXPECT_FALSE(admin.MaySend("order"));
  EXPECT_FALSE(admin.MayWork("payment.charge"));
}

TEST(Identity, MayWorkOnAPatternIfItMayWorkOnAllThatMatchesIt) {
  Identity worker;
  worker.role = Role::kWorker;
  worker.work = {"payment.*", "mail.send"};
  for (const char* pattern :
       {"payment.*", "payment.card.*", "payment.charge", "mail.send"}) {
    EXPECT_TRUE(worker.MayWork(pattern)) << pattern;
  }
  for (const char* pattern :
       {"*", "pay*", "payment*", "mail.*", "mail.send*", "mail"}) {
    EXPECT_FALSE(worker.MayWork(pattern)) << pattern;
  }
  EXPECT_FALSE(worker.MayWorkOnAll());
  worker.work.emplace_back("*");
  EXPECT_TRUE(worker.MayWork("*"));
  EXPECT_TRUE(worker.MayWorkOnAll());
  EXPECT_FALSE(worker.MaySendToAll());
}

TEST(Identity, PatternIsANameThatMayEndInAStar) {
  for (const std::string& good :
       {std::string("*"), std::string("order"), std::string("payment.*"),
        std::string(128, 'a'), std::string(127, 'a') + "*"}) {
    EXPECT_TRUE(IsTokenPattern(good)) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("**"), std::string("*a"), std::string("a*b"),
        std::string("a b"), std::string("a\"b"), std::string("a\nb"),
        std::string("\xff"), std::string("a\0b", 3), std::string(129, 'a')}) {
    EXPECT_FALSE(IsTokenPattern(bad)) << bad;
  }
}

TEST(Identity, SeesIsReadAsItIsWritten) {
  for (const Sees sees : {Sees::kOwn, Sees::kAll}) {
    EXPECT_EQ(ParseSees(SeesName(sees)), sees);
  }
  for (const char* bad : {"", "none", "ALL"}) {
    EXPECT_EQ(ParseSees(bad), std::nullopt);
  }
  EXPECT_EQ(DefaultSees(Role::kClient), Sees::kOwn);
  EXPECT_EQ(DefaultSees(Role::kWorker), Sees::kOwn);
  EXPECT_EQ(DefaultSees(Role::kViewer), Sees::kAll);
  EXPECT_EQ(DefaultSees(Role::kOperator), Sees::kAll);
  EXPECT_EQ(DefaultSees(Role::kAdmin), Sees::kAll);
}

}  // namespace
}  // namespace actord::identity
