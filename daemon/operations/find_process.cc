#include "daemon/operations/find_process.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "identity/names/nearest.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

namespace {

// For the end of a message: how to reach a process of another owner that holds
// the name. "": none does, or the call does not see it.
std::string OfOtherOwners(const runtime::Runtime& runtime, const Access& access,
                          const std::string& name) {
  constexpr size_t kMostNames = 100;
  if (access.sees() != runtime::Owner::kAny) return "";
  const OwnerLabels labels = access.owner_labels();
  for (const auto& entry :
       runtime.ListNames(name, 0, kMostNames, access.sees()).names) {
    if (entry.name != name) continue;
    if (entry.owner == runtime::Owner::kNobody) {
      return absl::StrCat("; a process without an owner has this name: @", name,
                          "@");
    }
    const std::string owner(labels.NameOf(entry.owner));
    if (owner.empty()) {
      return absl::StrCat("; process ", runtime::FormatPid(entry.pid),
                          " of an owner has this name, and only its PID "
                          "reaches it, because auth.tokens is not set");
    }
    return absl::StrCat("; the owner ", owner, " has a process of this name: @",
                        name, "@", owner);
  }
  return "";
}

}  // namespace

absl::StatusOr<runtime::Pid> Resolve(const runtime::Runtime& runtime,
                                     const Access& access,
                                     const Address& address) {
  if (address.name.empty()) return address.pid;
  const std::optional<runtime::Owner> owner =
      address.owner ? access.FindOwner(*address.owner) : access.owner();
  // No process has the owner kAny: the name is not found.
  return runtime.FindName(address.name, owner.value_or(runtime::Owner::kAny));
}

absl::StatusOr<runtime::Pid> ResolveOrSuggest(const runtime::Runtime& runtime,
                                              const Access& access,
                                              const Address& address) {
  absl::StatusOr<runtime::Pid> pid = Resolve(runtime, access, address);
  if (pid.ok()) return pid;
  const std::optional<runtime::Owner> owner =
      address.owner ? access.FindOwner(*address.owner) : access.owner();
  std::string meant = OfOtherOwners(runtime, access, address.name);
  if (meant.empty() && owner) {
    meant = identity::DidYouMean(address.name,
                                 runtime.NamesNear(address.name, *owner));
  }
  if (meant.empty()) return pid;
  return runtime::Error(pid.status().code(), runtime::ReasonOf(pid.status()),
                        absl::StrCat(pid.status().message(), meant));
}

absl::Status NoMembers() {
  return runtime::Error(absl::StatusCode::kNotFound,
                        runtime::reason::kNameNotFound,
                        "the group has no live member; a process joins it with "
                        "the command group.join");
}

absl::StatusOr<std::vector<runtime::Pid>> ResolveGroup(
    const runtime::Runtime& runtime, const Access& access,
    const Address& address) {
  const std::optional<runtime::Owner> owner =
      address.owner ? access.FindOwner(*address.owner) : access.owner();
  std::vector<runtime::Pid> members;
  if (owner) members = runtime.GroupMembers(address.name, *owner);
  if (members.empty()) return NoMembers();
  return members;
}

absl::StatusOr<runtime::Pid> FindProcess(const runtime::Runtime& runtime,
                                         const Access& access,
                                         std::string_view field,
                                         const std::string& text) {
  Address address;
  absl::Status status = ReadAddress(field, text, address);
  if (!status.ok()) return status;
  return ResolveOrSuggest(runtime, access, address);
}

absl::Status ResolveName(const runtime::Runtime& runtime, const Access& access,
                         std::string_view field, std::string* text) {
  if (text->empty() || text->front() != '@') return absl::OkStatus();
  const absl::StatusOr<runtime::Pid> pid =
      FindProcess(runtime, access, field, *text);
  if (!pid.ok()) return pid.status();
  *text = runtime::FormatPid(*pid);
  return absl::OkStatus();
}

absl::StatusOr<runtime::Pid> FindControlled(const runtime::Runtime& runtime,
                                            const Access& access,
                                            std::string_view field,
                                            const std::string& text) {
  absl::StatusOr<runtime::Pid> pid = FindProcess(runtime, access, field, text);
  if (!pid.ok() || access.controls() == access.sees()) return pid;
  const absl::StatusOr<runtime::ProcessInfo> info =
      runtime.Describe(*pid, access.sees());
  if (info.ok() && !runtime::Sees(access.controls(), info->owner)) {
    return access.NotControlled();
  }
  return pid;
}

}  // namespace actord::daemon
