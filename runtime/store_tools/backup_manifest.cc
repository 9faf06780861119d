#include "runtime/store_tools/backup_manifest.h"

#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/store_tools/sha256.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {
namespace {

constexpr absl::string_view kFirstLine = "actord-backup 1";
constexpr size_t kMostNameBytes = 128;

absl::Status Wrong(size_t line, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("the manifest of the backup is damaged in line ", line, ": ",
                   what, ". Use another backup"));
}

bool IsHash(absl::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Reads "NAME NUMBER".
bool ReadNumber(absl::string_view line, absl::string_view name,
                uint64_t& number) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  return words.size() == 2 && words[0] == name &&
         absl::SimpleAtoi(words[1], &number);
}

bool ReadFile(absl::string_view line, BackupManifest::File& file) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 5 || words[0] != "file" || !IsHash(words[1]) ||
      !absl::SimpleAtoi(words[2], &file.bytes) ||
      !absl::SimpleAtoi(words[3], &file.size) || file.bytes > file.size ||
      file.size - file.bytes > kMostZeros) {
    return false;
  }
  file.sha256 = std::string(words[1]);
  file.name = std::string(words[4]);
  return IsBackupName(file.name);
}

}  // namespace

bool IsBackupName(std::string_view name) {
  if (name == "META-0" || name == "META-1") return true;
  for (const std::string_view folder : {"journal/", "state/", "plugins/"}) {
    if (!name.starts_with(folder)) continue;
    const std::string_view file = name.substr(folder.size());
    return !file.empty() && file.size() <= kMostNameBytes && file[0] != '.' &&
           std::all_of(file.begin(), file.end(), [](char c) {
             return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                    (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
           });
  }
  return false;
}

std::string EncodeManifest(const BackupManifest& manifest) {
  std::string text = absl::StrCat(
      kFirstLine, "\nunix-seconds ", manifest.unix_seconds, "\nincarnation ",
      manifest.incarnation, "\nposition ", manifest.position, "\n");
  for (const BackupManifest::File& file : manifest.files) {
    absl::StrAppend(&text, "file ", file.sha256, " ", file.bytes, " ",
                    file.size, " ", file.name, "\n");
  }
  Sha256 hash;
  hash.Add(text);
  absl::StrAppend(&text, "end ", hash.TakeHex(), "\n");
  return text;
}

absl::StatusOr<BackupManifest> DecodeManifest(std::string_view text) {
  const std::vector<absl::string_view> lines =
      absl::StrSplit(ToAbsl(text), '\n');
  if (lines.front() != kFirstLine) {
    return Wrong(1, absl::StrCat("it is not \"", kFirstLine, "\""));
  }
  // The last line ends, so an empty one follows.
  if (lines.size() < 6 || !lines.back().empty()) {
    return Wrong(lines.size(), "the file ends too early");
  }
  const size_t end = lines.size() - 2;
  const size_t end_at = text.rfind("end ");
  Sha256 hash;
  hash.Add(text.substr(0, std::min(end_at, text.size())));
  if (lines[end] != absl::StrCat("end ", hash.TakeHex())) {
    return Wrong(end + 1, "the SHA-256 of the manifest differs");
  }
  BackupManifest manifest;
  if (!ReadNumber(lines[1], "unix-seconds", manifest.unix_seconds)) {
    return Wrong(2, "it is not a time");
  }
  if (!ReadNumber(lines[2], "incarnation", manifest.incarnation)) {
    return Wrong(3, "it is not an incarnation");
  }
  if (!ReadNumber(lines[3], "position", manifest.position)) {
    return Wrong(4, "it is not a position");
  }
  std::set<std::string> names;
  for (size_t i = 4; i < end; ++i) {
    BackupManifest::File& file = manifest.files.emplace_back();
    if (!ReadFile(lines[i], file)) return Wrong(i + 1, "it is not a file");
    if (!names.insert(file.name).second) {
      return Wrong(i + 1, "the file was named before");
    }
  }
  for (const char* const name : {"META-0", "META-1"}) {
    if (!names.contains(name)) return Wrong(end + 1, "META is missing");
  }
  return manifest;
}

}  // namespace actord::runtime
