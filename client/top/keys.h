// What somebody types on a terminal, as keys.
//
// Thread-safety: not thread-safe. Pure: reads nothing itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace actord::client::top {

enum class KeyKind {
  kText,  // a character, in `text`
  kEnter,
  kEscape,
  kBackspace,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kInterrupt,  // Ctrl-C
  kSuspend,    // Ctrl-Z
  kRedraw,     // Ctrl-L
};

struct Key {
  KeyKind kind;
  std::string text = {};  // of kText: one character of UTF-8
  bool pasted = false;    // it came with others, from a clipboard

  friend bool operator==(const Key&, const Key&) = default;
};

// Takes the bytes as they come, in whatever pieces. Between the marks of a
// bracketed paste (xterm) there are only characters, but for Ctrl-C, so that a
// paste without an end locks nobody out.
class KeyReader {
 public:
  // The keys that `bytes` complete. What is no key (other control characters,
  // unknown sequences, broken UTF-8) is dropped.
  std::vector<Key> Feed(std::string_view bytes);

  // There is the beginning of a sequence: if nothing follows at once (50 ms),
  // it was a key of its own, and Flush tells which.
  [[nodiscard]] bool pending() const { return !pending_.empty(); }
  std::vector<Key> Flush();

 private:
  // Takes one key, or what is none, from the front of `pending_`. False: there
  // is too little yet.
  bool TakeOne(std::vector<Key>& keys);
  bool TakeSequence(std::vector<Key>& keys);

  std::string pending_;
  bool pasting_ = false;
};

}  // namespace actord::client::top
