// Functions that make the rows of the table of configuration keys.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/settings/config.h"
#include "daemon/settings/config_codecs.h"
#include "daemon/settings/config_keys.h"

namespace actord::daemon {

// An accessor of `member`: a generic lambda, so that one accessor reads and
// writes.
#define ACTORD_MEMBER(member) \
  [](auto& config) -> auto& { return config.member; }

struct KeyText {
  std::string_view path;
  std::string_view option;
  std::string_view value;
  std::string_view doc;
};

inline ConfigKey Named(KeyText text) {
  ConfigKey key;
  key.path = text.path;
  key.option = text.option;
  key.value = text.value;
  key.doc = std::string(text.doc);
  return key;
}

template <typename Codec, typename Member>
ConfigKey Single(KeyText text, Codec codec, Member member) {
  ConfigKey key = Named(text);
  key.parse = [codec, member](const std::vector<std::string>& texts,
                              Config& config) {
    if (texts.size() != 1) {
      return absl::InvalidArgumentError("takes exactly one value");
    }
    return codec.Parse(texts.front(), member(config));
  };
  key.print = [codec, member](const Config& config) {
    return codec.Print(member(config));
  };
  return key;
}

template <typename Codec, typename Member>
ConfigKey List(KeyText text, Codec codec, Member member) {
  ConfigKey key = Named(text);
  key.is_list = true;
  key.parse = [codec, member](const std::vector<std::string>& texts,
                              Config& config) {
    std::remove_reference_t<decltype(member(config))> values;
    for (const std::string& item : texts) {
      absl::Status status = codec.Parse(item, values.emplace_back());
      if (!status.ok()) return status;
    }
    member(config) = std::move(values);
    return absl::OkStatus();
  };
  key.print = [codec, member](const Config& config) {
    std::vector<std::string> items;
    for (const auto& item : member(config)) items.push_back(codec.Print(item));
    return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
  };
  return key;
}

template <typename Member>
ConfigKey Flag(KeyText text, Member member) {
  ConfigKey key = Single(text, FlagCodec{}, member);
  key.is_flag = true;
  return key;
}

// A key that SIGHUP changes in a running daemon.
inline ConfigKey Reloads(ConfigKey key) {
  key.reloads = true;
  key.doc += " Reloaded on SIGHUP.";
  return key;
}

// The keys of the sections server, admin, tls and connections.
void AddNetworkKeys(std::vector<ConfigKey>& keys);
// The keys of the section store.
void AddStoreKeys(std::vector<ConfigKey>& keys);
// The keys of the section quotas.
void AddQuotaKeys(std::vector<ConfigKey>& keys);

inline const NumberCodec<size_t> kCount;
inline const SizeCodec kSize;
inline const DurationCodec kDuration;

}  // namespace actord::daemon
