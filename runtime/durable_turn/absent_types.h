// Stand-ins for process types that no plugin has. A durable process of such a
// type is in quarantine. The stand-in has the names of the type and of the
// method, so that the process can be described. None of the stand-in's
// functions is called.
//
// Thread-safety: any thread. The types live as long as this object.
#pragma once

#include <actord/abi.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "absl/status/status.h"
#include "runtime/process/catalog.h"
#include "runtime/records/records.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

// The requirements of a stored process on its type.
struct NeededType {
  std::string_view process_type;
  std::string_view method;
  // True: Init has returned, and the process is durable as `durability` says.
  bool started = false;
  records::Durability durability = records::Durability::kImage;
};
// FAILED_PRECONDITION, with a text that says what to do. `last_plugin`: name
// and version of the plugin that has run the process last; "" if it is not
// known.
absl::Status NoSuchType(std::string_view process_type,
                        std::string_view last_plugin);
// FAILED_PRECONDITION: a stored process cannot go on with `type`. The text says
// what to do. `type` is null if no plugin has the type.
absl::Status WhyTypeDoesNotFit(const ProcessType* type,
                               const NeededType& needed);

class AbsentTypes {
 public:
  AbsentTypes() = default;
  AbsentTypes(const AbsentTypes&) = delete;
  AbsentTypes& operator=(const AbsentTypes&) = delete;

  // The stand-in for the type `name`. Its only method is `method`.
  // `traps_exits`: its processes get the end of a linked process as an event.
  const ProcessType& For(const std::string& name, const std::string& method,
                         bool traps_exits);

 private:
  struct StandIn {
    std::string name;
    std::string method_name;
    actord_method method{};
    actord_process_type descriptor{};
    ProcessType type;
  };
  Mutex mutex_;
  std::map<std::tuple<std::string, std::string, bool>, std::unique_ptr<StandIn>>
      types_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
