// The base of all streaming calls. It reads one message at a time, writes one
// message at a time, and ends the call exactly once, no matter what the client
// does.
//
// A stream is
//   open     The stream reads and writes.
//   closing  The stream reads no more: the client has half-closed the call or
//            broken a rule, or the daemon is ending. The stream writes its
//            remaining output, and then ends.
//   ended    The stream has told gRPC to finish the call, or will do so when
//            the current write is done. It starts no read and no write.
//
// Bounds: the stream reads or handles one message at a time, reads the next
// message when the subclass wants it, and writes one message at a time. A
// stream that is paced reads the next message when the quotas of its client
// permit it; a pause ends also when the quotas change.
//
// Thread-safety: any thread. Ownership: OpenStreams keeps the stream until
// OnDone. gRPC calls OnDone when the call is finished and no function of the
// reactor is running or will be.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/access/access.h"
#include "daemon/access/client_quotas.h"
#include "daemon/operations/unread_answers.h"
#include "daemon/spans/spans.h"
#include "daemon/streams/read_pause.h"
#include "daemon/streams/stream_sink.h"

namespace actord::daemon {

class Stream;

// The open streams. The daemon closes them when it ends, because gRPC's server
// waits for every call before it stops.
class OpenStreams {
 public:
  // Closes all open streams with `status`, and each later stream as it begins.
  void CloseAll(const absl::Status& status);

  // Returns the present rights of a stream, or the reason why it must end.
  using Renew = std::function<absl::StatusOr<Access>(const Access& access)>;
  // Asks `renew` about the access of each open stream, and ends those for which
  // it returns an error.
  void Recheck(const Renew& renew);

  [[nodiscard]] size_t size() const;
  // The open streams of one peer, as gRPC spells it. All Unix sockets are one
  // peer.
  [[nodiscard]] size_t OpenOf(const std::string& peer) const;

 private:
  friend class Stream;
  void Add(const std::shared_ptr<Stream>& stream, std::string peer);
  void Remove(Stream* stream);

  struct Entry {
    std::shared_ptr<Stream> stream;
    std::string peer;
  };

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Stream*, Entry> open_ ABSL_GUARDED_BY(mutex_);
  // For peers that have some.
  absl::flat_hash_map<std::string, size_t> of_peer_ ABSL_GUARDED_BY(mutex_);
  absl::Status closed_ ABSL_GUARDED_BY(mutex_);  // OK: not closed
};

// A stream without gRPC's reactor, which BidiStream and WriteStream add.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Begins `stream` and returns its reactor for gRPC. The stream does not read
  // or write before Begin. gRPC's context lives until OnDone; `unread` must
  // outlive the server. `slot` is given back at OnDone, and `span` ends then;
  // null: the call has none.
  template <typename Call>
  static Call* Begin(std::shared_ptr<Call> stream,
                     const grpc::CallbackServerContext& context,
                     UnreadAnswers& unread, StreamSlot slot = {},
                     std::unique_ptr<CallSpan> span = nullptr) {
    stream->context_ = &context;
    stream->unread_ = &unread;
    {
      const absl::MutexLock lock(&stream->mutex_);
      stream->slot_ = std::move(slot);
      stream->span_ = std::move(span);
    }
    stream->BeginCall(context.peer());
    // `streams_` keeps the stream until OnDone. gRPC does not call OnDone
    // before it has the reactor.
    return stream.get();
  }

  // Begins a stream of responses that does not go through gRPC. `sink` lives
  // until it has called WriteStream::SinkDone.
  template <typename Call>
  static void BeginTo(std::shared_ptr<Call> stream, StreamSink& sink,
                      const std::string& peer, StreamSlot slot,
                      std::unique_ptr<CallSpan> span = nullptr) {
    stream->sink_ = &sink;
    {
      const absl::MutexLock lock(&stream->mutex_);
      stream->slot_ = std::move(slot);
      stream->span_ = std::move(span);
    }
    stream->BeginCall(peer);
  }

