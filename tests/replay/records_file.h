// A file of records: each behind the name of its process type and a newline.
//
// Thread-safety: any thread.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>

#include "runtime/step/record_format.h"

namespace actord::replay {

class RecordsFile final : public runtime::StepSink {
 public:
  // Null if the file cannot be written.
  explicit RecordsFile(const char* path) : file_(std::fopen(path, "wb")) {}
  RecordsFile(const RecordsFile&) = delete;
  RecordsFile& operator=(const RecordsFile&) = delete;
  ~RecordsFile() { Close(); }

  // False: not all could be written.
  bool Close() {
    if (file_ == nullptr) return false;
    const bool is_whole = std::ferror(file_) == 0;
    const bool is_closed = std::fclose(std::exchange(file_, nullptr)) == 0;
    return is_whole && is_closed;
  }

  void Keep(const char* process_type, const runtime::TurnInput& input,
            const runtime::StepRecord& record) override {
    const std::lock_guard lock(mutex_);
    bytes_ = process_type;
    bytes_ += '\n';
    runtime::EncodeRecord(input, record, bytes_);
    if (file_ != nullptr) std::fwrite(bytes_.data(), 1, bytes_.size(), file_);
    ++records_;
  }
  [[nodiscard]] uint64_t records() const { return records_; }

 private:
  std::mutex mutex_;
  std::FILE* file_;
  std::string bytes_;
  uint64_t records_ = 0;
};

}  // namespace actord::replay
