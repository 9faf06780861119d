#include "tests/client/fake_daemon.h"

#include <grpcpp/alarm.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <optional>
#include <utility>

#include "actord/v1/actor_service.grpc.pb.h"
#include "tests/client/commands/fake_operations.h"
#include "tests/client/fake_errors.h"
#include "tests/client/streams/fake_stream.h"

namespace actord::client {

class FakeDaemon::Service final : public FakeOperations {
 public:
  using FakeOperations::FakeOperations;

  ServerUnaryReactor* Submit(CallbackServerContext* context,
                             const v1::SubmitRequest* request,
                             v1::SubmitResponse* response) override {
    class Hanging final : public ServerUnaryReactor {
      void OnCancel() override { Finish(grpc::Status::CANCELLED); }
      void OnDone() override { delete this; }
    };
    if (daemon_.submits_hang) return new Hanging;
    const std::lock_guard lock(mutex_);
    log_.submits.push_back(*request);
    return Answer(context, Start(*request, response));
  }

  // Delays each answer, so that a client that does not keep the order has
  // several sends in flight for one PID.
  ServerUnaryReactor* Send(CallbackServerContext* /*context*/,
                           const v1::SendRequest* request,
                           v1::SendResponse* /*response*/) override {
    class Later final : public ServerUnaryReactor {
     public:
      Later(Service& service, const v1::SendRequest& request)
          : service_(service), pid_(request.pid()) {
        alarm_.Set(
            std::chrono::system_clock::now() + std::chrono::microseconds(200),
            [this](bool) { Answer(); });
      }
      void OnDone() override { delete this; }

     private:
      void Answer() {
        grpc::Status sent;
        {
          const std::lock_guard lock(service_.mutex_);
          --service_.sends_under_way_[pid_];
          if (service_.outcomes_.count(pid_) == 0) sent = NoProcess(pid_);
        }
        Finish(sent);
      }
      Service& service_;
      const std::string pid_;
      grpc::Alarm alarm_;
    };
    {
      const std::lock_guard lock(mutex_);
      log_.sends.push_back(*request);
      size_t& under_way = ++sends_under_way_[request->pid()];
      log_.most_sends_to_one = std::max(log_.most_sends_to_one, under_way);
    }
    return new Later(*this, *request);
  }

  grpc::ServerBidiReactor<v1::SendStreamRequest, v1::SendStreamResponse>*
  SendStream(CallbackServerContext* /*context*/) override {
    return NewStream<v1::SendStreamRequest, v1::SendStreamResponse>(
        [this, count = uint64_t{0}, held = HeldItems()](
            const auto& request, auto& response) mutable {
          const std::lock_guard lock(mutex_);
          log_.batch_items.push_back(request.sends_size());
          std::erase_if(held, [&](const auto& entry) {
            return entry.second < request.seen_count();
          });
          for (const v1::SendRequest& item : request.sends()) {
            const grpc::Status accepted = Accept(item, count, held);
            if (!accepted.ok()) {
              v1::SendRefusal& refusal = *response.add_refusals();
              refusal.set_index(count);
              *refusal.mutable_refusal() = RefusalOf(accepted);
            }
            ++count;
          }
          response.set_acked_count(count);
          response.set_receipt(v1::RECEIPT_LOGGED);
          response.set_keeps_order(daemon_.streams_keep_order &&
                                   request.has_seen_count());
        });
  }

