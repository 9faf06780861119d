// The list of the classes that carry out effects. Each class has
//   void Apply(Kind&& effect, Process& process, const Pid& self, Lane& lane);
// for the kinds of effects that it owns. Exactly one class owns each kind,
// which is checked at compile time.
//
// Thread-safety: that of the owners; Apply belongs to the turn of the process.
#pragma once

#include <tuple>
#include <type_traits>

#include "runtime/process/pid.h"
#include "runtime/process/process.h"

namespace actord::runtime {

class Lane;

template <typename... Owners>
class EffectOwners {
 public:
  explicit EffectOwners(Owners&... owners) : owners_(owners...) {}

  template <typename Owner>
  Owner& Get() const {
    return std::get<Owner&>(owners_);
  }

  template <typename Kind>
  void Apply(Kind&& effect, Process& process, const Pid& self,
             Lane& lane) const {
    static_assert(!std::is_reference_v<Kind>,
                  "an effect is moved to its owner");
    static_assert((int{Owns<Owners, Kind>} + ...) == 1);
    (ApplyBy<Owners>(effect, process, self, lane), ...);
  }

 private:
  template <typename Owner, typename Kind>
  static constexpr bool Owns = requires(Owner& owner, Kind& effect,
                                        Process& process, const Pid& self,
                                        Lane& lane) {
    owner.Apply(static_cast<Kind&&>(effect), process, self, lane);
  };
  template <typename Owner, typename Kind>
  void ApplyBy(Kind& effect, Process& process, const Pid& self,
               Lane& lane) const {
    if constexpr (Owns<Owner, Kind>) {
      Get<Owner>().Apply(static_cast<Kind&&>(effect), process, self, lane);
    }
  }

  std::tuple<Owners&...> owners_;
};

}  // namespace actord::runtime
