// The image of the state of a durable process, as the records carry it.
//
// Thread-safety: a plain value. Ownership: the value owns its contents.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/process/payload.h"
#include "runtime/records/field_codec.h"
#include "runtime/records/record_fields.h"

namespace actord::runtime {

struct StateImage {
  // The result of Snapshot, or the bytes of a flat state.
  Payload state = {};
  // Version of the plugin that made it; "": not known.
  std::string version = {};
  // The layout of a flat state; 0: a result of Snapshot.
  uint32_t flat_version = 0;
  uint64_t next_tag = 0;  // as the step left it
  std::string unknown = {};

  friend bool operator==(const StateImage&, const StateImage&) = default;
};
template <typename T, typename Visitor>
requires Is<T, StateImage>
void VisitFields(T& image, Visitor& visit) {
  visit(1, image.state);
  visit(2, image.version);
  visit(3, image.flat_version);
  visit(4, image.next_tag);
}

}  // namespace actord::runtime
