#include "runtime/step/record_bytes.h"

#include <actord/text.h>

#include "absl/strings/str_cat.h"

namespace actord::runtime {
namespace {

// The forms of the content of an effect.
constexpr uint8_t kNothing = 0;
constexpr uint8_t kWithSender = 1;
constexpr uint8_t kWithCompletion = 2;

bool HasSender(uint16_t type) {
  return type == ACTORD_EVENT_MESSAGE || type == kEventCall;
}

}  // namespace

size_t RecordWriter::Begin(uint16_t kind) {
  const size_t begin = out_.size();
  char* at = Put(kind, out_.Room(RecordReader::kHeaderBytes));
  at = Put(uint16_t{0}, at);  // flags
  out_.Took(Put(uint32_t{0}, at));
  return begin;
}

void RecordWriter::End(size_t begin) {
  const size_t length = out_.size() - begin - RecordReader::kHeaderBytes;
  Put(static_cast<uint32_t>(length), out_.At(begin) + 4);
}

void RecordWriter::Write(std::string_view text) {
  Write(static_cast<uint32_t>(text.size()));
  out_.Append(text);
}

char* RecordWriter::Put(const Pid& pid, char* at) {
  for (const uint32_t word :
       {pid.node, pid.incarnation, pid.slot, pid.generation}) {
    at = Put(word, at);
  }
  return at;
}

void RecordWriter::Write(const Pid& pid) {
  out_.Took(Put(pid, out_.Room(sizeof(Pid))));
}

void RecordWriter::Write(const actord_payload& payload) {
  Write(View(payload.bytes));
  Write(View(payload.content_type));
}

void RecordWriter::Write(const Content& content) {
  if (!content) return Write(kNothing);
  // The form, the type, and the longer of a PID and a tag with a status.
  char* at = out_.Room(sizeof(uint8_t) + sizeof(uint16_t) + sizeof(Pid));
  if (HasSender(content->type)) {
    at = Put(content->type, Put(kWithSender, at));
    at = Put(FromAbi(content->from), at);
  } else {
    at = Put(content->type, Put(kWithCompletion, at));
    at = Put(content->completion.tag, at);
    at = Put(content->completion.status, at);
  }
  out_.Took(at);
  Write(content->topic());
  Write(content->payload());
}

void RecordReader::Refuse(std::string_view why) {
  if (!ok()) return;
  status_ =
      absl::InvalidArgumentError(absl::string_view(why.data(), why.size()));
}

std::string_view RecordReader::RefuseShort(size_t bytes) {
  Refuse(absl::StrCat("it ends ", bytes - left_.size(), " bytes too early"));
  return {};
}

RecordReader::Item RecordReader::TakeItem() {
  Item item;
  const std::string_view begin = left_;
  const std::string_view header = Take(kHeaderBytes);
  if (!ok()) return item;
  const auto byte = [&](size_t at) {
    return static_cast<uint32_t>(static_cast<unsigned char>(header[at]));
  };
  item.kind = static_cast<uint16_t>(byte(0) | byte(1) << 8);
  item.flags = static_cast<uint16_t>(byte(2) | byte(3) << 8);
  const uint32_t length =
      byte(4) | byte(5) << 8 | byte(6) << 16 | byte(7) << 24;
  item.body = Take(length);
  if (ok()) item.whole = begin.substr(0, kHeaderBytes + length);
  return item;
}

void RecordReader::Read(std::string_view& text, BufferCache& buffers) {
  uint32_t size = 0;
  Read(size, buffers);
  text = Take(size);
}

void RecordReader::Read(std::string& text, BufferCache& buffers) {
  std::string_view view;
  Read(view, buffers);
  text = view;
}

void RecordReader::Read(Pid& pid, BufferCache& buffers) {
  Read(pid.node, buffers);
  Read(pid.incarnation, buffers);
  Read(pid.slot, buffers);
  Read(pid.generation, buffers);
}

void RecordReader::Read(actord_payload& payload, BufferCache& buffers) {
  std::string_view bytes;
  std::string_view content_type;
  Read(bytes, buffers);
  Read(content_type, buffers);
  payload = {ToAbi(bytes), ToAbi(content_type)};
}

void RecordReader::Read(Content& content, BufferCache& buffers) {
  uint8_t what = kNothing;
  Read(what, buffers);
  if (!ok() || what == kNothing) return;
  uint16_t type = 0;
  Pid from;
  uint64_t tag = 0;
  int32_t status = 0;
  Read(type, buffers);
  if (what == kWithSender && HasSender(type)) {
    Read(from, buffers);
  } else if (what == kWithCompletion && !HasSender(type)) {
    Read(tag, buffers);
    Read(status, buffers);
  } else {
    return Refuse("a content is of no known form");
  }
  std::string_view topic;
  actord_payload payload{};
  Read(topic, buffers);
  Read(payload, buffers);
  if (topic.size() > kMaxLabelBytes + sizeof(CallHeader) ||
      !Fits(payload, kPayloadLimitMaxBytes)) {
    Refuse("a content is larger than any may be");
  }
  if (!ok()) return;
  content = Content(Envelope::Create(buffers, type, topic, payload));
  if (what == kWithSender) {
    content->from = ToAbi(from);
  } else {
    content->completion.tag = tag;
    content->completion.status = status;
  }
}

}  // namespace actord::runtime
