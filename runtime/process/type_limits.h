// The maximum number of live processes of a type, for types that have such a
// limit. A runtime without such a limit pays one test at each begin and end of
// a process.
//
// Thread-safety: any thread.
// performance-notes: Rare code moved out.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/counters/stats.h"
#include "runtime/process/catalog.h"
#include "runtime/system/assert.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

struct TypeLimit {
  std::string process_type;
  size_t max_processes = 1;  // 1 to 2^28
};

class TypeLimits {
 public:
  // If a type has several limits, the last limit applies.
  explicit TypeLimits(const std::vector<TypeLimit>& limits) {
    for (const TypeLimit& limit : limits) {
      counts_[limit.process_type] = std::make_unique<Count>(limit);
    }
  }
  TypeLimits(const TypeLimits&) = delete;
  TypeLimits& operator=(const TypeLimits&) = delete;

  // Counts one more process. False: the type is at its limit. Null, an unknown
  // type, has no limit.
  bool Take(const ProcessType* type) {
    return counts_.empty() ? true : TakeOfLimited(type);
  }
  // Counts one process less.
  void Give(const ProcessType* type) {
    if (!counts_.empty()) [[unlikely]] {
      GiveToLimited(type);
    }
  }

  // The types that have a limit, by name.
  [[nodiscard]] std::vector<LimitedType> Uses() const {
    std::vector<LimitedType> uses;
    for (const auto& [name, count] : counts_) {
      uses.push_back({name, count->live.load(std::memory_order_relaxed),
                      count->max,
                      count->refused.load(std::memory_order_relaxed)});
    }
    std::sort(uses.begin(), uses.end(),
              [](const LimitedType& a, const LimitedType& b) {
                return a.name < b.name;
              });
    return uses;
  }

  // Precondition: the type has a limit.
  [[nodiscard]] size_t MaxOf(const ProcessType& type) const {
    const Count* const count = Find(&type);
    ACTORD_ASSERT(count != nullptr, "type_limits.h: the type has a limit");
    return count->max;
  }

 private:
  struct Count {
    explicit Count(const TypeLimit& limit) : max(limit.max_processes) {}
    const size_t max;
    // Never above `max`, not even for a moment: a refused process must not
    // cause the refusal of another process, for which there is room by then.
    Atomic<size_t> live{0};
    Atomic<uint64_t> refused{0};
  };

  // (Not inlined: without limits their look-up would cost a spawn and an end
  // registers.)
  [[gnu::noinline]] bool TakeOfLimited(const ProcessType* type) {
    Count* const count = Find(type);
    if (count == nullptr) return true;
    // Relaxed: no other data depends on the count.
    size_t live = Unpriced(count->live).load(std::memory_order_relaxed);
    do {
      if (live >= count->max) {
        count->refused.fetch_add(1, std::memory_order_relaxed);
        return false;
      }
    } while (!count->live.compare_exchange_weak(live, live + 1,
                                                std::memory_order_relaxed));
    return true;
  }
  [[gnu::noinline]] void GiveToLimited(const ProcessType* type) {
    if (Count* const count = Find(type)) {
      const size_t before = count->live.fetch_sub(1, std::memory_order_relaxed);
      ACTORD_ASSERT(before != 0,
                    "type_limits.h: a process that ends was counted");
    }
  }

  [[nodiscard]] Count* Find(const ProcessType* type) const {
    if (type == nullptr) return nullptr;
    const auto it = counts_.find(type->name);
    return it == counts_.end() ? nullptr : it->second.get();
  }

  absl::flat_hash_map<std::string, std::unique_ptr<Count>> counts_;
};

}  // namespace actord::runtime
