// The part of the admission that is for durable processes alone.
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/table/home_pid.h"
#include "runtime/table/no_room.h"
#include "runtime/turn/process_admission.h"

namespace actord::runtime {
namespace {

void AddMessages(const std::vector<Message>& messages,
                 records::Submitted& record) {
  for (const Message& message : messages) {
    record.messages.push_back(
        {.topic = message.topic, .payload = message.payload});
  }
}

}  // namespace

absl::StatusOr<bool> ProcessAdmission::IsDurable(const SubmitRequest& request,
                                                 const Pid& parent) const {
  if (!request.durable) {
    return parent.empty() && CanBeDurable(request.process_type);
  }
  if (durable_ == nullptr) {
    return Error(absl::StatusCode::kFailedPrecondition, reason::kDurabilityOff,
                 "this daemon has no store, so no process is durable "
                 "(store.directory)");
  }
  const ProcessType* const type =
      catalog_.FindProcessType(request.process_type);
  if (type == nullptr) return true;  // Reserve refuses it
  // The child of a volatile process is volatile.
  if ((parent.empty() || IsHomePid(parent)) && type->can_be_durable()) {
    return true;
  }
  return Error(absl::StatusCode::kFailedPrecondition, reason::kNotDurableType,
               absl::StrCat("process type ", type->name,
                            " does not declare how it can be durable"));
}

absl::StatusOr<uint64_t> ProcessAdmission::BeginDurable(
    const SubmitRequest& request, const Pid& parent, bool keep_result,
    Process& process, uint64_t held, Owner charged, Admitted& done) {
  // A child of a durable process is not work from outside.
  absl::Status status =
      parent.empty() ? durable_->CheckRoom() : absl::OkStatus();
  const std::optional<Pid> pid =
      durable_->homes().Draw(request.name.empty() && IsHomePid(parent)
                                 ? HomeOf(parent)
                                 : durable_->HomeFor(request.name));
  if (status.ok() && !pid) {
    lane_.Count(RefusalCounter(ProcessTable::NoRoom::kInTable));
    status = durable_->NoPlace();
  }
  if (!status.ok()) {
    if (pid) durable_->homes().Leave(*pid);
    GiveUp(process, held, done);
    return status;
  }
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  const Owner owner = process.owner.load(std::memory_order_relaxed);
  const RequestId request_id = request.request_id.value_or(RequestId{});
  const DurableSpawn spawn = request.spawn.value_or(DurableSpawn{});
  records::Submitted record{
      .pid = *pid,
      .process_type = type.name,
      .method = type.descriptor
                    ->methods[process.method.load(std::memory_order_relaxed)]
                    .name,
      .input = request.input,
      .name = request.name,
      .request = {.id = request_id.id, .fingerprint = request_id.fingerprint},
      .parent = parent,
      .yield = spawn.yield,
      .monitor = spawn.monitor ? spawn.yield : 0,
      .link = spawn.link,
      .keep_result = keep_result,
      .priority = static_cast<uint8_t>(process.Priority()),
      .owner = owner,
      .durability = type.is_replayed() ? records::Durability::kReplay
                                       : records::Durability::kImage,
      .unix_ns = process.started_unix_ns.load(std::memory_order_relaxed),
      .at_ns = durable_->NowNs(),
      .labels = request.labels.Texts()};
  AddMessages(request.messages, record);
  absl::StatusOr<uint64_t> position = 0;
  const auto commit = [&] {  // after it the process can be found
    position = durable_->Append(record);
    if (!position.ok()) return false;
    DurableState& state = durable_->Begin(process);
    if (spawn.yield != 0) state.spawn = {parent, spawn.yield};
    Label(request, process, *pid, charged);
    processes_.Enter(process, *pid);
    return true;
  };
  if (request.name.empty()) {
    commit();
  } else {
    Pid holder;
    status = names_.RegisterNew(request.name, owner, *pid, holder, commit);
  }
  // Names reports only that the record was refused, without the reason.
  if (!position.ok()) status = position.status();
  if (status.ok()) {
    if (spawn.begins) spawn.begins(*pid);
    return position;
  }
  durable_->homes().Leave(*pid);
  GiveUp(process, held, done);
  return durable_->OfRequest("input", status);
}

}  // namespace actord::runtime
