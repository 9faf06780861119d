// What the calls that are streams have in common: reading one message at a
// time, writing one at a time, and ending exactly once, whatever the client
// does.
//
// A stream is
//   open     it reads and writes
//   closing  it reads no more: the client has said that it sends no more, or
//            broke a rule, or the daemon ends. It writes what is still to be
//            told, and ends then.
//   ended    gRPC has been, or will be when the write under way is done, told
//            to finish the call. Nothing is started any more.
//
// Bounds: one message is read, or handled, at a time, and the next one only
// when the subclass wants it; one is written at a time.
//
// Thread-safety: any thread. Ownership: OpenStreams keeps it until OnDone,
// which gRPC calls when the call is finished and none of its functions is
// running or will be.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace actord::daemon {

class Stream;

// The streams that are open, so that they can be ended: a server that stops
// waits for every call.
class OpenStreams {
 public:
  // Closes all with `status`, and each later one as it comes.
  void CloseAll(const absl::Status& status);

  [[nodiscard]] size_t size() const;

 private:
  friend class Stream;
  void Add(const std::shared_ptr<Stream>& stream);
  void Remove(Stream* stream);

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Stream*, std::shared_ptr<Stream>> open_
      ABSL_GUARDED_BY(mutex_);
  absl::Status closed_ ABSL_GUARDED_BY(mutex_);  // OK: not yet
};

// All of it but gRPC's reactor: BidiStream and WriteStream add that.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // For gRPC: lets `stream` begin. Nothing has been read or written before.
  template <typename Call>
  static Call* Begin(std::shared_ptr<Call> stream) {
    stream->BeginCall();
    // Kept by `streams_` until OnDone, which gRPC does not call before it has
    // been given the reactor.
    return stream.get();
  }

  // Finishes the call at once. Only the first counts.
  void End(const absl::Status& status);
  // Reads no more, and finishes the call with `status` when all that is to be
  // told has been written. Only the first counts.
  void Close(const absl::Status& status);

 protected:
  // `streams` is borrowed and must outlive the server.
  explicit Stream(OpenStreams& streams) : streams_(streams) {}

  // A message has come, which stays in `bytes` until Handled. Called without
  // the lock, and not again before Handled.
  virtual void OnMessage(const grpc::ByteBuffer& bytes) = 0;
  // Exactly once for each OnMessage, on any thread, without the lock; an error
  // closes the stream.
  void Handled(const absl::Status& status);

  // Reads and writes what there is to read and to write, and ends the stream if
  // nothing is left to do. To be called, without the lock, when one of the
  // following has another answer than before.
  void Continue();
  // Whether the next message may be read.
  virtual bool WantsMessage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // Sets aside what the next message to the client will say; false: nothing.
  // Not called while one is being written.
  virtual bool TakeOutput() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // Makes a message of what was set aside. Called without the lock.
  virtual absl::Status WriteOutput(grpc::ByteBuffer* bytes) = 0;
  // Of a stream that is closing, when TakeOutput has said no: whether there
  // will be more.
  virtual bool ExpectsOutput() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return false;
  }
  // It is closing from now on. May end it at once.
  virtual void OnClosing(const absl::Status& /*status*/)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {}
  // It has ended. Gives back what it holds, but for what was set aside.
  virtual void OnEnded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {}
  // Likewise, and nothing is being written. Gives back what was set aside.
  virtual void OnOutputOver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {}

  // What the reactor is asked for.
  virtual void StartReadInto(grpc::ByteBuffer* bytes) = 0;
  virtual void StartWriteOf(const grpc::ByteBuffer* bytes) = 0;
  virtual void FinishCall(const grpc::Status& status) = 0;
  // What it says.
  void ReadDone(bool ok);
  void WriteDone(bool ok);
  void Cancelled();
  void Done();

  void EndLocked(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return end_.has_value();
  }

  absl::Mutex mutex_;

 private:
  enum class Read { kNone, kUnderWay, kHandled };

  void BeginCall();
  void CloseLocked(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  OpenStreams& streams_;
  Read read_ ABSL_GUARDED_BY(mutex_) = Read::kNone;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // What to end with; nullopt: not closing, not ended.
  std::optional<absl::Status> close_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  // gRPC's while a read or a write is under way; of the one who handles or
  // makes the message otherwise.
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

// A call in which the client sends one request, and then only the daemon sends.
class WriteStream : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                    public Stream {
 protected:
  using Stream::Stream;

 private:
  // Nothing is read, for the request is there when the call begins.
  bool WantsMessage() final ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return false;
  }
  void OnMessage(const grpc::ByteBuffer& /*bytes*/) final {}
  void StartReadInto(grpc::ByteBuffer* /*bytes*/) final {}

  void StartWriteOf(const grpc::ByteBuffer* bytes) final { StartWrite(bytes); }
  void FinishCall(const grpc::Status& status) final { Finish(status); }
  void OnWriteDone(bool ok) final { WriteDone(ok); }
  void OnCancel() final { Cancelled(); }
  void OnDone() final { Done(); }
};

// A message that is filled again and again, so that its parts are not allocated
// each time. What it holds on to is looked at from time to time, for that
// costs, and is bounded: kMaxHeldBytes, and what kLookBytes on the wire can
// become.
//
// Thread-safety: none.
template <typename Message>
class ReusedMessage {
 public:
  [[nodiscard]] Message& get() { return message_; }
  // It was read from so many bytes, and nobody needs it any more.
  void Used(size_t wire_bytes) {
    used_bytes_ += wire_bytes;
    if (used_bytes_ <= kLookBytes) return;
    used_bytes_ = 0;
    if (message_.SpaceUsedLong() > kMaxHeldBytes) Drop();
  }
  // Likewise, and it was not what it should be.
  void Drop() { message_ = Message(); }

 private:
  static constexpr size_t kLookBytes = 128 << 10;
  static constexpr size_t kMaxHeldBytes = 1 << 20;

  Message message_;
  size_t used_bytes_ = 0;
};

}  // namespace actord::daemon