  // Finishes the call at once. A second End has no effect.
  void End(const absl::Status& status);
  // Stops reading, and finishes the call with `status` when the remaining
  // output is written. A second Close has no effect.
  void Close(const absl::Status& status);

  // See OpenStreams::Recheck.
  void Recheck(const OpenStreams::Renew& renew);

 protected:
  // `streams` is borrowed and must outlive the server.
  Stream(OpenStreams& streams, Access access)
      : streams_(streams),
        is_checked_(access.is_checked()),
        access_(std::move(access)) {}

  // The rights of the items of the stream. To be read anew for each message,
  // because a token may be renewed.
  [[nodiscard]] Access access() {
    if (!is_checked_) return {};
    const absl::MutexLock lock(&mutex_);
    return access_;
  }

  // Charges the quotas of the client for the message that has arrived, with
  // `items` requests in it. To be called from OnMessage, without the lock.
  void Charge(int items, size_t bytes);
  // True: reads wait for the quotas of the client.
  [[nodiscard]] virtual bool IsPaced() const { return false; }

  // Called when a message has arrived. The message stays in `bytes` until
  // Handled. Called without the lock, and not again before Handled.
  virtual void OnMessage(const grpc::ByteBuffer& bytes) = 0;
  // To be called exactly once for each OnMessage, on any thread, without the
  // lock. An error closes the stream.
  void Handled(const absl::Status& status);

  // Starts the reads and writes that are possible, and ends a closing stream
  // that has nothing left to write. To be called, without the lock, when the
  // result of one of the following functions has changed.
  void Continue();
  // Returns true if the next message may be read.
  virtual bool WantsMessage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // Sets the content of the next message to the client aside; false: there is
  // no output. Not called during a write.
  virtual bool TakeOutput() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // Encodes the content that was set aside. Called without the lock.
  virtual absl::Status WriteOutput(grpc::ByteBuffer* bytes) = 0;
  // Returns true if a closing stream will have more output after TakeOutput has
  // returned false.
  virtual bool ExpectsOutput() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return false;
  }
  // Called when the stream begins to close. The function may end the stream at
  // once.
  virtual void OnClosing(const absl::Status& /*status*/)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {}
  // Called when the stream has ended. Releases everything except the content
  // that was set aside.
  virtual void OnEnded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {}
  // Called when the stream has ended and no write is in progress. Releases the
  // content that was set aside.
  virtual void OnOutputOver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {}

  // Implemented by the gRPC adapter: start I/O, finish the call.
  virtual void StartReadInto(grpc::ByteBuffer* bytes) = 0;
  virtual void StartWriteOf(const grpc::ByteBuffer* bytes) = 0;
  virtual void FinishCall(const grpc::Status& status) = 0;
  // Called by the gRPC adapter when I/O has completed.
  void ReadDone(bool ok);
  void WriteDone(bool ok);
  void Cancelled();
  void Done();

  void EndLocked(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return end_.has_value();
  }

  // Null: the call goes through gRPC. Set by BeginTo.
  StreamSink* sink_ = nullptr;

  absl::Mutex mutex_;

 private:
  // kPaused: the quotas of the client do not permit a read yet. kPermitted:
  // they do, and the next read does not ask them again.
  enum class Read { kNone, kPaused, kPermitted, kUnderWay, kHandled };

  void BeginCall(const std::string& peer);
  void CloseLocked(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the next read may start now; else a pause has begun.
  bool MayRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitForQuota(absl::Duration left) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PauseOver();

  OpenStreams& streams_;
  // Set by Begin; null: the call does not go through gRPC.
  const grpc::CallbackServerContext* context_ = nullptr;
  UnreadAnswers* unread_ = nullptr;
  StreamSlot slot_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<CallSpan> span_ ABSL_GUARDED_BY(mutex_);  // null: none
  const bool is_checked_;
  Access access_ ABSL_GUARDED_BY(mutex_);
  Read read_ ABSL_GUARDED_BY(mutex_) = Read::kNone;
  ReadPause timer_ ABSL_GUARDED_BY(mutex_);
  ClientQuota::Pause pause_ ABSL_GUARDED_BY(mutex_);  // set while kPaused
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // The status to end with. `close_` is nullopt: the stream does not close.
  // `end_` is nullopt: the stream has not ended.
  std::optional<absl::Status> close_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  // The messages that are read and written. gRPC owns a buffer during a read or
  // a write; otherwise the thread that handles or encodes the message owns it.
  grpc::ByteBuffer in_bytes_;
  grpc::ByteBuffer out_bytes_;
};