  grpc::ServerBidiReactor<v1::SubmitStreamRequest, v1::SubmitStreamResponse>*
  SubmitStream(CallbackServerContext* context) override {
    {
      const std::lock_guard lock(mutex_);
      ++log_.submit_streams;
    }
    if (daemon_.refuses_submit_streams) {
      return FakeOperations::SubmitStream(context);  // UNIMPLEMENTED
    }
    v1::SubmitStreamResponse greeting;
    greeting.set_max_outstanding(10'000);
    return NewStream<v1::SubmitStreamRequest, v1::SubmitStreamResponse>(
        [this, count = uint64_t{0}](const auto& request,
                                    auto& response) mutable {
          const std::lock_guard lock(mutex_);
          log_.batch_items.push_back(request.submissions_size());
          for (const v1::SubmitRequest& item : request.submissions()) {
            log_.submits.push_back(item);
            v1::SubmissionNews& news = *response.add_news();
            news.set_index(count++);
            v1::SubmitResponse submitted;
            const grpc::Status started = Start(item, &submitted);
            if (!started.ok()) {
              *news.mutable_refusal() = RefusalOf(started);
              continue;
            }
            *news.mutable_submitted() = submitted;
            const v1::Outcome& outcome = outcomes_[submitted.pid()];
            if (request.await_outcomes() &&
                outcome.end_case() != v1::Outcome::END_NOT_SET) {
              *news.mutable_outcome() = outcome;
            }
          }
        },
        greeting);
  }

  ServerUnaryReactor* Await(CallbackServerContext* context,
                            const v1::AwaitRequest* request,
                            v1::AwaitResponse* response) override {
    class Never final : public ServerUnaryReactor {
     public:
      explicit Never(Service& service) : service_(service) {}
      void OnCancel() override {
        {
          const std::lock_guard lock(service_.mutex_);
          --service_.log_.awaits_open;
          ++service_.log_.awaits_cancelled;
        }
        Finish(grpc::Status::CANCELLED);
      }
      void OnDone() override { delete this; }

     private:
      Service& service_;
    };
    const std::lock_guard lock(mutex_);
    const auto outcome = outcomes_.find(request->pid());
    if (outcome == outcomes_.end()) {
      return Answer(context, NoProcess(request->pid()));
    }
    if (outcome->second.end_case() == v1::Outcome::END_NOT_SET) {
      ++log_.awaits_open;
      changed_.notify_all();
      return new Never(*this);
    }
    *response->mutable_outcome() = outcome->second;
    return Answer(context, grpc::Status::OK);
  }

  // For processes that end at once.
  ServerUnaryReactor* Run(CallbackServerContext* context,
                          const v1::RunRequest* request,
                          v1::RunResponse* response) override {
    const std::lock_guard lock(mutex_);
    log_.submits.push_back(request->submit());
    const grpc::Status started =
        Start(request->submit(), response->mutable_submitted());
    if (started.ok()) {
      *response->mutable_outcome() = outcomes_[response->submitted().pid()];
    }
    return Answer(context, started);
  }

  ServerUnaryReactor* Cancel(CallbackServerContext* context,
                             const v1::CancelRequest* request,
                             v1::CancelResponse* response) override {
    const std::lock_guard lock(mutex_);
    response->set_receipt(v1::RECEIPT_MEMORY);
    log_.cancels.push_back(*request);
    return Answer(context, Known(request->pid()));
  }

  ServerUnaryReactor* Terminate(CallbackServerContext* context,
                                const v1::TerminateRequest* request,
                                v1::TerminateResponse* /*response*/) override {
    const std::lock_guard lock(mutex_);
    log_.terminates.push_back(*request);
    return Answer(context, Known(request->pid()));
  }

  ServerUnaryReactor* CompleteYield(
      CallbackServerContext* context, const v1::CompleteYieldRequest* request,
      v1::CompleteYieldResponse* response) override {
    const std::lock_guard lock(mutex_);
    log_.completions.push_back(*request);
    response->set_answer(daemon_.answer);
    return Answer(context, grpc::Status::OK);
  }

  ServerUnaryReactor* Call(CallbackServerContext* context,
                           const v1::CallRequest* request,
                           v1::CallResponse* response) override {
    const std::lock_guard lock(mutex_);
    log_.calls.push_back(*request);
    const auto found = daemon_.calls.find({request->pid(), request->topic()});
    if (found == daemon_.calls.end() || found->second.empty()) {
      return Answer(context, {grpc::StatusCode::NOT_FOUND, "nobody"});
    }
    std::vector<std::string>& answers = found->second;
    response->mutable_result()->set_data(answers.front());
    response->set_pid(request->pid());
    if (answers.size() > 1) answers.erase(answers.begin());
    return Answer(context, grpc::Status::OK);
  }

  ServerUnaryReactor* Shutdown(CallbackServerContext* context,
                               const v1::ShutdownRequest* request,
                               v1::ShutdownResponse* response) override {
    const std::lock_guard lock(mutex_);
    log_.shutdowns.push_back(*request);
    response->set_ended_count(12);
    response->set_forced_count(3);
    if (request->end_durable()) response->set_kept_count(2);
    return Answer(context, grpc::Status::OK);
  }

  grpc::ServerWriteReactor<v1::WatchProcessesResponse>* WatchProcesses(
      CallbackServerContext* /*context*/,
      const v1::WatchProcessesRequest* request) override {
    using Writer = FakeWriter<v1::WatchProcessesResponse>;
    const std::lock_guard lock(mutex_);
    const size_t count = daemon_.watches.size();
    const size_t call = log_.watches.size();
    log_.watches.push_back(*request);
    if (count == 0) {
      return new Writer(
          {}, MakeError(grpc::StatusCode::INVALID_ARGUMENT,
                        "INVALID_RESUME_TOKEN", "no token", "resume_token"));
    }
    std::optional<grpc::Status> end;
    if (call % count + 1 != count) {
      end = MakeError(grpc::StatusCode::UNAVAILABLE, "DRAINING", "draining", "",
                      daemon_.watch_retry_ms);
    }
    return new Writer(daemon_.watches[call % count], end);
  }

  Log log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  bool WaitForOpenAwaits(size_t count) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60),
                             [&] { return log_.awaits_open >= count; });
  }

 private:
  template <typename Request, typename Response, typename Handle>
  grpc::ServerBidiReactor<Request, Response>* NewStream(
      Handle handle, std::optional<Response> greeting = std::nullopt) {
    const grpc::Status end = daemon_.streams_end_well
                                 ? grpc::Status::OK
                                 : MakeError(grpc::StatusCode::UNAVAILABLE,
                                             "DRAINING", "draining", "", 2000);
    return new FakeStream<Request, Response>(
        std::move(handle), daemon_.stream_batches, daemon_.stream_answers, end,
        std::move(greeting));
  }

  // The held receivers of a SendStream, with the last refused item of each.
  using HeldItems = std::map<std::string, uint64_t>;
  // Takes the item with this index of a SendStream, or refuses it.
  grpc::Status Accept(const v1::SendRequest& item, uint64_t index,
                      HeldItems& held) {
    int& refusals_left = daemon_.full_answers[item.pid()];
    const bool is_held = held.count(item.pid()) > 0;
    if (is_held || refusals_left != 0) {
      if (!is_held) --refusals_left;
      held[item.pid()] = index;
      ++log_.full;
      return MakeError(grpc::StatusCode::RESOURCE_EXHAUSTED, "MAILBOX_FULL",
                       "full", "", daemon_.full_retry_ms);
    }
    log_.sends.push_back(item);
    return Known(item.pid());
  }

  grpc::Status Known(const std::string& pid) const {
    return outcomes_.count(pid) > 0 ? grpc::Status::OK : NoProcess(pid);
  }

  grpc::Status Start(const v1::SubmitRequest& request,
                     v1::SubmitResponse* response) {
    using grpc::StatusCode;
    for (const v1::Name& held : daemon_.names) {
      if (held.name() != request.name()) continue;
      if (request.on_name_conflict() !=
          v1::SubmitRequest::NAME_CONFLICT_DELIVER) {
        return MakeError(StatusCode::ALREADY_EXISTS, "NAME_TAKEN",
                         "the name is taken");
      }
      response->set_pid(held.pid());
      response->set_delivered(true);
      response->set_durability(v1::DURABILITY_VOLATILE);
      return grpc::Status::OK;
    }
    const std::string& type = request.process_type();
    if (type == "refuse") {
      return MakeError(StatusCode::INVALID_ARGUMENT, "INIT_REFUSED",
                       "not to its taste", "input.data");
    }
    if (type == "busy" && daemon_.busy_answers-- > 0) {
      return MakeError(StatusCode::RESOURCE_EXHAUSTED, "PROCESS_LIMIT", "full",
                       "", 1);
    }
    if (type == "drain") {
      return MakeError(StatusCode::UNAVAILABLE, "DRAINING", "draining", "",
                       2000);
    }
    if (type == "forbid") {
      return MakeError(StatusCode::PERMISSION_DENIED, "FORBIDDEN", "no");
    }
    if (type == "locked") {
      return MakeError(StatusCode::UNAUTHENTICATED, "TOKEN_MISSING",
                       "the call has no token");
    }
    response->set_receipt(v1::RECEIPT_MEMORY);
    v1::Outcome outcome;
    if (type == "echo" || type == "busy") {
      *outcome.mutable_result() = request.input();
    } else if (type == "fail") {
      outcome.mutable_failure()->set_reason(v1::FAILURE_REASON_FAILED);
      outcome.mutable_failure()->set_code(StatusCode::INVALID_ARGUMENT);
      outcome.mutable_failure()->set_message(daemon_.failure_message);
    } else if (type != "never") {
      return MakeError(StatusCode::NOT_FOUND, "UNKNOWN_PROCESS_TYPE",
                       "no plugin has the process type \"" + type +
                           "\"; the types are echo, fail");
    }
    const std::string pid = "p-" + std::to_string(outcomes_.size());
    outcome.set_pid(pid);
    outcome.set_steps(1);
    outcomes_.emplace(pid, outcome);
    response->set_pid(pid);
    return grpc::Status::OK;
  }

  mutable std::condition_variable changed_;
  // The caller holds mutex_.
  std::map<std::string, v1::Outcome> outcomes_;
  std::map<std::string, size_t> sends_under_way_;
};

FakeDaemon::FakeDaemon() : service_(std::make_unique<Service>(*this)) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  address_ = "127.0.0.1:" + std::to_string(port);
}

FakeDaemon::~FakeDaemon() {
  server_->Shutdown(std::chrono::system_clock::now());
}

void FakeDaemon::SetServing(bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(serving);
}

FakeDaemon::Log FakeDaemon::log() const { return service_->log(); }

bool FakeDaemon::WaitForOpenAwaits(size_t count) const {
  return service_->WaitForOpenAwaits(count);
}

}  // namespace actord::client
