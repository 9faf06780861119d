// A coroutine process without a daemon.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/fake_process.h"
#include "tests/support/script_coroutine.h"

namespace actord {

using namespace std::chrono_literals;
using testing::Destroyed;
using ::testing::ElementsAre;
using testing::FakeProcess;
using testing::MakePid;
using testing::ScriptCoroutine;

class CoroutineTest : public ::testing::Test {
 protected:
  void TearDown() override {
    process_.reset();
    ScriptCoroutine::body = nullptr;
  }

  // Starts a process with this body and runs its first step.
  int32_t Start(ScriptCoroutine::Body body) {
    ScriptCoroutine::body = std::move(body);
    process_ = std::make_unique<FakeProcess>(kProcessType<ScriptCoroutine>);
    EXPECT_EQ(process_->Init(), ACTORD_OK);
    return process_->Step();
  }

  FakeProcess& process() { return *process_; }
  int32_t Step() { return process_->Step(); }
  int32_t Message(std::string_view topic, Payload payload = {}) {
    process_->Message(topic, payload);
    return Step();
  }
  int32_t Complete(Tag tag, Payload payload = {}, Code code = Code::kOk) {
    process_->Complete(tag, payload, code);
    return Step();
  }
  int32_t Cancel(std::string_view reason = "enough") {
    process_->Cancel(reason);
    return Step();
  }
  // The tag of the last step's only command.
  Tag TheTag() {
    EXPECT_EQ(process_->yields.size(), 1u);
    return process_->yields.at(0).tag;
  }
  std::string TheCommand() {
    EXPECT_EQ(process_->yields.size(), 1u);
    return process_->yields.at(0).command;
  }
  void Pass(Duration duration) {
    process_->now_ns += static_cast<uint64_t>(duration.count());
  }

  std::vector<std::string> trace_;
  std::unique_ptr<FakeProcess> process_;
};

}  // namespace actord
