#include "tests/sim/store/diary.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace actord::sim {
namespace {

template <typename T>
void Append(const std::vector<T>& list, std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes += BytesOfValue(uint64_t{list.size()});
  bytes.append(reinterpret_cast<const char*>(list.data()),
               list.size() * sizeof(T));
}

template <typename T>
bool Take(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof(value)) return false;
  std::memcpy(&value, bytes.data(), sizeof(value));
  bytes.remove_prefix(sizeof(value));
  return true;
}

template <typename T>
bool TakeList(std::string_view& bytes, std::vector<T>& list) {
  uint64_t count = 0;
  if (!Take(bytes, count) || count > bytes.size() / sizeof(T)) return false;
  list.resize(count);
  if (count != 0) std::memcpy(list.data(), bytes.data(), count * sizeof(T));
  bytes.remove_prefix(count * sizeof(T));
  return true;
}

}  // namespace

template <typename T>
bool ReadValue(std::string_view bytes, T& value) {
  return Take(bytes, value);
}
template bool ReadValue(std::string_view bytes, Errand& value);
template bool ReadValue(std::string_view bytes, uint64_t& value);

void Diary::Meet(const runtime::Pid& peer) {
  if (peer.empty() ||
      std::find(peers.begin(), peers.end(), peer) != peers.end()) {
    return;
  }
  if (peers.size() == kMostPeers) peers.erase(peers.begin());
  peers.push_back(peer);
}

uint64_t Diary::Count(Entry::Kind kind, const runtime::Pid& peer) const {
  return static_cast<uint64_t>(
      std::count_if(entries.begin(), entries.end(), [&](const Entry& entry) {
        return entry.kind == kind && entry.peer == peer;
      }));
}

const Entry* Diary::Find(Entry::Kind kind, uint64_t number) const {
  for (const Entry& entry : entries) {
    if (entry.kind == kind && entry.number == number) return &entry;
  }
  return nullptr;
}

bool Diary::IsRefusedBy(uint16_t newer) const {
  return !entries.empty() && (entries.front().number + newer) % 3 == 0;
}

size_t Diary::Outstanding() const {
  size_t count = 0;
  for (const Entry& entry : entries) {
    if (entry.kind == Entry::kYielded) ++count;
    if (entry.kind == Entry::kCompleted) --count;
  }
  return count;
}

std::string Diary::Encode() const {
  std::string bytes =
      BytesOfValue(version) + BytesOfValue(balance) + BytesOfValue(witness);
  Append(peers, bytes);
  Append(owed, bytes);
  Append(entries, bytes);
  return bytes;
}

bool Diary::Decode(std::string_view bytes, Diary& diary) {
  return Take(bytes, diary.version) && Take(bytes, diary.balance) &&
         Take(bytes, diary.witness) && TakeList(bytes, diary.peers) &&
         TakeList(bytes, diary.owed) && TakeList(bytes, diary.entries) &&
         bytes.empty();
}

}  // namespace actord::sim
