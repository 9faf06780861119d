// The part of the fake daemon that lists the entries that a test has added.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "actord/v1/actor_service.grpc.pb.h"
#include "tests/client/fake_daemon.h"
#include "tests/client/fake_errors.h"

namespace actord::client {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class FakeLists : public v1::ActorService::CallbackService {
 public:
  explicit FakeLists(FakeDaemon& daemon) : daemon_(daemon) {}

  ServerUnaryReactor* ListYields(CallbackServerContext* context,
                                 const v1::ListYieldsRequest* request,
                                 v1::ListYieldsResponse* response) override {
    const std::lock_guard lock(mutex_);
    log_.yield_lists.push_back(*request);
    response->set_next_page_token(
        Page(daemon_.yields, request->page_size(), request->page_token(),
             [&](const v1::Yield& yield) { *response->add_yields() = yield; }));
    return Answer(context, grpc::Status::OK);
  }

  ServerUnaryReactor* ListDeadLetters(
      CallbackServerContext* context, const v1::ListDeadLettersRequest* request,
      v1::ListDeadLettersResponse* response) override {
    const std::lock_guard lock(mutex_);
    log_.dead_letter_lists.push_back(*request);
    response->set_next_page_token(
        Page(daemon_.dead_letters, request->page_size(), request->page_token(),
             [&](const v1::DeadLetter& letter) {
               *response->add_dead_letters() = letter;
             }));
    return Answer(context, grpc::Status::OK);
  }

  ServerUnaryReactor* GetDeadLetter(
      CallbackServerContext* context, const v1::GetDeadLetterRequest* request,
      v1::GetDeadLetterResponse* response) override {
    const std::lock_guard lock(mutex_);
    for (const v1::DeadLetter& letter : daemon_.dead_letters) {
      if (letter.id() != request->id()) continue;
      *response->mutable_dead_letter() = letter;
      return Answer(context, grpc::Status::OK);
    }
    return Answer(context, NoDeadLetter(request->id()));
  }

  // Accepts the dead letters that the test has added.
  ServerUnaryReactor* ResendDeadLetter(
      CallbackServerContext* context,
      const v1::ResendDeadLetterRequest* request,
      v1::ResendDeadLetterResponse* response) override {
    const std::lock_guard lock(mutex_);
    log_.resends.push_back(*request);
    if (!Erase(request->id())) {
      return Answer(context, NoDeadLetter(request->id()));
    }
    response->set_pid("p-heir");
    response->set_receipt(v1::RECEIPT_LOGGED);
    return Answer(context, grpc::Status::OK);
  }

  ServerUnaryReactor* DropDeadLetters(
      CallbackServerContext* context, const v1::DropDeadLettersRequest* request,
      v1::DropDeadLettersResponse* response) override {
    const std::lock_guard lock(mutex_);
    log_.drops.push_back(*request);
    for (const std::string& id : request->ids()) {
      if (Erase(id)) response->set_dropped_count(response->dropped_count() + 1);
    }
    return Answer(context, grpc::Status::OK);
  }

  ServerUnaryReactor* GetProcess(CallbackServerContext* context,
                                 const v1::GetProcessRequest* request,
                                 v1::GetProcessResponse* response) override {
    const std::lock_guard lock(mutex_);
    for (const v1::Process& process : daemon_.processes) {
      if (process.pid() != request->pid()) continue;
      *response->mutable_process() = process;
      return Answer(context, grpc::Status::OK);
    }
    if (request->pid().find('/') != std::string::npos) {
      return Answer(context, MakeError(grpc::StatusCode::INVALID_ARGUMENT,
                                       "INVALID_PID", "not a PID", "pid"));
    }
    if (daemon_.ended.contains(request->pid())) {
      return Answer(context, MakeError(grpc::StatusCode::FAILED_PRECONDITION,
                                       "PROCESS_ENDED", "it has ended"));
    }
    return Answer(context, NoProcess(request->pid()));
  }

  ServerUnaryReactor* ListProcesses(
      CallbackServerContext* context, const v1::ListProcessesRequest* request,
      v1::ListProcessesResponse* response) override {
    const std::lock_guard lock(mutex_);
    log_.process_lists.push_back(*request);
    response->set_next_page_token(Page(daemon_.processes, request->page_size(),
                                       request->page_token(),
                                       [&](const v1::Process& process) {
                                         *response->add_processes() = process;
                                       }));
    return Answer(context, grpc::Status::OK);
  }

  ServerUnaryReactor* ListNames(CallbackServerContext* context,
                                const v1::ListNamesRequest* request,
                                v1::ListNamesResponse* response) override {
    const std::lock_guard lock(mutex_);
    response->set_next_page_token(
        Page(daemon_.names, request->page_size(), request->page_token(),
             [&](const v1::Name& name) { *response->add_names() = name; }));
    return Answer(context, grpc::Status::OK);
  }

  ServerUnaryReactor* ListClients(CallbackServerContext* context,
                                  const v1::ListClientsRequest* request,
                                  v1::ListClientsResponse* response) override {
    const std::lock_guard lock(mutex_);
    response->set_next_page_token(
        Page(daemon_.clients, request->page_size(), request->page_token(),
             [&](const v1::Client& one) { *response->add_clients() = one; }));
    return Answer(context, grpc::Status::OK);
  }

  ServerUnaryReactor* GetStatus(CallbackServerContext* context,
                                const v1::GetStatusRequest* /*request*/,
                                v1::GetStatusResponse* response) override {
    const std::lock_guard lock(mutex_);
    *response = daemon_.status;
    return Answer(context, grpc::Status::OK);
  }

 protected:
  static ServerUnaryReactor* Answer(CallbackServerContext* context,
                                    const grpc::Status& status) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

  FakeDaemon& daemon_;
  mutable std::mutex mutex_;  // guards log_
  FakeDaemon::Log log_;

 private:
  // Adds one page of `all`, which begins at the index `token`. Returns the
  // token of the next page; "": this was the last page.
  template <typename Element, typename Add>
  static std::string Page(const std::vector<Element>& all, int page_size,
                          const std::string& token, const Add& add) {
    const size_t begin = token.empty() ? 0 : std::stoul(token);
    const size_t end =
        std::min(all.size(), begin + static_cast<size_t>(page_size));
    for (size_t i = begin; i < end; ++i) add(all[i]);
    return end < all.size() ? std::to_string(end) : "";
  }

  static grpc::Status NoDeadLetter(const std::string& id) {
    return MakeError(grpc::StatusCode::NOT_FOUND, "DEAD_LETTER_NOT_FOUND",
                     "no dead letter " + id);
  }

  // False: there is no such dead letter.
  bool Erase(const std::string& id) {
    return std::erase_if(daemon_.dead_letters, [&](const auto& letter) {
             return letter.id() == id;
           }) != 0;
  }
};

}  // namespace actord::client
