// For kill_test.py: opens the store in DIRECTORY, prints "open END" with the
// position behind the last record, and every record that it finds as
// "found LSN NUMBER". Then appends records from two threads, until it is
// killed, and prints "acknowledged LSN NUMBER" for each durable record.
//
//   journal_writer DIRECTORY FIRST_NUMBER [check]
//
// With "check" it ends after "open".
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/journal/journal.h"

namespace {

using actord::runtime::Journal;
using actord::runtime::JournalEvents;
using actord::runtime::JournalOptions;
using actord::runtime::JournalReader;

constexpr uint16_t kNumberKind = 7;

class ExitEvents final : public JournalEvents {
 public:
  void Durable(uint64_t /*lsn*/) override {}
  void CaughtUp() override {}
  void Failed(const absl::Status& status) override {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    _exit(74);
  }
};

// In one write, so that lines of two threads do not mix, and none is torn.
void Print(const std::string& line) {
  if (write(STDOUT_FILENO, line.data(), line.size()) !=
      static_cast<ssize_t>(line.size())) {
    _exit(1);
  }
}

void PrintAll(const Journal& journal) {
  JournalReader reader = journal.Read(journal.FirstLsn());
  for (;;) {
    const absl::StatusOr<bool> more = reader.Next();
    if (!more.ok()) {
      std::fprintf(stderr, "%s\n", more.status().ToString().c_str());
      _exit(1);
    }
    if (!*more) return;
    if (reader.record().kind != kNumberKind) continue;
    const std::string text(reader.record().payload);
    Print(absl::StrCat("found ", reader.record().lsn, " ",
                       text.substr(0, text.find(' ')), "\n"));
  }
}

void AppendForEver(Journal& journal, std::atomic<uint64_t>& next) {
  for (;;) {
    std::vector<std::pair<uint64_t, uint64_t>> appended;
    for (int i = 0; i < 4; ++i) {
      const uint64_t number = next.fetch_add(1);
      std::string payload = absl::StrCat(number, " ");
      payload.resize(payload.size() + number * 7919 % 3000, 'p');
      const absl::StatusOr<uint64_t> lsn =
          journal.Append({kNumberKind, 0, payload});
      if (!lsn.ok()) _exit(1);
      appended.emplace_back(*lsn, number);
    }
    if (!journal.AwaitDurable(appended.back().first + 8).ok()) _exit(1);
    std::string lines;
    for (const auto& [lsn, number] : appended) {
      lines += absl::StrCat("acknowledged ", lsn, " ", number, "\n");
    }
    Print(lines);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  JournalOptions options;
  options.directory = argv[1];
  options.segment_bytes = 1 << 20;
  options.max_record_bytes = 64 << 10;
  options.max_unsynced_bytes = 256 << 10;
  options.ring_bytes = 1 << 20;
  options.max_group_bytes = 64 << 10;
  options.knows = [](uint16_t kind) { return kind == kNumberKind; };
  ExitEvents events;
  auto journal = Journal::Open(options, events);
  if (!journal.ok()) {
    std::fprintf(stderr, "%s\n", journal.status().ToString().c_str());
    return 78;
  }
  PrintAll(**journal);
  Print(absl::StrCat("open ", (*journal)->DurableLsn(), "\n"));
  if (argc > 3) return 0;
  std::atomic<uint64_t> next{std::strtoull(argv[2], nullptr, 10)};
  std::thread other([&] { AppendForEver(**journal, next); });
  AppendForEver(**journal, next);
}
