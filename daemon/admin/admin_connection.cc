#include "daemon/admin/admin_connection.h"

#include <algorithm>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr unsigned kBadRequest = 400;
constexpr unsigned kBodyTooLarge = 413;
constexpr unsigned kMisdirected = 421;
constexpr unsigned kHeaderTooLarge = 431;

constexpr unsigned kHttp11 = 11;
constexpr size_t kReadBytes = 2048;
// Maximum number of bytes that a lingering connection reads and drops.
constexpr size_t kMaxDroppedBytes = 64 << 10;

}  // namespace

AdminConnection::AdminConnection(Protocol::socket socket, Peer peer,
                                 const Parts& parts)
    : peer_(std::move(peer)),
      parts_(parts),
      stream_(std::move(socket)),
      buffer_(parts.limits.header_bytes + parts.limits.body_bytes + kReadBytes),
      call_timer_(stream_.get_executor()),
      gone_timer_(stream_.get_executor()) {}

void AdminConnection::Start() { AwaitRequest(parts_.limits.request); }

void AdminConnection::End() {
  if (std::exchange(ended_, true)) return;
  EndCall(AdminCall::Why::kClientGone);
  GiveRoom();
  // A shared pointer keeps this object until End returns.
  const auto self = shared_from_this();
  parts_.ended(this);
  stream_.close();
}

void AdminConnection::AwaitRequest(std::chrono::milliseconds deadline) {
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(parts_.limits.header_bytes));
  // CheckHeader sets the limit of the request.
  parser_->body_limit(
      parts_.calls == nullptr
          ? parts_.limits.body_bytes
          : std::max(parts_.limits.body_bytes, parts_.calls->max_body_bytes()));
  waits_since_ = parts_.next_number();
  parts_.request(peer_.number, /*begins=*/false);
  if (buffer_.size() > 0) return ReadRequest();
  stream_.expires_after(deadline);
  stream_.async_read_some(
      buffer_.prepare(kReadBytes),
      [self = shared_from_this()](const Error& error, size_t bytes) {
        if (error) return self->End();
        self->buffer_.commit(bytes);
        self->ReadRequest();
      });
}

void AdminConnection::ReadRequest() {
  stream_.expires_after(parts_.limits.request);
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](const Error& error, size_t /*bytes*/) {
        if (error) return self->RefuseUnread(error);
        self->CheckHeader();
      });
}

void AdminConnection::CheckHeader() {
  if (!CheckHost()) return;
  stream_.expires_after(IsCall() ? parts_.limits.body : parts_.limits.request);
  ReadBody();
}

// Reads the body piece by piece, so that only bytes that have arrived take
// room.
void AdminConnection::ReadBody() {
  // Only a POST has a request in its body.
  const size_t limit = IsCall() && parser_->get().method() == http::verb::post
                           ? parts_.calls->MaxBodyBytesOf(Path())
                           : parts_.limits.body_bytes;
  const size_t size = parser_->get().body().size();
  if (size > limit || parser_->content_length().value_or(0) > limit) {
    return Refuse(kBodyTooLarge,
                  absl::StrCat("the body is larger than ", limit, " bytes\n"));
  }
  if (size > room_bytes_) {
    if (!parts_.take_room(size - room_bytes_)) {
      return Refuse(kServiceUnavailable,
                    "the daemon holds too many requests: try again\n");
    }
    room_bytes_ = size;
  }
  if (parser_->is_done()) return TakeRequest();
  http::async_read_some(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](const Error& error, size_t /*bytes*/) {
        if (error) return self->RefuseUnread(error);
        self->ReadBody();
      });
}

void AdminConnection::GiveRoom() {
  if (room_bytes_ > 0) parts_.give_room(std::exchange(room_bytes_, 0));
}

std::string AdminConnection::Path() const {
  const beast::string_view target = parser_->get().target();
  return std::string(target.substr(0, target.find_first_of("?#")));
}

bool AdminConnection::IsCall() const {
  return parts_.calls != nullptr && parts_.calls->Takes(Path());
}

