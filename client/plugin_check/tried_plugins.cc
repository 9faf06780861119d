#include "client/plugin_check/tried_plugins.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "handlers/rules/durability.h"
#include "runtime/crash/running_code.h"
#include "runtime/files/file_system.h"
#include "runtime/store_tools/plugin_files.h"

namespace actord::client {
namespace {

using runtime::records::PluginNumber;

absl::Status About(const std::string& path, const absl::Status& status) {
  return {status.code(), absl::StrCat(path, ": ", status.message())};
}

std::string NameOf(const rules::TypeDurability& how) {
  switch (how.kind) {
    case rules::Durability::kNone:
      return "none";
    case rules::Durability::kSnapshotImage:
    case rules::Durability::kFlatImage:
      return "image";
    case rules::Durability::kReplay:
      return "replay";
  }
  return "";
}

// The number that the daemon would give to the file when it loads it.
PluginNumber NumberOf(const handlers::Plugin& plugin,
                      const std::vector<runtime::records::Plugin>& known) {
  if (!plugin.has_durable_types()) return runtime::records::kNoPlugin;
  const std::string sha256 = absl::HexStringToBytes(plugin.digest());
  PluginNumber last = 0;
  for (const runtime::records::Plugin& one : known) {
    if (one.sha256 == sha256) return one.number;
    last = std::max(last, one.number);
  }
  return last + 1;
}

runtime::CatalogEntries TypesOf(const handlers::Plugin& plugin,
                                PluginNumber number) {
  return {.plugin = plugin.info().name,
          .version = plugin.info().version,
          .digest = plugin.digest(),
          .plugin_number = number,
          .process_types = {plugin.process_types().begin(),
                            plugin.process_types().end()}};
}

}  // namespace

absl::StatusOr<const handlers::Plugin*> TriedPlugins::Open(
    const std::string& path, const std::string& sha256) {
  const auto file = handlers::OpenPluginFile(path);
  if (!file.ok()) return About(path, file.status());
  absl::Status status = handlers::CheckOnlyOwnersWrite(file->get());
  if (!status.ok()) return About(path, status);
  auto copy = copies_.Copy(file->get(), path);
  if (!copy.ok()) return About(path, copy.status());
  if (!sha256.empty() && copy->digest != sha256) {
    return About(path,
                 absl::DataLossError(absl::StrCat(
                     "the file is damaged: its SHA-256 is ", copy->digest)));
  }
  const runtime::PluginScope scope(
      {.file = path, .function = "static initialisers or table"});
  auto loaded = handlers::Plugin::Load(*std::move(copy), path);
  if (!loaded.ok()) return loaded.status();
  plugins_.push_back(*std::move(loaded));
  return plugins_.back().get();
}

absl::StatusOr<PluginDescription> TriedPlugins::LoadFile(
    const std::string& path,
    const std::vector<runtime::records::Plugin>& plugins) {
  const auto plugin = Open(path, "");
  if (!plugin.ok()) return plugin.status();
  const auto types =
      catalog_.Add(TypesOf(**plugin, NumberOf(**plugin, plugins)));
  if (!types.ok()) return About(path, types.status());
  PluginDescription description{.name = (*plugin)->info().name,
                                .version = (*plugin)->info().version,
                                .sha256 = (*plugin)->digest()};
  for (const runtime::ProcessType* type : *types) {
    description.types.push_back({type->name, NameOf(type->durability)});
  }
  return description;
}

absl::Status TriedPlugins::LoadKept(const runtime::records::Plugin& plugin) {
  const std::string sha256 = absl::BytesToHexString(plugin.sha256);
  const runtime::PluginFiles files(store_, runtime::FileSystem::System());
  const auto opened = Open(files.PathOf(sha256), sha256);
  if (!opened.ok()) return opened.status();
  return catalog_.AddFormer(TypesOf(**opened, plugin.number)).status();
}

}  // namespace actord::client
