#include "client/top/keys.h"

#include <actord/text.h>

#include <map>
#include <optional>

namespace actord::client::top {
namespace {

// No terminal sends longer sequences; a longer one is dropped in pieces.
constexpr size_t kMaxSequence = 16;

constexpr std::string_view kPasteBegin = "[200~";
constexpr std::string_view kPasteEnd = "[201~";

// The bytes after the ESC.
const std::map<std::string, KeyKind, std::less<>>& Sequences() {
  static const auto& sequences =
      *new std::map<std::string, KeyKind, std::less<>>{
          {"[A", KeyKind::kUp},      {"OA", KeyKind::kUp},
          {"[B", KeyKind::kDown},    {"OB", KeyKind::kDown},
          {"[5~", KeyKind::kPageUp}, {"[6~", KeyKind::kPageDown},
          {"[H", KeyKind::kHome},    {"OH", KeyKind::kHome},
          {"[1~", KeyKind::kHome},   {"[7~", KeyKind::kHome},
          {"[F", KeyKind::kEnd},     {"OF", KeyKind::kEnd},
          {"[4~", KeyKind::kEnd},    {"[8~", KeyKind::kEnd}};
  return sequences;
}

std::optional<KeyKind> OfControl(char c) {
  switch (c) {
    case '\r':
    case '\n':
      return KeyKind::kEnter;
    case '\b':
    case '\x7f':
      return KeyKind::kBackspace;
    case '\x03':
      return KeyKind::kInterrupt;
    case '\x1a':
      return KeyKind::kSuspend;
    case '\x0c':
      return KeyKind::kRedraw;
    default:
      return std::nullopt;
  }
}

bool MayBecomeUtf8(std::string_view bytes) {
  return bytes.size() < Utf8LengthAfter(bytes.front());
}

}  // namespace

std::vector<Key> KeyReader::Feed(std::string_view bytes) {
  std::vector<Key> keys;
  pending_ += bytes;
  while (!pending_.empty() && TakeOne(keys)) {
  }
  return keys;
}

std::vector<Key> KeyReader::Flush() {
  std::vector<Key> keys;
  if (pending_ == "\x1b" && !pasting_)
    keys.push_back({.kind = KeyKind::kEscape});
  pending_.clear();
  return keys;
}

bool KeyReader::TakeOne(std::vector<Key>& keys) {
  const char first = pending_.front();
  if (first == '\x1b') return TakeSequence(keys);
  if (static_cast<unsigned char>(first) < 0x20U || first == '\x7f') {
    const auto kind = OfControl(first);
    if (kind && (!pasting_ || *kind == KeyKind::kInterrupt)) {
      keys.push_back({.kind = *kind});
    }
    pending_.erase(0, 1);
    return true;
  }
  const size_t length = Utf8CharacterLength(pending_);
  if (length == 0 && MayBecomeUtf8(pending_)) return false;
  if (length > 0) {
    keys.push_back({.kind = KeyKind::kText,
                    .text = pending_.substr(0, length),
                    .pasted = pasting_});
  }
  pending_.erase(0, length == 0 ? 1 : length);
  return true;
}

// ESC [ parameters final, or ESC O final; a second ESC means that the first ESC
// was a key.
bool KeyReader::TakeSequence(std::vector<Key>& keys) {
  if (pending_.size() < 2) return false;
  if (pending_[1] != '[' && pending_[1] != 'O') {
    if (!pasting_) keys.push_back({.kind = KeyKind::kEscape});
    pending_.erase(0, 1);
    return true;
  }
  size_t end = 2;
  while (end < pending_.size() &&
         (pending_[end] < '@' || pending_[end] > '~')) {
    ++end;
  }
  if (end == pending_.size() && end < kMaxSequence) return false;
  const std::string_view sequence =
      std::string_view(pending_).substr(1, end < pending_.size() ? end : 0);
  const auto known = Sequences().find(sequence);
  if (sequence == kPasteBegin || sequence == kPasteEnd) {
    pasting_ = sequence == kPasteBegin;
  } else if (known != Sequences().end() && !pasting_) {
    keys.push_back({.kind = known->second});
  }
  pending_.erase(0, end + 1);
  return true;
}

}  // namespace actord::client::top