// A call in which both sides send messages.
class BidiStream
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public Stream {
 protected:
  using Stream::Stream;

 private:
  void StartReadInto(grpc::ByteBuffer* bytes) final { StartRead(bytes); }
  void StartWriteOf(const grpc::ByteBuffer* bytes) final { StartWrite(bytes); }
  void FinishCall(const grpc::Status& status) final { Finish(status); }
  void OnReadDone(bool ok) final { ReadDone(ok); }
  void OnWriteDone(bool ok) final { WriteDone(ok); }
  void OnCancel() final { Cancelled(); }
  void OnDone() final { Done(); }
};

// A call in which the client sends one request, and then only the daemon sends:
// through gRPC, or to a sink.
class WriteStream : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                    public Stream {
 public:
  // For the sink. Any thread, without locks.
  // The message of StreamSink::Write has been written; not `ok`: the client has
  // gone. Once for each message.
  void SinkWritten(bool ok) { WriteDone(ok); }
  // The client has gone.
  void SinkGone() { Cancelled(); }
  // After StreamSink::Finish, once. The stream may be gone afterwards.
  void SinkDone() { Done(); }

 protected:
  using Stream::Stream;

 private:
  // A write stream reads no message: gRPC has read the request when the call
  // begins.
  bool WantsMessage() final ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return false;
  }
  void OnMessage(const grpc::ByteBuffer& /*bytes*/) final {}
  void StartReadInto(grpc::ByteBuffer* /*bytes*/) final {}

  void StartWriteOf(const grpc::ByteBuffer* bytes) final {
    if (sink_ != nullptr) {
      sink_->Write(*bytes);
    } else {
      StartWrite(bytes);
    }
  }
  void FinishCall(const grpc::Status& status) final {
    if (sink_ != nullptr) {
      sink_->Finish(status);
    } else {
      Finish(status);
    }
  }
  void OnWriteDone(bool ok) final { WriteDone(ok); }
  void OnCancel() final { Cancelled(); }
  void OnDone() final { Done(); }
};

// A message that is filled many times, so that its parts are not allocated each
// time. Its memory is measured once for each kLookBytes read, because measuring
// is expensive. So the message holds at most kMaxHeldBytes, plus the memory
// that kLookBytes on the wire can take.
//
// Thread-safety: none.
template <typename Message>
class ReusedMessage {
 public:
  [[nodiscard]] Message& get() { return message_; }
  // To be called when the message, which was read from `wire_bytes` bytes, is
  // no longer needed.
  void Used(size_t wire_bytes) {
    used_bytes_ += wire_bytes;
    if (used_bytes_ <= kLookBytes) return;
    used_bytes_ = 0;
    if (message_.SpaceUsedLong() > kMaxHeldBytes) Drop();
  }
  // Releases the memory of the message, for example of a malformed message.
  void Drop() { message_ = Message(); }

 private:
  static constexpr size_t kLookBytes = 128 << 10;
  static constexpr size_t kMaxHeldBytes = 1 << 20;

  Message message_;
  size_t used_bytes_ = 0;
};

}  // namespace actord::daemon
