#include "client/plugin_check/store_source.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "runtime/store_tools/closed_journal.h"
#include "runtime/store_tools/examine_store.h"
#include "runtime/store_tools/items/export_store.h"

namespace actord::client {
namespace {

using runtime::ProcessEntry;

absl::Status SendMessage(FrameSocket& socket, const StoreMessage& message) {
  std::string bytes;
  runtime::EncodeFields(message, bytes);
  return socket.Send(FrameKind::kMessage, bytes);
}

SentProcess ToSent(runtime::ProcessItem&& item) {
  SentContent content;
  if (item.image) content.image = std::move(item.image->image);
  for (runtime::ProcessItem::Event& event : item.mailbox) {
    content.mailbox.push_back({event.position, std::move(event.mail)});
  }
  for (runtime::ProcessItem::Step& step : item.history) {
    content.history.push_back(std::move(step.entry));
  }
  content.entry = std::move(item.entry);
  SentProcess sent{.pid = item.pid,
                   .process_type = content.entry.process_type,
                   .plugin = content.entry.plugin};
  runtime::EncodeFields(content, sent.content);
  return sent;
}

class Sender {
 public:
  Sender(const StoreOrder& order, FrameSocket& socket)
      : order_(order), socket_(socket) {}

  absl::Status Run(runtime::StateStore& state,
                   const runtime::ClosedJournal& journal) {
    runtime::ItemReader reader(state, nullptr);
    absl::Status status = runtime::LoadBodies(reader, journal);
    if (status.ok()) status = ReadHead(reader, journal);
    if (status.ok()) status = SendMessage(socket_, {.head = head_});
    if (!status.ok()) return status;
    const std::vector<std::string> types = WantedTypes(head_, order_.plugin);
    const absl::flat_hash_set<std::string> wanted(types.begin(), types.end());
    return reader.ReadProcesses(
        [&](const runtime::Pid&, const ProcessEntry& entry) {
          return wanted.contains(entry.process_type);
        },
        [&](runtime::AnyItem&& item) {
          return SendMessage(
              socket_, {.process = ToSent(
                            std::get<runtime::ProcessItem>(std::move(item)))});
        });
  }

 private:
  absl::Status ReadHead(runtime::ItemReader& reader,
                        const runtime::ClosedJournal& journal) {
    head_.incarnation = journal.report().incarnation;
    // A store that has never been started has no meta, and no processes.
    head_.store_ns = reader.Meta().value_or(runtime::StoreMeta{}).store_ns;
    absl::Status status = reader.ReadHead([&](runtime::AnyItem&& item) {
      if (auto* plugin = std::get_if<runtime::records::Plugin>(&item)) {
        head_.plugins.push_back(std::move(*plugin));
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    std::map<std::pair<std::string, runtime::records::PluginNumber>, uint64_t>
        counts;
    status = reader.ReadProcesses(
        [&](const runtime::Pid&, const ProcessEntry& entry) {
          ++counts[{entry.process_type, entry.plugin}];
          return false;
        },
        [](runtime::AnyItem&&) { return absl::OkStatus(); });
    for (const auto& [key, processes] : counts) {
      head_.counts.push_back({key.first, key.second, processes});
    }
    return status;
  }

  const StoreOrder& order_;
  FrameSocket& socket_;
  StoreHead head_;
};

}  // namespace

std::vector<std::string> WantedTypes(const StoreHead& head,
                                     const PluginDescription& plugin) {
  absl::flat_hash_set<std::string> names;
  for (const DescribedType& type : plugin.types) names.insert(type.name);
  absl::flat_hash_set<runtime::records::PluginNumber> versions;
  for (const runtime::records::Plugin& one : head.plugins) {
    if (one.name == plugin.name) versions.insert(one.number);
  }
  // A type that another plugin now has was moved, not removed.
  absl::flat_hash_set<std::string> of_plugin;
  absl::flat_hash_set<std::string> of_others;
  for (const LiveCount& count : head.counts) {
    if (versions.contains(count.plugin)) {
      of_plugin.insert(count.process_type);
    } else if (count.plugin != runtime::records::kNoPlugin) {
      of_others.insert(count.process_type);
    }
  }
  std::vector<std::string> wanted;
  for (const LiveCount& count : head.counts) {
    const std::string& type = count.process_type;
    const bool is_wanted = names.contains(type) || (of_plugin.contains(type) &&
                                                    !of_others.contains(type));
    // The counts are sorted by type, so equal types are neighbours.
    if (is_wanted && (wanted.empty() || wanted.back() != type)) {
      wanted.push_back(type);
    }
  }
  return wanted;
}

void SendProcesses(const StoreOrder& order, FrameSocket& socket) {
  runtime::ExamineOptions options{.directory = order.directory,
                                  .is_thorough = false};
  options.use = [&](runtime::StateStore& state,
                    const runtime::ClosedJournal& journal) {
    return Sender(order, socket).Run(state, journal);
  };
  const auto report = runtime::ExamineStore(options);
  StoreMessage last;
  if (!report.ok()) {
    last.error = SentError::Of(report.status());
  } else if (report->is_damaged()) {
    for (const runtime::StoreReport::Finding& finding : report->findings) {
      if (finding.is_damage) last.damage.push_back(finding.text);
    }
  } else {
    last.is_end = true;
  }
  // If the other side has ended, nobody needs the message.
  SendMessage(socket, last).IgnoreError();
}

}  // namespace actord::client
