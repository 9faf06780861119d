// The receiver of a stream of responses that does not go through gRPC.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

namespace actord::daemon {

// Both functions are called on any thread and must not call the stream back.
class StreamSink {
 public:
  // Takes the next message. The sink must call WriteStream::SinkWritten later.
  virtual void Write(const grpc::ByteBuffer& bytes) = 0;
  // The stream has ended and will write no more. The sink must call
  // WriteStream::SinkDone later.
  virtual void Finish(const grpc::Status& status) = 0;

 protected:
  ~StreamSink() = default;
};

}  // namespace actord::daemon
