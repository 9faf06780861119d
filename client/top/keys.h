// Decodes the bytes that somebody types on a terminal into keys.
//
// Thread-safety: not thread-safe. Pure: does not read the terminal itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace actord::client::top {

enum class KeyKind {
  // A character, in `text`.
  kText,
  kEnter,
  kEscape,
  kBackspace,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  // Ctrl-C.
  kInterrupt,
  // Ctrl-Z.
  kSuspend,
  // Ctrl-L.
  kRedraw,
};

struct Key {
  KeyKind kind;
  // For kText: one character of UTF-8.
  std::string text = {};
  // The character was pasted from a clipboard.
  bool pasted = false;

  friend bool operator==(const Key&, const Key&) = default;
};

// Takes the bytes in pieces of any size. Between the marks of a bracketed paste
// (xterm) all keys except Ctrl-C are characters. So a paste without an end
// locks nobody out.
class KeyReader {
 public:
  // Returns the keys that `bytes` complete. Drops other control characters,
  // unknown sequences and broken UTF-8.
  std::vector<Key> Feed(std::string_view bytes);

  // True at the beginning of a sequence: if no byte follows within 50 ms, the
  // beginning was a key of its own, and Flush returns that key.
  [[nodiscard]] bool pending() const { return !pending_.empty(); }
  std::vector<Key> Flush();

 private:
  // Takes one key, or bytes that are no key, from the front of `pending_`.
  // False: the bytes are not complete yet.
  bool TakeOne(std::vector<Key>& keys);
  bool TakeSequence(std::vector<Key>& keys);

  std::string pending_;
  bool pasting_ = false;
};

}  // namespace actord::client::top
