// One connection to the admin port: reads requests one after the other, and
// answers each before it reads the next.
//
// | state     | waits for                            | for at most            |
// |-----------|--------------------------------------|------------------------|
// | idle      | the first byte of a request          | request, later: idle   |
// | reading   | the rest of its header; its body     | request; body          |
// | calling   | the answer of AdminCalls             | AdminCall::patience    |
// | streaming | the next part of the answer; the     | no limit; answer       |
// |           | client to take a part                |                        |
// | writing   | the client to take the answer        | answer                 |
// | lingering | the client to close, after an answer | linger                 |
// |           | that is the last one                 |                        |
//
// The last column names a field of AdminLimits. A connection that takes longer
// is closed; a call that takes longer is ended. A call is also ended when its
// client closes the connection. While a connection lingers, it reads and drops
// a bounded number of bytes: a connection that is closed with unread bytes is
// reset, and the client may lose the answer.
//
// Thread-safety: the thread of the server's io_context. Ownership: borrows the
// parts; its server and its running operations own it.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/admin/admin_calls.h"
#include "daemon/admin/admin_request.h"
#include "daemon/admin/admin_server.h"
#include "daemon/admin/allowed_hosts.h"

namespace actord::daemon {

class AdminConnection : public std::enable_shared_from_this<AdminConnection> {
 public:
  using Protocol = boost::asio::generic::stream_protocol;

  struct Parts {
    AdminLimits limits;
    const AllowedHosts& hosts;
    std::function<AdminAnswer(const AdminRequest&)> answer;
    // Called when a request was refused before `answer` was called.
    std::function<void()> refused;
    // Called when a request is about to be answered, and when its connection
    // waits for the next one.
    std::function<void(uint64_t connection, bool begins)> request;
    // Called once, when the connection is about to be closed.
    std::function<void(AdminConnection*)> ended;
    // Returns a larger number at each call, never 0.
    std::function<uint64_t()> next_number;
    AdminCalls* calls = nullptr;  // null: there are none
    // Takes room for the bodies of calls, and gives it back. False: there is
    // too little.
    std::function<bool(size_t bytes)> take_room;
    std::function<void(size_t bytes)> give_room;
    // Runs a function on the server's thread, later. Any thread.
    std::function<void(std::function<void()>)> post;
  };

  struct Peer {
    bool is_unix = false;
    bool is_local_user = false;  // as in AdminRequest
    std::string name;            // as in AdminRequest
    uint64_t number = 0;         // AdminRequest::connection
  };

  AdminConnection(Protocol::socket socket, Peer peer, const Parts& parts);

  void Start();
  // Closes the connection. Idempotent.
  void End();

  // The order of waiting: of two waiting connections, the one with the smaller
  // number has waited longer for its client. 0: the connection does not wait
  // for a request.
  [[nodiscard]] uint64_t waits_since() const { return waits_since_; }
  [[nodiscard]] uint64_t number() const { return peer_.number; }

 private:
  using Error = boost::beast::error_code;
  using Head = boost::beast::http::response_header<>;

  void AwaitRequest(std::chrono::milliseconds deadline);
  void ReadRequest();
  void CheckHeader();
  // True: the request may be answered.
  bool CheckHost();
  void ReadBody();
  // The path of the request, without the query.
  [[nodiscard]] std::string Path() const;
  [[nodiscard]] bool IsCall() const;
  void TakeRequest();
  void BeginCall();
  void EndCall(AdminCall::Why why);
  void AnswerCall(uint64_t number, const AdminAnswer& answer);
  void AnswerPart(uint64_t number, const AdminAnswer& answer);
  void WritePart(std::string text, AdminAnswer::Part part);
  void PartWritten(AdminAnswer::Part part);
  // Writes a line that clients ignore when there was nothing to write, so that
  // a client that is gone without a word is noticed.
  void AwaitHeartbeat(uint64_t number);
  // Notices while a call is open that the client has closed the connection.
  void WatchClient(uint64_t number);
  // The same for a client that has sent more: looks once a second.
  void WatchClientSlowly(uint64_t number);
  void GiveRoom();
  void RefuseUnread(const Error& error);
  void Refuse(unsigned status, std::string text);
  // Sets the status and the headers, except those of the length.
  static void FillHead(const AdminAnswer& answer, Head& head);
  void Write(const AdminAnswer& answer, bool is_head, bool is_last);
  template <typename Body>
  void WriteResponse(boost::beast::http::response<Body> response, bool is_last);
  void Linger();
  void Drop();

  const Peer peer_;
  const Parts& parts_;
  boost::beast::basic_stream<Protocol> stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<
      boost::beast::http::request_parser<boost::beast::http::string_body>>
      parser_;
  // The open call, and its number; 0: none is open.
  std::shared_ptr<AdminCall> call_;
  uint64_t open_call_ = 0;
  uint64_t last_call_ = 0;
  // Ends the call, or writes a heartbeat once the answer comes in parts.
  boost::asio::steady_timer call_timer_;
  boost::asio::steady_timer gone_timer_;
  bool writes_part_ = false;
  // The part of the answer that arrived during a write.
  std::optional<AdminAnswer> held_part_;
  size_t room_bytes_ = 0;  // taken with Parts::take_room
  uint64_t waits_since_ = 0;
  size_t dropped_bytes_ = 0;
  bool ended_ = false;
};

}  // namespace actord::daemon
