#include "runtime/durable_turn/state_images.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "handlers/rules/durability.h"
#include "runtime/crash/running_code.h"
#include "runtime/process/errors.h"
#include "runtime/process/upgrading.h"

namespace actord::runtime {
namespace {

constexpr std::string_view kFlatContentType = "application/octet-stream";

}  // namespace

absl::Status StateImages::Take(Process& process, const Turn& turn,
                               std::string& encoded) {
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  encoded.clear();
  if (type.durability.kind == rules::Durability::kFlatImage) {
    flat_.state.bytes.assign(static_cast<const char*>(process.state),
                             type.durability.flat_bytes);
    flat_.version = type.version;
    flat_.flat_version = type.durability.flat_version;
    flat_.next_tag = process.next_tag;
    EncodeFields(flat_, encoded);
    return absl::OkStatus();
  }
  absl::StatusOr<StateImage> image = Snapshot(process, turn, type);
  if (!image.ok()) return image.status();
  image->next_tag = process.next_tag;
  EncodeFields(*image, encoded);
  return absl::OkStatus();
}

absl::StatusOr<StateImage> StateImages::Snapshot(Process& process,
                                                 const Turn& turn,
                                                 const ProcessType& type) {
  StepRecord& record = caller_.record();
  // A Snapshot uses the record, too.
  StepRecord kept = std::exchange(record, StepRecord{});
  record.keeps_answers = kept.keeps_answers;
  const StepCaller::UpgradeCallResult result =
      caller_.Snapshot(process, turn, type);
  absl::StatusOr<StateImage> image;
  if (result.thrown) {
    image = absl::InternalError(absl::StrCat("Snapshot ", *result.thrown));
  } else if (!record.misuse.ok()) {
    image = absl::InternalError(
        absl::StrCat("Snapshot broke a rule: ", record.misuse.message()));
  } else if (result.status != ACTORD_OK) {
    image =
        absl::Status(ErrorCodeFromAbi(result.status),
                     absl::StrCat("Snapshot refused: ", record.TakeFailure()));
  } else {
    image = StateImage{.state = record.TakeResult(), .version = type.version};
  }
  record = std::move(kept);
  return image;
}

absl::Status StateImages::Restore(Process& process, const Turn& turn,
                                  const ProcessType& type, uint32_t method,
                                  const std::string& encoded,
                                  YieldTags outstanding) {
  StateImage image;
  absl::Status status = DecodeFields(encoded, image);
  if (!status.ok()) return status;
  process.next_tag = image.next_tag;
  const rules::TypeDurability& how = type.durability;
  if (how.kind != rules::Durability::kFlatImage ||
      how.flat_version != image.flat_version) {
    AddCompletedYields(process, outstanding);
    // Steps after the image have made the yields with the other tags.
    absl::erase_if(outstanding,
                   [&](uint64_t tag) { return tag >= image.next_tag; });
    return CallRestore(process, turn, type, method, image,
                       std::move(outstanding));
  }
  if (image.state.bytes.size() != how.flat_bytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("the flat state has ", image.state.bytes.size(),
                     " bytes, and the type ", how.flat_bytes,
                     " with the same flat_version ", how.flat_version));
  }
  process.state =
      process.NewState(lane_.buffers(), type.descriptor->state_size);
  std::memcpy(process.state, image.state.bytes.data(), how.flat_bytes);
  return absl::OkStatus();
}

absl::Status StateImages::CallRestore(Process& process, const Turn& turn,
                                      const ProcessType& type, uint32_t method,
                                      const StateImage& image,
                                      YieldTags outstanding) {
  if (type.restore == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the flat state has flat_version ", image.flat_version,
                     ", and the type has ", type.durability.flat_version,
                     " and no restore"));
  }
  const VersionScope version(type);
  const size_t bytes = type.descriptor->state_size;
  void* const state = process.NewState(lane_.buffers(), bytes);
  actord_payload snapshot = ToAbi(image.state);
  // An image of a flat state does not spend bytes on its content type.
  if (image.flat_version != 0) {
    snapshot.content_type = ToAbi(kFlatContentType);
  }
  YieldAdoption adoption{.outstanding = std::move(outstanding), .adopted = {}};
  const StepCaller::UpgradeCallResult result =
      caller_.Restore(process, turn, type, state,
                      {.struct_size = sizeof(actord_restore),
                       .method = method,
                       .snapshot = snapshot,
                       .from_version = ToAbi(std::string_view(image.version)),
                       .reason = ACTORD_RESTORE_RECOVERY,
                       .from_flat_version = image.flat_version},
                      adoption);
  StepRecord& record = caller_.record();
  if (result.ok() && record.misuse.ok()) {
    process.state = state;
    return absl::OkStatus();
  }
  std::string why =
      result.thrown ? absl::StrCat("Restore ", *result.thrown)
      : !record.misuse.ok()
          ? absl::StrCat("Restore broke a rule: ", record.misuse.message())
          : absl::StrCat("Restore refused: ", record.TakeFailure());
  if (rules::MadeObject(result.thrown != nullptr, result.status)) {
    caller_.Close(process, type, state);
  } else {
    process.FreeState(lane_.buffers(), state, bytes);
  }
  return absl::FailedPreconditionError(why);
}

}  // namespace actord::runtime
