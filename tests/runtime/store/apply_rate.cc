// Measures the applier: writes a journal of 64 MiB, and makes the state store
// from it.
//
// Usage: store_apply_rate DIRECTORY [PROCESSES [ROUND_BYTES]]
//
// DIRECTORY is made, and must not exist. Each of PROCESSES processes (default:
// 1,000) gets an INPUT of 64 bytes and takes it with a STEP that has an image
// of 64 bytes, in turn. A round ends each ROUND_BYTES of the journal (default:
// the whole journal).
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/journal/journal.h"
#include "runtime/records/record_codec.h"
#include "runtime/store/journal_applier.h"
#include "runtime/store/rocks_state_store.h"
#include "runtime/store/store_rounds.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {
namespace {

constexpr uint64_t kJournalBytes = 64 << 20;

class Events final : public JournalEvents {
 public:
  void Durable(uint64_t /*lsn*/) override {}
  void CaughtUp() override {}
  void Failed(const absl::Status& status) override {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }
};

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

double Seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Writer {
 public:
  Writer(Journal& journal, uint32_t processes)
      : journal_(journal), processes_(processes) {}

  template <typename Record>
  uint64_t Write(const Record& record) {
    payload_.clear();
    records::Encode(record, payload_);
    const auto lsn =
        journal_.Append({static_cast<uint16_t>(record.kKind),
                         records::FlagsOf(record.kKind), payload_});
    Check(lsn.status());
    ++records_;
    return *lsn;
  }
  // All records of the measurement.
  void WriteAll() {
    for (uint32_t i = 0; i < processes_; ++i) {
      Write(records::Submitted{.pid = PidOf(i), .process_type = "counter"});
      Write(records::Started{.pid = PidOf(i), .image = std::string(64, 's')});
    }
    std::vector<uint64_t> steps(processes_);
    uint32_t i = 0;
    while (journal_.Tail() < kJournalBytes) {
      records::Input input{.to = PidOf(i)};
      input.messages.push_back({.payload = {std::string(64, 'i'), ""}});
      const uint64_t lsn = Write(input);
      records::Step step{.pid = PidOf(i)};
      step.turn.next_tag = 1;
      step.turn.step = ++steps[i];
      step.consumed.list.push_back({.lsn = lsn});
      step.image = std::string(64, 's');
      Write(step);
      i = (i + 1) % processes_;
    }
    Check(journal_.AwaitDurable(journal_.Tail()));
  }
  [[nodiscard]] uint64_t records() const { return records_; }

 private:
  static Pid PidOf(uint32_t i) { return HomePid(i % kHomes, 1, i, 1); }

  Journal& journal_;
  const uint32_t processes_;
  std::string payload_;
  uint64_t records_ = 0;
};

uint64_t BytesOf(const std::string& directory) {
  uint64_t bytes = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

void Run(const std::string& directory, uint32_t processes,
         uint64_t round_bytes) {
  std::filesystem::create_directory(directory);
  Events events;
  JournalOptions options;
  options.directory = directory + "/store";
  options.knows = &records::Knows;
  auto journal = Journal::Open(options, events);
  Check(journal.status());
  Writer writer(**journal, processes);
  writer.WriteAll();
  const JournalStats stats = (*journal)->Stats();

  auto store = RocksStateStore::Open({.directory = directory + "/state"});
  Check(store.status());
  JournalSource source(**journal);
  auto applier = JournalApplier::Open(**store, source, {});
  Check(applier.status());
  const double begun = Seconds();
  double rounds = 0;
  uint64_t round_end = round_bytes;
  JournalReader reader = (*journal)->Read((*applier)->applied());
  for (;;) {
    const auto more = reader.Next();
    Check(more.status());
    if (!*more) break;
    Check((*applier)->Apply(reader.record()));
    if ((*applier)->applied() < round_end) continue;
    round_end += round_bytes;
    const double before = Seconds();
    Check((*applier)->EndRound());
    rounds += Seconds() - before;
  }
  Check((*applier)->Commit());
  const double applied = Seconds() - begun;
  const double before = Seconds();
  Check((*applier)->EndRound());
  const auto records = static_cast<double>(writer.records());
  std::printf(
      "records %.0f, record bytes %.1f each, on disk %.1f each\n"
      "applied in %.3f s: %.0f records/s, of it %.3f s in ends of rounds\n"
      "last end of a round %.3f s, state store %.2f MiB\n",
      records, static_cast<double>(stats.record_bytes) / records,
      static_cast<double>(stats.written_bytes) / records, applied,
      records / applied, rounds, Seconds() - before,
      static_cast<double>(BytesOf(directory + "/state")) / (1 << 20));
  applier->reset();
  (*journal)->Close();
}

}  // namespace
}  // namespace actord::runtime

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(
        stderr,
        "usage: store_apply_rate DIRECTORY [PROCESSES [ROUND_BYTES]]\n");
    return 2;
  }
  const auto number = [&](int i, uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  actord::runtime::Run(argv[1], static_cast<uint32_t>(number(2, 1000)),
                       number(3, uint64_t{1} << 40));
  return 0;
}
