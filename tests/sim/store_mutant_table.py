"""The mutants of durable work that mutants.py tries with `actord_sim --store`."""

# name: (file, text, its replacement, description).
STORE_MUTANTS = {
    "STOP_COUNTS_AGAIN": (
        "runtime/shutdown.cc",
        "  const uint64_t left = is_empty ? 0 : core_.LiveVolatile();\n",
        "  const uint64_t left = core_.LiveVolatile();\n",
        "a stop counts the processes again, while one ends"),
    "ACKNOWLEDGE_FIRST": (
        "runtime/journal/committer.cc",
        "  if (auto status = segment_->file->SyncData(); !status.ok()) return status;\n",
        "", "records are acknowledged without a sync"),
    "RETRY_SYNC": (
        "runtime/journal/committer.cc",
        "  if (auto status = segment_->file->SyncData(); !status.ok()) return status;\n",
        "  if (auto status = segment_->file->SyncData(); !status.ok()) {\n"
        "    status = segment_->file->SyncData();\n"
        "    if (!status.ok()) return status;\n  }\n",
        "a failed sync is repeated"),
    "NO_DIRECTORY_SYNC": (
        "runtime/journal/segments.cc",
        "  status = options_.files->SyncDirectory(folder_);\n"
        "  if (!status.ok()) return status;\n  return segment;",
        "  return segment;", "the name of a new segment is not synced"),
    "NO_REWRITE": (
        "runtime/journal/recovery.cc",
        "  if (!recovered.last) return absl::OkStatus();\n",
        "  return absl::OkStatus();\n",
        "recovery does not write the last group again"),
    "CUT_INSTEAD_OF_REFUSE": (
        "runtime/journal/group_walk.cc",
        "    if (!later->has_value()) continue;\n", "    continue;\n",
        "damaged records are cut off though they were acknowledged"),
    "SAME_INCARNATION": (
        "runtime/journal/journal.cc", "++report_.incarnation;",
        "std::max<uint64_t>(report_.incarnation, 1);",
        "an incarnation is used twice"),
    "RELEASED_AT_ONCE": (
        "runtime/core.cc",
        "    durable->releases().After(position, std::move(then));\n",
        "    std::move(then)();\n",
        "a client is answered before the record is durable"),
    "REFUSED_AT_ONCE": (
        "runtime/turn/process_admission.cc",
        "  if (durable_ == nullptr || ReasonOf(status) != reason::kNameTaken) {\n",
        "  if (true) {\n",
        "a client is told of the holder of a name before that is durable"),
    "QUERY_THAT_CHANGES": (
        "runtime/durable_turn/durable_step.cc",
        "before == after &&\n", "\n",
        "a step that changes the state passes for a query"),
    "EXPECTS_NO_TASK": (
        "runtime/recovery.cc", "  ExpectTasks(stored.pid, image);\n", "",
        "an answer to a task is called unknown until its process runs again"),
    "QUERY_AT_ONCE": (
        "runtime/durable_turn/durable_step.cc",
        "    position = durable().LastPosition();\n", "    position = 0;\n",
        "a query shows a state that is not durable"),
    "STARTED_AT_ONCE": (
        "runtime/durable_turn/durable_turn.cc",
        "      position,\n      [&log = shared_.lifecycle_log, &process,",
        "      0,\n      [&log = shared_.lifecycle_log, &process,",
        "a submitter is answered before the start is durable"),
    "END_AT_ONCE": (
        "runtime/durable_turn/durable_end.cc",
        "  durable().releases().After(position, [&shared = shared_, pid] {\n",
        "  durable().releases().After(0, [&shared = shared_, pid] {\n",
        "an end is seen before it is durable"),
    "ANSWERED_AT_ONCE": (
        "runtime/effects/durable_applier.cc",
        "      step.record_at,\n      [handle = caller.handle, content = Own(",
        "      0,\n      [handle = caller.handle, content = Own(",
        "a call from outside is answered before the step is durable"),
    "TOLD_AT_ONCE": (
        "runtime/effects/logged_sends.cc",
        "      record,\n      [owned = Own(message, shared_lane_), to, by,",
        "      0,\n      [owned = Own(message, shared_lane_), to, by,",
        "a volatile process has a message before the step is durable"),
    "TASK_AT_ONCE": (
        "runtime/effects/durable_yields.cc",
        "      begin.record,\n      [handle, token = YieldToken{self, tag}",
        "      0,\n      [handle, token = YieldToken{self, tag}",
        "a task is in the list before its step is durable"),
    "HANDLER_AT_ONCE": (
        "runtime/effects/durable_yields.cc",
        "      begin.record,\n      [self, by = OwnerOf(process), handle, mark,\n",
        "      0,\n      [self, by = OwnerOf(process), handle, mark,\n",
        "a plugin's handler is called before the step is durable"),
    "HANDLER_AGAIN": (
        "runtime/effects/durable_yields.cc",
        "  if (begin.restored != nullptr && !handler.is_builtin() &&\n"
        "      !handler.is_idempotent()) {\n",
        "  if (false) {\n",
        "a plugin's handler is called again after a restart"),
    "ATTEMPT_FORGOTTEN": (
        "runtime/store/journal_applier_inputs.cc",
        "  yield->attempts = record.attempt;\n", "",
        "the store forgets attempts of tasks"),
    "ATTEMPT_NOT_RESTORED": (
        "runtime/effects/durable_yields.cc",
        "    task->history.attempts = begin.restored->attempts;\n", "",
        "a restart forgets attempts of tasks"),
    "REQUEST_ID_FORGOTTEN": (
        "runtime/turn/durable_admission.cc",
        "      .request = {.id = request_id.id, .fingerprint = request_id.fingerprint},\n",
        "      .request = {},\n",
        "a Submit is written without its request id"),
    "MESSAGE_ID_FORGOTTEN": (
        "runtime/durable/durable_inputs.cc",
        "    input.request = {.id = id.id->id, .fingerprint = id.id->fingerprint};\n", "",
        "a message is written without its id"),
    "CALL_ID_FORGOTTEN": (
        "runtime/effects/kept_calls.cc",
        "      .request = {.id = id.id, .fingerprint = id.fingerprint},\n"
        "      .owner = id.owner,\n",
        "      .request = {},\n      .owner = id.owner,\n",
        "a call is written without its id"),
    "CALL_ID_NOT_RESTORED": (
        "runtime/effects/kept_calls.cc",
        "  if (entry.is_open) {\n    flights_.try_emplace(",
        "  if (!id.empty()) {\n  } else if (entry.is_open) {\n    flights_.try_emplace(",
        "a restart forgets the ids of calls"),
    "CALL_ANSWERED_AT_ONCE": (
        "runtime/effects/durable_applier.cc",
        "        step.record_at,\n        [call = reply.call, content = Own(",
        "        0,\n        [call = reply.call, content = Own(",
        "a call with an id is answered before the step is durable"),
    "CALL_ANSWER_FORGOTTEN": (
        "runtime/store/journal_applier_ids.cc",
        "  (*entry)->is_open = false;\n",
        "  batch_.Erase(std::string(**key));\n  if (position != 0) return absl::OkStatus();\n"
        "  (*entry)->is_open = false;\n",
        "the store forgets a call that is answered"),
    "CALLER_DOES_NOT_WAIT": (
        "runtime/journal/journal_threads.cc",
        "  if (!options_.threads || !commit_mutex_.try_lock()) return 0;\n",
        "  if (!options_.threads || !commit_mutex_.try_lock()) return lsn + 1;\n",
        "a caller that finds the disk busy is answered"),
    "UNORDERED_RELEASES": (
        "runtime/durable/releases.cc",
        "  while (place != held_.begin() && std::prev(place)->position > position) {\n"
        "    --place;\n  }\n",
        "", "what waits for the disk is not sorted by position"),
    "EARLY_AFTER_RESTART": (
        "runtime/effects/durable_yields.h",
        "    return now_ns - std::min(now_ns, begun_ns);\n",
        "    return 2 * (now_ns - std::min(now_ns, begun_ns));\n",
        "a timer counts the time before a restart twice"),
    "TIMER_AGAIN": (
        "runtime/store/journal_applier_steps.cc",
        "  RemoveYield(process, event.tag);\n  return absl::OkStatus();\n",
        "  return absl::OkStatus();\n",
        "a timer that a step has seen fires again after a restart"),
    "EXIT_FORGOTTEN": (
        "runtime/recovery.cc",
        "  for (const WatchesOf& of : watches) RecoverTies(of);\n", "",
        "monitors are lost in a restart"),
    "MAIL_FORGOTTEN": (
        "runtime/recovery.cc",
        "  FillMailbox(process, stored, processes.mailbox_bytes_of(), lane);\n", "",
        "messages that wait are lost in a restart"),
    "FOUND_FIRST": (
        "runtime/turn/durable_admission.cc",
        "    position = durable_->Append(record);\n"
        "    if (!position.ok()) return false;\n"
        "    DurableState& state = durable_->Begin(process);\n"
        "    if (spawn.yield != 0) state.spawn = {parent, spawn.yield};\n"
        "    Label(request, process, *pid, charged);\n"
        "    processes_.Enter(process, *pid);\n"
        "    return true;\n  };\n"
        "  if (request.name.empty()) {\n    commit();\n  } else {\n",
        "    position = durable_->Append(record);\n"
        "    return position.ok();\n  };\n"
        "  DurableState& state = durable_->Begin(process);\n"
        "  if (spawn.yield != 0) state.spawn = {parent, spawn.yield};\n"
        "  processes_.Enter(process, *pid);\n"
        "  if (request.name.empty()) {\n    commit();\n"
        "  } else if (Pid other; names_.Register(request.name, *pid, other).ok()) {\n"
        "    FailPoint();\n    commit();\n  } else {\n",
        "a name is held before its process is in the journal"),
    "UNSEEN_NOT_STORED": (
        "runtime/recovery.cc",
        "      PushUnseen(entry.unseen, entry.unseen_left, process, lane);\n",
        "      PushUnseen(\"\", 0, process, lane);\n",
        "what a process hands on to its next life is lost in a restart"),
    "EFFECT_FIRST": (
        "runtime/durable_turn/durable_step.cc",
        "  absl::StatusOr<uint64_t> position = durable().Append(step);\n",
        "  durable_applier_.Apply(caller_.record(), process, caller_.input().self,\n"
        "                         state, durable().store().journal().Tail());\n"
        "  FailPoint();\n"
        "  absl::StatusOr<uint64_t> position = durable().Append(step);\n",
        "what a step does is carried out before its record is reserved"),
    "HANDED_ON_NO_LETTERS": (
        "runtime/store/journal_applier_steps.cc",
        "  if (entry.unseen_left == 0) return absl::OkStatus();\n",
        "  if (entry.unseen_left + 1 != 0) return absl::OkStatus();\n",
        "what a process hands on to a life that does not begin is lost"),
    "TIMER_LOST_ASLEEP": (
        "runtime/table/process_table.cc",
        "  if (due_ns != 0) homes_->wake_times().Add(pid, due_ns);\n",
        "  if (due_ns == 1) homes_->wake_times().Add(pid, due_ns);\n",
        "a dormant process does not come back for its timer"),
    "TIMER_TWICE_ASLEEP": (
        "runtime/durable_turn/passivation.cc",
        "  if (due.empty()) return true;\n",
        "  if (due.empty() || !process.init_due) return true;\n",
        "a process becomes dormant although its timer fires"),
    "HISTORY_NOT_READ": (
        "runtime/durable/opened_store_reads.cc",
        "    status = ReadWholeHistory(process);\n", "",
        "a dormant process comes back without its history"),
    "HISTORY_NOT_READ_AGAIN": (
        "runtime/durable_turn/passivation.cc",
        "  state.TakeStored(*stored);\n",
        "  state.restore_due = true;\n"
        "  state.image = std::move(stored->image);\n",
        "a process that an event keeps in memory loses its history"),
    "CANCEL_AT_ONCE": (
        "runtime/durable/durable_inputs.cc",
        "  if (status.ok()) return {status, *position};\n"
        "  return Refuse(\n      to, *position, 1,\n",
        "  if (status.ok()) return {status};\n"
        "  return Refuse(\n      to, *position, 1,\n",
        "a cancel is acknowledged before it is durable"),
    "CANCEL_FORGOTTEN": (
        "runtime/recovery.cc",
        "      case MailKind::kCancel:\n      case MailKind::kTerminate: {\n",
        "      case MailKind::kCancel:\n        continue;\n"
        "      case MailKind::kTerminate: {\n",
        "a cancel that waits is lost in a restart"),
    "CANCEL_BECOMES_FAILURE": (
        "runtime/turn/inbox_cancels.cc",
        "    end_cause_ = {EndKind::kCancelled, absl::StatusCode::kCancelled,\n",
        "    end_cause_ = {EndKind::kFailed, absl::StatusCode::kCancelled,\n",
        "the outcome of a cancelled process is a failure"),
    "CANCEL_DEADLINE_FORGOTTEN": (
        "runtime/recovery.cc",
        "  if (image.cancel_deadline_ns == 0) return;\n",
        "  if (image.cancel_deadline_ns + 1 != 0) return;\n",
        "the deadline of a cancel is lost in a restart"),
    "UPGRADE_NOT_NOTED": (
        "runtime/durable_turn/durable_turn.cc",
        "  if (type.plugin_number == state.plugin && !image) return absl::OkStatus();\n",
        "  if (type.plugin_number != 0 || !image) return absl::OkStatus();\n",
        "the journal does not learn of an upgrade"),
    "UPGRADE_WITHOUT_IMAGE": (
        "runtime/durable_turn/durable_turn.cc",
        "            NoteVersion(process, turn, state, target, std::move(image));\n",
        "            NoteVersion(process, turn, state, target, std::nullopt);\n"
        "        image.clear();\n",
        "a newer version takes the steps of the older one again"),
    "FORMER_STAYS": (
        "runtime/process/catalog.cc",
        "      former->durable_upgrade_to.store(now, std::memory_order_release);\n",
        "      former->durable_upgrade_to.store(nullptr, std::memory_order_release);\n",
        "a restart upgrades no process of an older version"),
    "PUT_OFF_FOR_EVER": (
        "runtime/durable_turn/durable_turn.cc",
        "  if (process.upgrading == nullptr || process.upgrading->put_off == nullptr) {\n",
        "  if (process.upgrading == nullptr || process.upgrading->put_off != nullptr) {\n",
        "a process that puts an upgrade off is not asked again"),
    "TRIED_UNASKED": (
        "runtime/delivery/quarantine.cc",
        "  if (member->second.waiting.empty()) return std::nullopt;\n",
        "", "an upgrade takes a process out of quarantine, though nobody asked"),
    "QUARANTINE_LOSES_EVENTS": (
        "runtime/durable_turn/durable_quarantine.cc",
        "      kept.held.PushBack(event);\n      continue;\n",
        "", "completions, exits and cancels that come in quarantine are lost"),
    "QUARANTINE_LOSES_MAIL": (
        "runtime/recovery.cc",
        "  FillMailbox(process, stored, processes.mailbox_bytes_of(), lane);\n"
        "  if (!found.fits.ok()) {\n",
        "  if (found.fits.ok()) {\n"
        "    FillMailbox(process, stored, processes.mailbox_bytes_of(), lane);\n"
        "  }\n  if (!found.fits.ok()) {\n",
        "the mailbox of a process that begins in quarantine is lost"),
}