void AdminConnection::RefuseUnread(const Error& error) {
  if (error == http::error::header_limit ||
      error == http::error::buffer_overflow) {
    return Refuse(kHeaderTooLarge,
                  absl::StrCat("the header is larger than ",
                               parts_.limits.header_bytes, " bytes\n"));
  }
  if (error == http::error::body_limit) {
    const size_t limit = parser_->is_header_done() && IsCall()
                             ? parts_.calls->MaxBodyBytesOf(Path())
                             : parts_.limits.body_bytes;
    return Refuse(kBodyTooLarge,
                  absl::StrCat("the body is larger than ", limit, " bytes\n"));
  }
  const bool is_bad_http =
      error.category() ==
          http::make_error_code(http::error::body_limit).category() &&
      error != http::error::end_of_stream &&
      error != http::error::partial_message;
  if (is_bad_http) {
    return Refuse(
        kBadRequest,
        absl::StrCat("not an HTTP/1.1 request: ", error.message(), "\n"));
  }
  // The client has gone, or is too slow.
  End();
}

void AdminConnection::Refuse(unsigned status, std::string text) {
  parts_.refused();
  GiveRoom();
  AdminAnswer answer;
  answer.status = status;
  answer.body = std::move(text);
  Write(answer, /*is_head=*/false, /*is_last=*/true);
}

bool AdminConnection::CheckHost() {
  const auto& request = parser_->get();
  const size_t hosts = request.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && request.version() >= kHttp11)) {
    Refuse(kBadRequest, "HTTP/1.1 needs one header Host\n");
    return false;
  }
  const beast::string_view host = request[http::field::host];
  // No browser connects to a Unix socket.
  if (hosts == 1 && !peer_.is_unix &&
      !parts_.hosts.Allows({host.data(), host.size()})) {
    Refuse(kMisdirected,
           "the header Host names none of this daemon's hosts: use an "
           "address, or add the name to admin.hosts\n");
    return false;
  }
  if (!request.target().starts_with('/')) {
    Refuse(kBadRequest, "the target of a request must begin with /\n");
    return false;
  }
  return true;
}

void AdminConnection::TakeRequest() {
  parts_.request(peer_.number, /*begins=*/true);
  if (IsCall()) return BeginCall();
  GiveRoom();
  const auto& request = parser_->get();
  const beast::string_view accept = request[http::field::accept];
  const AdminAnswer answer = parts_.answer(
      {.method = std::string(request.method_string()),
       .path = Path(),
       .accept = std::string(accept),
       .if_none_match = std::string(request[http::field::if_none_match])});
  Write(answer, request.method() == http::verb::head, !request.keep_alive());
}

void AdminConnection::Write(const AdminAnswer& answer, bool is_head,
                            bool is_last) {
  const auto fill = [&](auto& response) {
    FillHead(answer, response.base());
    response.keep_alive(!is_last);
    // A 304 may only give the length of the file, which stays with the client.
    if (response.result() == http::status::not_modified) return;
    response.content_length(answer.body.size());
  };
  if (is_head) {
    http::response<http::empty_body> response;
    fill(response);
    return WriteResponse(std::move(response), is_last);
  }
  http::response<http::string_body> response;
  fill(response);
  response.body() = answer.body;
  WriteResponse(std::move(response), is_last);
}

template <typename Body>
void AdminConnection::WriteResponse(http::response<Body> response,
                                    bool is_last) {
  // It waits for its client, and makes room for others if need be.
  waits_since_ = parts_.next_number();
  stream_.expires_after(parts_.limits.answer);
  auto held = std::make_shared<http::response<Body>>(std::move(response));
  // A copy would be const, and const messages need another serializer.
  http::response<Body>& written = *held;
  http::async_write(stream_, written,
                    [self = shared_from_this(), held = std::move(held),
                     is_last](const Error& error, size_t /*bytes*/) {
                      if (error) return self->End();
                      self->GiveRoom();
                      if (is_last) return self->Linger();
                      self->AwaitRequest(self->parts_.limits.idle);
                    });
}

void AdminConnection::Linger() {
  Error error;
  stream_.socket().shutdown(Protocol::socket::shutdown_send, error);
  if (error) return End();
  waits_since_ = parts_.next_number();
  buffer_.clear();
  stream_.expires_after(parts_.limits.linger);
  Drop();
}

void AdminConnection::Drop() {
  stream_.async_read_some(
      buffer_.prepare(kReadBytes),
      [self = shared_from_this()](const Error& error, size_t bytes) {
        self->dropped_bytes_ += bytes;
        if (error || self->dropped_bytes_ > kMaxDroppedBytes) {
          return self->End();
        }
        self->Drop();
      });
}

}  // namespace actord::daemon
