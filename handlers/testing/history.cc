#include "handlers/testing/history.h"

#include <actord/text.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "handlers/rules/log_text.h"
#include "handlers/testing/world.h"

namespace actord::testing {
namespace {

// Number of bytes of a text that are shown.
constexpr size_t kShownBytes = 120;
// Number of bytes that are shown before the first difference.
constexpr size_t kShownBefore = 40;

bool IsSame(const Effect& a, const Effect& b) {
  return a.kind == b.kind && a.to == b.to && a.tag == b.tag &&
         a.status == b.status && a.name == b.name && a.holder == b.holder &&
         a.payload == b.payload && a.timeout_ns == b.timeout_ns &&
         a.policy == b.policy && a.priority == b.priority && a.level == b.level;
}

// Both texts, cut so that the first difference is visible.
std::string Quote(std::string_view text, std::string_view other) {
  const auto differs = static_cast<size_t>(
      std::mismatch(text.begin(), text.end(), other.begin(), other.end())
          .first -
      text.begin());
  const size_t begin = text.size() <= kShownBytes || differs <= kShownBefore
                           ? 0
                           : std::min(differs, text.size()) - kShownBefore;
  const std::string_view rest = text.substr(begin);
  std::string quoted = begin == 0 ? "'" : "'…";
  quoted += CutUtf8(rest, kShownBytes);
  return quoted + (rest.size() > kShownBytes ? "…'" : "'");
}

std::string QuotePayload(const OwnedPayload& payload,
                         const OwnedPayload& other) {
  std::string text = Quote(payload.bytes, other.bytes);
  if (payload.content_type != other.content_type) {
    text += " (" +
            (payload.content_type.empty() ? "application/json"
                                          : payload.content_type) +
            ")";
  }
  return text;
}

std::string TimeoutText(const Effect& effect, const Effect& other) {
  return effect.timeout_ns == other.timeout_ns
             ? ""
             : ", timeout " + std::to_string(effect.timeout_ns) + " ns";
}

std::string Describe(const Effect& effect, const Effect& other) {
  const std::string to = Harness::World::FormatPid(effect.to);
  const std::string tag = std::to_string(effect.tag);
  const std::string payload = QuotePayload(effect.payload, other.payload);
  switch (effect.kind) {
    case Effect::Kind::kYield: {
      std::string text = "yields " + effect.name + " " + payload +
                         " with tag " + tag + TimeoutText(effect, other);
      return text + (effect.policy == other.policy ? "" : ", another policy");
    }
    case Effect::Kind::kSend:
      return "sends '" + effect.name + "' " + payload + " to " + to;
    case Effect::Kind::kSpawn: {
      const std::string text = "spawns " + effect.name + " " + to +
                               ", method '" + effect.holder + "', with " +
                               payload;
      return effect.priority == other.priority
                 ? text
                 : text + ", priority " + std::to_string(effect.priority);
    }
    case Effect::Kind::kCall:
      return "calls " + (effect.to.empty() ? "'" + effect.holder + "'" : to) +
             " with '" + effect.name + "' " + payload + " and tag " + tag +
             TimeoutText(effect, other);
    case Effect::Kind::kReply:
      return "answers call " + tag + " with " +
             std::string(CodeName(effect.status)) + " " + payload;
    case Effect::Kind::kMonitor:
      return "monitors " + to + " with tag " + tag;
    case Effect::Kind::kDemonitor:
      return "ends the monitor " + tag;
    case Effect::Kind::kLink:
      return "links to " + to;
    case Effect::Kind::kUnlink:
      return "unlinks from " + to;
    case Effect::Kind::kCancelYield:
      return "cancels the yield " + tag;
    case Effect::Kind::kPublish:
      return "publishes '" + effect.name + "' " + payload;
    case Effect::Kind::kLog:
      return "logs " + payload + " as " +
             std::string(rules::LogLevelName(effect.level));
  }
  return "?";
}

bool IsSame(const NextLife& a, const NextLife& b) {
  return a.method == b.method && a.input == b.input &&
         std::equal(a.unseen.begin(), a.unseen.end(), b.unseen.begin(),
                    b.unseen.end(), [](const auto& one, const auto& other) {
                      return one.type == other.type && one.tag == other.tag &&
                             one.from == other.from && one.call == other.call &&
                             one.topic == other.topic &&
                             one.payload == other.payload;
                    });
}

std::string Describe(const NextLife& next, const NextLife& other) {
  return "method '" + next.method + "' with " +
         QuotePayload(next.input, other.input) + " and " +
         std::to_string(next.unseen.size()) + " unseen events";
}

std::string_view VerdictName(int32_t verdict) {
  switch (verdict) {
    case ACTORD_STEP_IDLE:
      return "Idle";
    case ACTORD_STEP_BLOCK:
      return "Block";
    case ACTORD_STEP_CONTINUE:
      return "Continue";
    case ACTORD_STEP_DONE:
      return "Done";
    case ACTORD_STEP_CONTINUE_AS:
      return "ContinueAs";
    case ACTORD_STEP_FAIL:
      return "Fail";
    case ACTORD_STEP_THREW:
      return "an exception";
    default:
      return "an unknown verdict";
  }
}

std::string VerdictText(const StepEnd& end) {
  std::string text = "ends with " + std::string(VerdictName(end.verdict));
  if (end.failure.ok()) return text;
  return text + ": " + std::string(CodeName(end.failure.code())) + ": " +
         end.failure.message();
}

bool HasSameFailure(const StepEnd& a, const StepEnd& b) {
  return a.failure.code() == b.failure.code() &&
         a.failure.message() == b.failure.message();
}

}  // namespace

std::optional<std::string> DifferenceOf(const StepEnd& first,
                                        std::string_view first_label,
                                        const StepEnd& again,
                                        std::string_view again_label) {
  const auto both = [&](const std::string& part, const std::string& a,
                        const std::string& b) {
    return "  " + part + " " + std::string(first_label) + ": " + a + "\n  " +
           part + " " + std::string(again_label) + ": " + b;
  };
  // Checked first, because a failed step has no effects, and its failure is the
  // reason.
  if (!HasSameFailure(first, again)) {
    return both("verdict", VerdictText(first), VerdictText(again));
  }
  const size_t most = std::max(first.effects.size(), again.effects.size());
  for (size_t i = 0; i < most; ++i) {
    const Effect* const a =
        i < first.effects.size() ? &first.effects[i] : nullptr;
    const Effect* const b =
        i < again.effects.size() ? &again.effects[i] : nullptr;
    if (a != nullptr && b != nullptr && IsSame(*a, *b)) continue;
    const Effect none;
    return both("effect " + std::to_string(i + 1),
                a == nullptr ? "none" : Describe(*a, b == nullptr ? none : *b),
                b == nullptr ? "none" : Describe(*b, a == nullptr ? none : *a));
  }
  if (first.verdict != again.verdict) {
    return both("verdict", VerdictText(first), VerdictText(again));
  }
  if (!(first.result == again.result)) {
    return both("result", QuotePayload(first.result, again.result),
                QuotePayload(again.result, first.result));
  }
  if (first.next_life && again.next_life &&
      !IsSame(*first.next_life, *again.next_life)) {
    return both("next life", Describe(*first.next_life, *again.next_life),
                Describe(*again.next_life, *first.next_life));
  }
  return std::nullopt;
}

}  // namespace actord::testing
