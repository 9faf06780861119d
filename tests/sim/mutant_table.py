"""The mutants of the runtime that mutants.py tries."""

# name: (file, text, its replacement, description).
MUTANTS = {
    "NO_LAST_LOOK": (
        "runtime/workers/worker.cc", "!(look && scheduler_.HasWork())", "true",
        "a worker sleeps without a last look for work"),
    "LOOK_FIRST": (
        "runtime/workers/worker.cc",
        "  idle.BeginSleep(queue_.index);\n",
        "  const bool has_work = scheduler_.HasWork();\n  FailPoint();\n"
        "  idle.BeginSleep(queue_.index);\n",
        "it looks before it is a sleeper"),
    "WAKE_FIRST": (
        "runtime/scheduler/scheduler.cc", "  global_.Push(process);\n  WakeForWork();\n",
        "  WakeForWork();\n  global_.Push(process);\n",
        "a producer wakes before it pushes"),
    "NO_CHAIN": (
        "runtime/workers/worker.cc", "      scheduler_.WakeForWork();\n", "",
        "the last searcher that finds work wakes nobody"),
    "PHANTOM_SEARCHER": (
        "runtime/workers/worker.cc", "  searching_ = notified;\n",
        "  searching_ = false;\n",
        "a woken worker is counted as a searcher and is none"),
    "UNSEEN_BATCH": (
        "runtime/scheduler/scheduler.cc", "  if (count > 1) WakeForAll(here);\n", "",
        "nobody is woken for a batch from the global queue"),
    "UNSEEN_CHILDREN": (
        "runtime/scheduler/scheduler.cc",
        "  } else if (ShowTogether(list, *here)) {\n    WakeForAll(*here);\n",
        "  } else if (ShowTogether(list, *here)) {\n",
        "nobody is woken for what a step has spawned"),
    "DUE_TO_OTHERS": (
        "runtime/scheduler/scheduler.cc",
        "        clock_.MonotonicNs() - here.firing_since_ns < Policy::kAloneNs) {\n",
        "        true) {\n",
        "nobody is woken for what timers made ready, however long it waits"),
    "NO_WAKE_FOR_TIMER": (
        "runtime/scheduler/scheduler.cc",
        "      deadline_ns < timekeeper_ns_.load(std::memory_order_seq_cst)) {\n"
        "    WakeForWork();\n  }\n",
        "      deadline_ns < timekeeper_ns_.load(std::memory_order_seq_cst)) {\n  }\n",
        "a timer from outside wakes nobody, though all sleep"),
    "NO_TIMEKEEPER": (
        "runtime/scheduler/scheduler.cc", "  is_timekeeper = true;\n",
        "  return Parker::kForever;\n",
        "a worker goes to sleep and does not keep the time"),
    "TIMEKEEPER_OVERSLEEPS": (
        "runtime/scheduler/scheduler.cc",
        "  return std::clamp(earliest - now, rest_ns, Policy::kLongestSleepNs);\n",
        "  return std::clamp(earliest - now + 1'000'000, rest_ns, Policy::kLongestSleepNs);\n",
        "the timekeeper sleeps 1 ms longer than to the next timer"),
    "EARLY_TIMER": (
        "runtime/scheduler/timer_wheel.cc", "next.tick <= until)", "next.tick <= until + 1)",
        "a timer fires a tick early"),
    "TIMER_TWICE": (
        "runtime/yields/due_timers.cc",
        "    FireOne(timer, lane, ready);\n", "    FireOne(timer, lane, ready);\n"
        "    if (IsOfYield(KindOfTimer(timer))) FireOne(timer, lane, ready);\n",
        "each timer fires twice"),
    "LOST_TIMER": (
        "runtime/yields/due_timers.cc",
        "    FireOne(timer, lane, ready);\n",
        "    if (due_.size() == 1 || !IsOfYield(KindOfTimer(timer))) {\n"
        "      FireOne(timer, lane, ready);\n    }\n",
        "timers that are due at once are forgotten"),
    "FORGETS_WANTED": (
        "runtime/yields/due_timers.cc", "      return broker.IsPending(handle);\n",
        "      return broker.IsPending(handle) && timer % 2 == 0;\n",
        "a crowded wheel forgets timers that somebody waits for"),
    "BLIND_WATCHDOG": (
        "runtime/workers/watchdog.cc",
        "  patience = std::min(patience, CheckTimers(now));\n", "",
        "the watchdog does not look at timers"),
    "WAKE_IS_ENOUGH": (
        "runtime/workers/watchdog.cc",
        "due_timers_.FireAny(lane_)) {", "false) {",
        "the watchdog fires none itself, though nobody sleeps whom it could wake"),
    "WATCHDOG_TARRIES": (
        "runtime/workers/watchdog.cc",
        "in_call ? Policy::kTimerPatienceNs : Policy::kLongestCheckNs;", "Policy::kLongestCheckNs;",
        "the watchdog looks no more often if there are timers"),
    "NO_NEWEST_CAP": (
        "runtime/workers/worker.h", "    if (in_a_row == Policy::kNewestInARow) {", "    if (false) {",
        "the newest always runs first"),
    "NO_BACK_FIRST": (
        "runtime/workers/worker.cc",
        "    first = First::kBack;\n", "",
        "those that continue wait for all others"),
    "ALONE_TO_OTHERS": (
        "runtime/scheduler/scheduler.cc",
        "  EndQuiet(here);\n  if (any) WakeForWork();\n",
        "  EndQuiet(here);\n",
        "nobody is woken for one that continued alone and then has to wait"),
    "BACK_UNSEEN": (
        "runtime/scheduler/ready_queues.h",
        "return Size(level) == 0 && backs_[static_cast<size_t>(level)].Size() == 0;",
        "return Size(level) == 0;",
        "a sleeper's last look misses those that continue"),
    "GLOBAL_LEVEL_UNSEEN": (
        "runtime/workers/worker.cc",
        "    if (Process* process = scheduler_.TakeGlobal(queue_, LevelsFrom(from))) {\n",
        "    if (Process* process = from > level ? nullptr : "
        "scheduler_.TakeGlobal(queue_, LevelsFrom(from))) {\n",
        "a higher level of the global queue waits"),
    "NEXT_WHATEVER_ITS_LEVEL": (
        "runtime/workers/worker.h", "all >> level <= 1 && first == First::kOwn",
        "all != 0 && first == First::kOwn",
        "what a step made ready runs before higher ones"),
    "NO_GLOBAL_FIRST": (
        "runtime/workers/worker.cc",
        "  if (in_round == Policy::kGlobalFirstTurn) first = First::kGlobal;\n", "",
        "the global queue waits for the local one"),
    "CONTINUE_IN_FRONT": (
        "runtime/workers/process_runner.cc",
        "    scheduler_.EnqueueBehind(&process, lane_.here());\n",
        "    scheduler_.Enqueue(&process, lane_.here());\n",
        "a process that continues runs next"),
    "LOST_OVERFLOW": (
        "runtime/scheduler/scheduler.cc",
        "  // Thieves may have made room meanwhile.\n"
        "  if (count != 0) global_.PushAll(level, {oldest.data(), count});\n",
        "  if (count != 0) global_.PushAll(level, {oldest.data(), count - 1});\n",
        "overflow of a local queue loses one"),
    "NO_TAG": (
        "runtime/scheduler/run_queue.h", "static_cast<uint32_t>(word) + 1", "static_cast<uint32_t>(word)",
        "the run queue's word has no tag"),
    "PLAIN_STEAL": (
        "runtime/scheduler/run_queue.h",
        "      if (Replace(word, AddTop(word, count))) return count;\n",
        "      FailPoint();\n      word_.fetch_add(uint64_t{count} << 32);\n"
        "      return count;\n",
        "a thief takes without asking"),
    "PUSH_FIRST": (
        "runtime/process/process.h",
        "    const bool has_to_enqueue = Activity::Add(activity, delta);\n"
        "    messages.PushLinked(first, last);\n"
        "    return has_to_enqueue;\n",
        "    messages.PushLinked(first, last);\n"
        "    return Activity::Add(activity, delta);\n",
        "a sender pushes before it counts"),
    "CLAIM_BY_ADD": (
        "runtime/process/activity.h",
        "    return activity.compare_exchange_strong(word, word + delta,\n"
        "                                            std::memory_order_acq_rel,\n"
        "                                            std::memory_order_relaxed);\n",
        "    activity.fetch_add(delta);\n    return word != UINT64_MAX;\n",
        "who has seen a process idle takes it for its own"),
    "HAND_FORGOTTEN": (
        "runtime/process/process.h",
        "    while (Envelope* envelope = in_hand) {\n",
        "    while (Envelope* envelope = state != nullptr ? in_hand : nullptr) {\n",
        "a process that ends leaves what it has in hand"),
    "CHAIN_KEPT": (
        "runtime/turn/inbox.cc",
        "  Envelope::Destroy(lane_.buffers(), chain);\n", "",
        "what held the messages of a chain is not freed"),
    "ALWAYS_ENQUEUE": (
        "runtime/process/activity.h", "return !Runnable(before) && Runnable(before + delta);",
        "return Runnable(before + delta);", "every sender enqueues"),
    "SKIP_READY": (
        "runtime/process/activity.h",
        "    // Release: (3), of urgent events.",
        "    if (Runnable(activity.load())) { FailPoint(); activity.fetch_add(delta); "
        "return false; }\n    // Release: (3), of urgent events.",
        "a sender that sees the process ready leaves it to that"),
    "SUBTRACT_LATE": (
        "runtime/workers/process_runner.cc",
        "  delta -= Activity::Urgent(turn.word) * Activity::kUrgentOne;\n"
        "  delta -= Activity::ForMessages(turn.messages_taken, turn.units);\n"
        "  delta -= turn.word & (Activity::kReady | Activity::kBlocked);\n"
        "  delta += (ready",
        "  delta -= Activity::Urgent(process.activity) * Activity::kUrgentOne;\n"
        "  delta -= Activity::ForMessages(turn.messages_taken, turn.units);\n"
        "  delta -= turn.word & (Activity::kReady | Activity::kBlocked);\n"
        "  delta += (ready",
        "a turn gives back what came while it lasted"),
    "GAP_TAKEN": (
        "runtime/turn/inbox.h",
        "    return turn.count < kBatch;\n  });\n",
        "    return turn.count < kBatch;\n  });\n"
        "  if (turn.count < kBatch) {\n"
        "    turn.messages_taken = std::max<uint64_t>(turn.messages_taken,\n"
        "                                   Activity::Messages(turn.word));\n  }\n",
        "what lay behind a gap is forgotten"),
    "LOST_LAST_OF_CHAIN": (
        "runtime/effects/applier.cc",
        "SendTogether(by, to, head, last, count, units,",
        "SendTogether(by, to, head, last, count > 1 ? count - 1 : 1, units,",
        "the last message of a chain is not counted"),
    "NO_STEP_DUE": (
        "runtime/turn/beginning.cc", "    process.step_due = true;\n    const uint64_t lifetime_ns",
        "    const uint64_t lifetime_ns", "there is no first step after Init"),
    "NO_GENERATION_URGENT": (
        "runtime/turn/inbox.cc",
        "    if (envelope->generation != turn.generation) {\n",
        "    if (false) {\n", "an earlier process's completions are taken"),
    "NO_GENERATION_MESSAGES": (
        "runtime/turn/inbox.h",
        "  if (envelope->generation == turn.generation) [[likely]] {\n",
        "  if (true) {\n", "an earlier process's messages are taken"),
    "NO_GENERATION_CHAIN": (
        "runtime/turn/inbox.cc",
        "  if (chain->generation != turn.generation) [[unlikely]] {\n",
        "  if (false) {\n", "an earlier process's chains are taken"),
    "MESSAGES_WHILE_BLOCKED": (
        "runtime/workers/process_runner.cc", "  if (!blocked) parts.inbox.FillFromMessages",
        "  parts.inbox.FillFromMessages", "a blocked process is given messages"),
    "NO_ROLLBACK": (
        "runtime/workers/process_runner.cc",
        "  parts_.caller.KeepLines(parts_.applier.Rollback(parts_.caller.record()));\n",
        "  parts_.applier.Apply(parts_.caller.record(), process,\n"
        "                       parts_.caller.input().self);\n",
        "a step that failed is carried out"),
    "SECOND_CANCEL": (
        "runtime/turn/inbox_cancels.cc",
        "type == ACTORD_EVENT_CANCEL && std::exchange(process.cancel_seen, true)",
        "false", "a second cancel reaches the process"),
    "COMPLETE_TWICE": (
        "runtime/yields/yield_broker.h",
        "  if (record.word.load(std::memory_order_acquire) != pending) {\n"
        "    return std::nullopt;\n"
        "  }\n",
        "  if (record.word.load() >> 32 != pending >> 32) return {};\n"
        "  pending = record.word.load();\n",
        "a yield is completed by everybody who tries"),
    "NO_YIELD_GENERATION": (
        "runtime/yields/yield_broker.h",
        "  if (record.word.load(std::memory_order_acquire) != pending) {\n"
        "    return std::nullopt;\n"
        "  }\n",
        "  pending = record.word.load();\n"
        "  if ((pending & 3) != YieldRecord::kPending) return {};\n",
        "an old handle completes another's yield"),
    "YIELDS_LEFT_AT_END": (
        "runtime/turn/teardown.cc",
        "  broker_.CloseAll(process, turn.generation, lane_);\n", "",
        "an ended process keeps its yields"),
    "LOST_DEAD_LETTERS": (
        "runtime/turn/inbox.cc",
        "    undelivered_.Drop(envelope, to, DeadLetterReason::kDroppedAtEnd, owner,\n"
        "                      lane_);\n",
        "    lane_.Free(envelope);\n",
        "what an ended process has not seen is not counted"),
    "LEAKED_MESSAGE": (
        "runtime/turn/teardown.cc", "  inbox_.FreeBatch(turn);\n", "  turn.count = 0;\n",
        "the events of a cancelled process are not freed"),
    "CLOSE_AFTER_FAILED_INIT": (
        "runtime/turn/beginning.cc",
        "  process.FreeState(\n"
        "      lane_.buffers(), std::exchange(process.state, nullptr),\n"
        "      process.type.load(std::memory_order_relaxed)->descriptor->state_size);\n",
        "", "Close is called after an Init that failed"),
    "AWAIT_NOT_TOLD": (
        "runtime/turn/ending.cc",
        "  if ((seen.wanted & Wanted::kAwaited) != 0) {\n",
        "  if (false) {\n", "an await of a result that is not kept is forgotten"),
    "END_AFTER_LOOK": (
        "runtime/turn/ending.cc",
        "  process.generation.fetch_add(1, std::memory_order_seq_cst);\n"
        "  const bool recorded = lifecycle_log.IsRecording();\n"
        "  FailPoint();\n"
        "  const uint8_t wanted = "
        "process.wanted.load(std::memory_order_seq_cst);\n",
        "  const bool recorded = lifecycle_log.IsRecording();\n"
        "  const uint8_t wanted = process.wanted;\n  FailPoint();\n"
        "  process.generation.fetch_add(1, std::memory_order_seq_cst);\n",
        "an end looks for awaits before it is visible"),
    "REPLY_KEPT": (
        "runtime/turn/inbox.cc",
        "  if (completion.completion.yield_slot == kNoYieldSlot) "
        "--process.replies;\n", "",
        "a reply counts as unseen for ever"),
    "ANSWER_FORGOTTEN": (
        "runtime/tasks/task_table.cc",
        "  Remember(token, ended);\n", "",
        "an answer to an external yield is not remembered"),
    "TAKEN_ANYWAY": (
        "runtime/scheduler/hold.cc",
        "  taken_ = calls_.load(std::memory_order_acquire) == number;\n",
        "  taken_ = true;\n", "a worker is taken from a thread that came back"),
    "NOT_NOTICED": (
        "runtime/scheduler/hold.cc", "  queue_ = nullptr;\n  wanted_", "  wanted_",
        "a thread goes on with a worker that it has lost"),
    "NO_QUIET": (
        "runtime/shutdown.cc", "  core_.admission.AwaitQuiet();\n", "",
        "a shutdown does not wait for submits under way"),
    "CANCEL_MISSES_NEW": (
        "runtime/turn/beginning.cc",
        "    if (orders_.cancel.load(std::memory_order_relaxed)) {\n",
        "    if (false) {\n", "a shutdown does not cancel those that begin"),
    "STALE_CANCEL_SEEN": (
        "runtime/table/process_table.h", "  process.cancel_seen = false;\n", "",
        "a slot's next process takes a cancel for its second"),
    "END_AFTER_UNLINK": (
        "runtime/actors/ties.cc",
        "    fired.erase(fired.lower_bound({other, 0}),\n"
        "                fired.upper_bound({other, UINT64_MAX}));\n",
        "    (void)fired;\n",
        "an end that is on its way takes effect though its link was given up"),
    "EXIT_AFTER_DEMONITOR": (
        "runtime/actors/ties.cc", "    it->second.fired_monitors.erase(tag);\n", "",
        "an exit that is on its way comes though its monitor was given up"),
    "UNNUMBERED_ENDS": (
        "runtime/actors/ties_ends.cc", "  const uint32_t end = ++sides.ends;\n",
        "  const uint32_t end = 1;\n",
        "the end of a link that was given up is taken for that of the next"),
    "OWNERS_IN_ONE_LINE": (
        "runtime/scheduler/global_queue.h",
        "queue.lines.Push(process, owner);",
        "queue.lines.Push(process, Owner::kNobody);",
        "the processes of all owners wait in one line"),
    "STATE_KEPT": (
        "runtime/turn/continuing.cc",
        "  caller_.Close(process, type, std::exchange(process.state, nullptr));\n",
        "  (void)std::exchange(process.state, nullptr);\n",
        "a process begins again, and its former state is kept"),
    "UNSEEN_LOST": (
        "runtime/turn/continuing.cc",
        "  for (size_t i = from; i < decoded.events.size(); ++i) {\n",
        "  for (size_t i = from; i + 1 < decoded.events.size(); ++i) {\n",
        "the last event that a process hands on to its next life is lost"),
    "NO_SECOND_TURN": (
        "runtime/workers/worker.cc",
        "    if (global_first_ && first == First::kOwn) first = First::kGlobal;\n", "",
        "a worker's own processes go first although owners take turns"),
}
