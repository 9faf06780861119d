// The calls of a connection, and their answers in one piece or in parts.
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "daemon/admin/admin_connection.h"

namespace actord::daemon {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr unsigned kHttp11 = 11;
// A comment of an event stream.
constexpr const char* kHeartbeat = ":\n\n";

AdminAnswer NoRoomForAnswer() {
  AdminAnswer answer;
  answer.status = kServiceUnavailable;
  answer.content_type = "application/json";
  answer.body =
      R"({"code":"resource_exhausted","message":"the admin port holds too many )"
      R"(requests and answers that their clients have not taken: try again"})";
  answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

}  // namespace

void AdminConnection::FillHead(const AdminAnswer& answer, Head& head) {
  head.result(answer.status);
  head.version(kHttp11);
  head.set(http::field::content_type, answer.content_type);
  head.set(http::field::cache_control, "no-store");
  head.set("X-Content-Type-Options", "nosniff");
  head.set("Content-Security-Policy", "default-src 'none'");
  if (!answer.allow.empty()) head.set(http::field::allow, answer.allow);
  for (const auto& [name, value] : answer.headers) head.set(name, value);
}

void AdminConnection::BeginCall() {
  auto& message = parser_->get();
  AdminRequest request;
  request.method = std::string(message.method_string());
  request.path = Path();
  const beast::string_view target = message.target();
  const size_t query = target.find('?');
  if (query != beast::string_view::npos) {
    request.query = std::string(target.substr(query + 1));
  }
  for (const auto& field : message) {
    request.headers.emplace_back(
        absl::AsciiStrToLower(absl::string_view(field.name_string().data(),
                                                field.name_string().size())),
        std::string(field.value()));
  }
  request.body = std::move(message.body());
  request.peer = peer_.name;
  request.is_local_user = peer_.is_local_user;
  request.connection = peer_.number;
  waits_since_ = 0;
  stream_.expires_never();
  const uint64_t number = open_call_ = ++last_call_;
  call_ = parts_.calls->Begin(
      std::move(request), [weak = weak_from_this(), post = parts_.post,
                           number](AdminAnswer answer) {
        post([weak, number, answer = std::move(answer)] {
          const auto self = weak.lock();
          if (self != nullptr) self->AnswerCall(number, answer);
        });
      });
  call_timer_.expires_after(call_->patience());
  call_timer_.async_wait([self = shared_from_this(), number](Error error) {
    if (error || self->open_call_ != number) return;
    self->call_->End(AdminCall::Why::kDeadline);
  });
  WatchClient(number);
}

void AdminConnection::EndCall(AdminCall::Why why) {
  if (std::exchange(open_call_, 0) == 0) return;
  call_timer_.cancel();
  std::exchange(call_, nullptr)->End(why);
}

void AdminConnection::AnswerCall(uint64_t number, const AdminAnswer& answer) {
  if (open_call_ != number) return;
  if (answer.part != AdminAnswer::Part::kWhole) {
    return AnswerPart(number, answer);
  }
  open_call_ = 0;
  call_.reset();
  call_timer_.cancel();
  // Ends the wait of WatchClient; nothing else uses the socket now.
  Error ignored;
  stream_.socket().cancel(ignored);
  GiveRoom();
  const auto& request = parser_->get();
  const bool is_head = request.method() == http::verb::head;
  if (!parts_.take_room(answer.body.size())) {
    return Write(NoRoomForAnswer(), is_head, !request.keep_alive());
  }
  room_bytes_ = answer.body.size();
  Write(answer, is_head, !request.keep_alive());
}

void AdminConnection::AnswerPart(uint64_t number, const AdminAnswer& answer) {
  if (writes_part_) {
    // A heartbeat or a part, and the last part may follow at once.
    if (held_part_.has_value()) {
      held_part_->body += answer.body;
      held_part_->part = answer.part;
    } else {
      held_part_ = answer;
    }
    return;
  }
  std::string text;
  if (answer.part == AdminAnswer::Part::kFirst) {
    http::response<http::empty_body> head;
    FillHead(answer, head.base());
    head.keep_alive(false);
    std::ostringstream written;
    written << head.base();
    text = written.str();
    GiveRoom();
    AwaitHeartbeat(number);
  }
  WritePart(text + answer.body, answer.part);
}

void AdminConnection::WritePart(std::string text, AdminAnswer::Part part) {
  if (part == AdminAnswer::Part::kLast) {
    open_call_ = 0;
    call_.reset();
    call_timer_.cancel();
    waits_since_ = parts_.next_number();
  }
  writes_part_ = true;
  stream_.expires_after(parts_.limits.answer);
  const auto held = std::make_shared<std::string>(std::move(text));
  boost::asio::async_write(stream_, boost::asio::buffer(*held),
                           [self = shared_from_this(), held, part](
                               const Error& error, size_t /*bytes*/) {
                             if (error) return self->End();
                             self->PartWritten(part);
                           });
}

void AdminConnection::PartWritten(AdminAnswer::Part part) {
  writes_part_ = false;
  if (part == AdminAnswer::Part::kLast) return Linger();
  stream_.expires_never();
  // A heartbeat is no part of the call.
  if (part != AdminAnswer::Part::kWhole && call_ != nullptr) call_->Written();
  if (held_part_.has_value()) {
    AdminAnswer next = *std::exchange(held_part_, std::nullopt);
    WritePart(std::move(next.body), next.part);
  }
}

void AdminConnection::AwaitHeartbeat(uint64_t number) {
  call_timer_.expires_after(parts_.limits.heartbeat);
  call_timer_.async_wait([self = shared_from_this(), number](Error error) {
    if (error || self->open_call_ != number) return;
    if (!self->writes_part_) {
      self->WritePart(kHeartbeat, AdminAnswer::Part::kWhole);
    }
    self->AwaitHeartbeat(number);
  });
}

void AdminConnection::WatchClientSlowly(uint64_t number) {
  constexpr std::chrono::seconds kPause(1);
  gone_timer_.expires_after(kPause);
  gone_timer_.async_wait([self = shared_from_this(), number](Error error) {
    if (error || self->open_call_ != number) return;
    pollfd client{.fd = self->stream_.socket().native_handle(),
                  .events = POLLRDHUP,
                  .revents = 0};
    if (poll(&client, 1, 0) > 0) return self->End();
    self->WatchClientSlowly(number);
  });
}

void AdminConnection::WatchClient(uint64_t number) {
  stream_.socket().async_wait(
      Protocol::socket::wait_read,
      [self = shared_from_this(), number](const Error& error) {
        if (error || self->open_call_ != number) return;
        char byte = 0;
        const ssize_t count = recv(self->stream_.socket().native_handle(),
                                   &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        // The bytes of a next request would end each wait at once.
        if (count > 0) return self->WatchClientSlowly(number);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
          return self->WatchClient(number);
        }
        self->End();
      });
}

}  // namespace actord::daemon
