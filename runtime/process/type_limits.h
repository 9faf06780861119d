// How many processes of a type may live at a time, for the types that have such
// a limit. A runtime without one pays a test for that at each begin and end of
// a process, no more.
//
// Thread-safety: any thread.
// performance-notes: Rare code moved out.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
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
  // Of two limits for a type the last one counts.
  explicit TypeLimits(const std::vector<TypeLimit>& limits) {
    for (const TypeLimit& limit : limits) {
      counts_[limit.process_type] = std::make_unique<Count>(limit);
    }
  }
  TypeLimits(const TypeLimits&) = delete;
  TypeLimits& operator=(const TypeLimits&) = delete;

  // Counts one more. False: there are as many as there may be. Null, an unknown
  // type, has no limit.
  bool Take(const ProcessType* type) {
    Count* const count = Find(type);
    if (count == nullptr) [[likely]] {
      return true;
    }
    // Relaxed: nothing else is read by this.
    size_t live = Unpriced(count->live).load(std::memory_order_relaxed);
    do {
      if (live >= count->max) return false;
    } while (!count->live.compare_exchange_weak(live, live + 1,
                                                std::memory_order_relaxed));
    return true;
  }
  // Counts one less.
  void Give(const ProcessType* type) {
    if (Count* const count = Find(type)) {
      const size_t before = count->live.fetch_sub(1, std::memory_order_relaxed);
      ACTORD_ASSERT(before != 0, "type_limits.h: whoever leaves was counted");
    }
  }

  // Precondition: it has one.
  [[nodiscard]] size_t MaxOf(const ProcessType& type) const {
    const Count* const count = Find(&type);
    ACTORD_ASSERT(count != nullptr, "type_limits.h: the type has a limit");
    return count->max;
  }

 private:
  struct Count {
    explicit Count(const TypeLimit& limit) : max(limit.max_processes) {}
    const size_t max;
    // Never above `max`, not even for a moment: one that is refused must not
    // refuse another, for which there is room meanwhile.
    Atomic<size_t> live{0};
  };

  [[nodiscard]] Count* Find(const ProcessType* type) const {
    if (counts_.empty() || type == nullptr) return nullptr;
    const auto it = counts_.find(type->name);
    return it == counts_.end() ? nullptr : it->second.get();
  }

  absl::flat_hash_map<std::string, std::unique_ptr<Count>> counts_;
};

}  // namespace actord::runtime
