#include "runtime/step/record_fields.h"

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
  Write(kind);
  Write(uint16_t{0});
  Write(uint32_t{0});
  return begin;
}

void RecordWriter::End(size_t begin) {
  auto length =
      static_cast<uint32_t>(out_.size() - begin - RecordReader::kHeaderBytes);
  for (size_t i = begin + 4; i < begin + 8; ++i, length >>= 8) {
    out_[i] = static_cast<char>(length);
  }
}

void RecordWriter::Write(std::string_view text) {
  Write(static_cast<uint32_t>(text.size()));
  out_.append(text);
}

void RecordWriter::Write(const Pid& pid) {
  Write(pid.node);
  Write(pid.incarnation);
  Write(pid.slot);
  Write(pid.generation);
}

void RecordWriter::Write(const actord_payload& payload) {
  Write(View(payload.bytes));
  Write(View(payload.content_type));
}

void RecordWriter::Write(const Content& content) {
  if (!content) return Write(kNothing);
  if (HasSender(content->type)) {
    Write(kWithSender);
    Write(content->type);
    Write(FromAbi(content->from));
  } else {
    Write(kWithCompletion);
    Write(content->type);
    Write(content->completion.tag);
    Write(content->completion.status);
  }
  Write(content->topic());
  Write(content->payload());
}

void RecordReader::Refuse(std::string_view why) {
  if (!ok()) return;
  status_ =
      absl::InvalidArgumentError(absl::string_view(why.data(), why.size()));
}

std::string_view RecordReader::Take(size_t bytes) {
  if (bytes > left_.size()) {
    Refuse(absl::StrCat("it ends ", bytes - left_.size(), " bytes too early"));
    return {};
  }
  const std::string_view taken = left_.substr(0, bytes);
  left_.remove_prefix(bytes);
  return taken;
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
