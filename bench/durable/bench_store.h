// A store for a runtime in this program.
//
// Thread-safety: as OpenedStore. Ownership: owns the store; outlives the
// runtime.
#pragma once

#include <memory>
#include <string>

#include "bench/bench_runtime.h"
#include "runtime/durable/opened_store.h"
#include "runtime/settings/options.h"

namespace actord::bench {

class BenchStore {
 public:
  // Opens or makes the store. Ends the program if that or its disk fails.
  explicit BenchStore(const std::string& directory) {
    runtime::OpenedStore::Options options;
    options.journal.directory = directory;
    options.failed = [](const absl::Status& status) {
      Fail(status.ToString());
    };
    auto opened = runtime::OpenedStore::Open(std::move(options));
    if (!opened.ok()) Fail(opened.status().ToString());
    store_ = *std::move(opened);
  }

  // The options of a runtime with this store.
  [[nodiscard]] runtime::RuntimeOptions With(
      runtime::RuntimeOptions options) const {
    options.store = store_.get();
    options.incarnation =
        static_cast<uint32_t>(store_->journal().report().incarnation);
    return options;
  }
  [[nodiscard]] runtime::Journal& journal() const { return store_->journal(); }

 private:
  std::unique_ptr<runtime::OpenedStore> store_;
};

}  // namespace actord::bench
