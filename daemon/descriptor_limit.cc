#include "daemon/descriptor_limit.h"

#include <sys/resource.h>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

uint64_t InForce() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

std::string NumberText(uint64_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : absl::StrCat(limit);
}

}  // namespace

DescriptorLimit RaiseDescriptorLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const uint64_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return {.before = before, .now = InForce()};
}

std::string ToText(const DescriptorLimit& limit) {
  std::string text =
      absl::StrCat("the limit of open files is ", NumberText(limit.now));
  if (limit.now != limit.before) {
    absl::StrAppend(&text, ", raised from ", NumberText(limit.before));
  }
  return text;
}

}  // namespace actord::daemon
