#include "client/bulk/send_order.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "client/calls/batch.h"
#include "client/calls/error.h"

namespace actord::client {
namespace {

bool NeedsOtherWay(const v1::SendRequest& request) {
  return request.pid().starts_with('#') ||
         request.ByteSizeLong() > kMaxStreamedItemBytes;
}

}  // namespace

void SendOrder::Add(PendingSendPtr send) {
  send->number = next_number_++;
  waiting_.push_back(std::move(send));
}

void SendOrder::Fill(v1::SendStreamRequest& batch) {
  batch.set_seen_count(acked_count_);
  size_t bytes = 0;
  while (!waiting_.empty()) {
    const v1::SendRequest& request = waiting_.front()->request;
    const auto receiver = receivers_.try_emplace(request.pid()).first;
    if (receiver->second.is_held || NeedsOtherWay(request)) {
      Hold(receiver);
      continue;
    }
    bytes += request.ByteSizeLong();
    const int items = batch.sends_size();
    if (sent_.size() >= options_.window || items >= kMaxBatchItems ||
        (items != 0 && bytes > kMaxBatchBytes)) {
      Settle(receiver);
      return;
    }
    *batch.add_sends() = request;
    ++receiver->second.sent;
    sent_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

void SendOrder::Hold(Receivers::iterator receiver) {
  PendingSendPtr send = std::move(waiting_.front());
  waiting_.pop_front();
  receiver->second.is_held = true;
  const uint64_t number = send->number;
  receiver->second.held.emplace(number, std::move(send));
  Settle(receiver);
}

std::vector<SendOrder::Answered> SendOrder::Take(
    const v1::SendStreamResponse& response) {
  std::unordered_map<uint64_t, const v1::Refusal*> refusals;
  for (const v1::SendRefusal& refusal : response.refusals()) {
    refusals[refusal.index()] = &refusal.refusal();
  }
  const std::unordered_set<uint64_t> duplicates(response.duplicates().begin(),
                                                response.duplicates().end());
  const std::unordered_set<uint64_t> in_memory(
      response.volatile_items().begin(), response.volatile_items().end());
  std::vector<Answered> answered;
  for (; acked_count_ < response.acked_count() && !sent_.empty();
       ++acked_count_) {
    PendingSendPtr send = std::move(sent_.front());
    sent_.pop_front();
    const auto receiver = receivers_.find(send->request.pid());
    --receiver->second.sent;
    const auto refusal = refusals.find(acked_count_);
    if (refusal == refusals.end()) {
      v1::SendResponse answer;
      answer.set_duplicate(duplicates.contains(acked_count_));
      answer.set_receipt(in_memory.empty() || in_memory.contains(acked_count_)
                             ? response.receipt()
                             : v1::RECEIPT_LOGGED);
      answered.push_back({std::move(send), std::move(answer)});
    } else {
      const absl::Status why = FromRefusal(*refusal->second);
      if (!HoldRefused(receiver->second, send, why)) {
        answered.push_back({std::move(send), why});
      }
    }
    Settle(receiver);
  }
  return answered;
}

bool SendOrder::HoldRefused(Receiver& receiver, PendingSendPtr& send,
                            const absl::Status& why) {
  if (!IsRefusedForNow(why)) return false;
  const auto delay = DetailsOf(why).retry_delay;
  if (!delay) return false;
  // The daemon has not tried the later ones.
  if (!receiver.is_retried) {
    if (send->retries >= options_.max_retries) return false;
    receiver.delay =
        std::min(*delay * (int64_t{1} << std::min(send->retries, 20)),
                 options_.max_retry_delay);
    ++send->retries;
    receiver.is_retried = true;
  }
  receiver.is_held = true;
  const uint64_t number = send->number;
  receiver.held.emplace(number, std::move(send));
  return true;
}

void SendOrder::Settle(Receivers::iterator receiver) {
  Receiver& state = receiver->second;
  if (state.sent != 0) return;
  if (!state.is_held) {
    receivers_.erase(receiver);
  } else if (!state.is_quiet) {
    state.is_quiet = true;
    quiet_.push_back(receiver->first);
  }
}

std::optional<SendOrder::Quiet> SendOrder::NextQuiet() {
  while (!quiet_.empty()) {
    Quiet quiet{.receiver = std::move(quiet_.front()), .away = nullptr};
    quiet_.pop_front();
    const auto receiver = receivers_.find(quiet.receiver);
    if (receiver == receivers_.end()) continue;
    Receiver& state = receiver->second;
    const auto first = state.held.begin();
    if (first != state.held.end() && NeedsOtherWay(first->second->request)) {
      quiet.away = std::move(first->second);
      state.held.erase(first);
    }
    quiet.delay = state.delay;
    return quiet;
  }
  return std::nullopt;
}

void SendOrder::Release(const std::string& name) {
  const auto receiver = receivers_.find(name);
  if (receiver == receivers_.end()) return;
  std::map<uint64_t, PendingSendPtr> held = std::move(receiver->second.held);
  receivers_.erase(receiver);
  for (auto send = held.rbegin(); send != held.rend(); ++send) {
    waiting_.push_front(std::move(send->second));
  }
}

std::deque<PendingSendPtr> SendOrder::TakeSent() {
  for (const PendingSendPtr& send : sent_) {
    --receivers_[send->request.pid()].sent;
  }
  return std::exchange(sent_, {});
}

std::vector<PendingSendPtr> SendOrder::TakeRest() {
  std::map<uint64_t, PendingSendPtr> rest;
  for (auto& [name, receiver] : receivers_) rest.merge(receiver.held);
  receivers_.clear();
  for (PendingSendPtr& send : waiting_) {
    const uint64_t number = send->number;
    rest.emplace(number, std::move(send));
  }
  waiting_.clear();
  std::vector<PendingSendPtr> result;
  result.reserve(rest.size());
  for (auto& [number, send] : rest) result.push_back(std::move(send));
  return result;
}

}  // namespace actord::client
