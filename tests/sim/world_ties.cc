// The world's knowledge of calls, watches and names: (11) to (14) of world.h.
#include <algorithm>

#include "runtime/process/errors.h"
#include "tests/sim/process.h"
#include "tests/sim/world.h"

namespace actord::sim {

Actor* World::ActorOfPid(const runtime::Pid& pid) {
  for (Actor* actor : known_) {
    if (actor->pid == pid) return actor;
  }
  return nullptr;
}

absl::flat_hash_set<const Actor*> World::Gone() const {
  absl::flat_hash_set<const Actor*> gone;
  for (const Actor* actor : known_) {
    if (!Lives(*actor)) gone.insert(actor);
  }
  return gone;
}

void World::CheckAnswer(uint64_t number, const Actor& callee,
                        const absl::StatusOr<runtime::Payload>& answer) {
  Check(open_calls.erase(number) == 1, &callee, "a call has two answers");
  if (answer.ok()) {
    Check(answer->bytes == std::to_string(number), &callee,
          "a call has another's answer");
    return;
  }
  const std::string reason = runtime::ReasonOf(answer.status());
  const bool has_ended = reason == runtime::reason::kCalleeEnded ||
                         reason == runtime::reason::kProcessEnded;
  // The call was abandoned before it was delivered.
  if (reason == runtime::reason::kStopped && shutdown_begun) return;
  Check(has_ended ? !Lives(callee)
                  : reason == runtime::reason::kMailboxFull &&
                        limits.mailboxes_are_small,
        &callee, "a call has failed for no reason");
}

void World::CheckExit(Actor& watcher, const Event& event) {
  Actor* ended = ActorOfPid(runtime::FromAbi(event.from()));
  Check(ended != nullptr, &watcher, "an exit of nobody");
  Check(!Lives(*ended), &watcher, "an exit of who lives");
  if (event.tag() != 0) {
    const auto it = watcher.monitors.find(event.tag());
    Check(it != watcher.monitors.end() && it->second == ended, &watcher,
          "an exit without its monitor");
    watcher.monitors.erase(it);
  } else {
    Check(TrapsExits(watcher), &watcher, "an exit that it does not trap");
    Check(watcher.links.erase(ended->id) == 1, &watcher,
          "an exit without its link");
    Check(watcher.late_links.erase(ended->id) == 0 ||
              event.exit_reason() == ExitReason::kNoProcess,
          &watcher, "an exit of a link that was given up");
  }
  if (!limits.mailboxes_are_small) {
    Check(ended->next_to[watcher.id] == watcher.next_from[ended->id], &watcher,
          "an exit came before the last messages");
  }
  if (event.exit_reason() == ExitReason::kDone) {
    Check(ended->done && event.payload().bytes == ended->result, &watcher,
          "an exit has another result");
  } else {
    Check(!ended->done || event.exit_reason() == ExitReason::kNoProcess,
          &watcher, "an exit of who was done is a failure");
  }
}

void World::CheckWhyEnded(const Actor& actor) {
  if (actor.done || actor.failed || actor.may_be_told || shutdown_begun) return;
  const bool has_ended_link =
      std::any_of(actor.links.begin(), actor.links.end(),
                  [this](uint64_t id) { return !Lives(*actors_[id - 1]); });
  Check(has_ended_link && !TrapsExits(actor), &actor,
        "it was ended, and by no link that it has");
}

void World::CheckTies(const Actor& actor) {
  for (const uint64_t id : actor.links) {
    const Actor& other = *actors_[id - 1];
    if (Lives(other) || (actor.blocked && TrapsExits(actor))) continue;
    Check(!TrapsExits(actor), &actor, "it was not told of a linked end");
    Check(other.done, &actor, "a linked failure has not ended it");
  }
  if (actor.blocked) return;
  for (const auto& [tag, watched] : actor.monitors) {
    Check(Lives(*watched), &actor, "it was not told of a monitored end");
  }
}

void World::CheckTiesAtRest() {
  for (const auto& [number, callee] : open_calls) {
    Check(Lives(*callee), callee,
          "a call from outside waits for who has ended");
  }
  for (const auto& [name, holder] : names) {
    if (!holder->live) continue;
    // No lock is held now, and this code is not on a played thread.
    runtime::Interleaver* const interleaver =
        std::exchange(runtime::interleaver, nullptr);
    const auto found = core->names.Find(runtime::Owner::kNobody, name);
    runtime::interleaver = interleaver;
    Check(found.ok() && *found == holder->pid, holder, "it has lost its name");
  }
}

void World::CheckDeadLetters(const runtime::RuntimeStats& stats) {
  Check(stats.dead_letters ==
            stats.dead_letters_kept + stats.dead_letters_forgotten,
        nullptr, "a dead letter is counted and neither kept nor forgotten");
  Check(stats.dead_letters_kept <= core->limits.dead_letter_max_count() &&
            stats.dead_letters_bytes <= core->limits.dead_letter_max_bytes(),
        nullptr, "there are more dead letters than there may be");
  uint64_t bytes = 0;
  uint64_t count = 0;
  runtime::DeadLetterQuery query{.page_size = 10};
  uint64_t last = 0;
  do {
    const runtime::DeadLetterPage page = core->dead_letters.List(query);
    for (const runtime::DeadLetter& letter : page.letters) {
      Check(letter.id > last, nullptr, "dead letters are out of order");
      last = letter.id;
      bytes += letter.payload_bytes;
      ++count;
    }
    query.first = page.next;
  } while (query.first != 0);
  Check(count == stats.dead_letters_kept && bytes <= stats.dead_letters_bytes,
        nullptr, "the list of dead letters is another one than is kept");
}

}  // namespace actord::sim
