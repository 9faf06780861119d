"""The mutants of the state store that mutants.py tries."""

PREFIX = "RandomHistory.MakesTheExpectedStateOfEachPrefixThatIsLeft"
CRASH = "RandomHistory.MakesTheSameStateWhereverTheStoreHasCrashed"

# name: (file, text, its replacement, description, the test that notices).
MUTANTS = {
    "APPLIES_TWICE": (
        "runtime/store/journal_applier.cc",
        "  if (record.lsn < meta_.applied) return absl::OkStatus();\n"
        "  if (record.lsn != meta_.applied) {",
        "  if (record.lsn > meta_.applied) {",
        "a record is applied again after the store was opened",
        "Applier.SkipsWhatTheStoreStandsForAlready"),
    "APPLIED_IN_A_BATCH_BEFORE": (
        "runtime/store/journal_applier.cc",
        "  batch_.Put(KeyOf(KeyKind::kMeta), ValueOf(meta_));\n",
        "  StateBatch first(store_);\n"
        "  first.Put(KeyOf(KeyKind::kMeta), ValueOf(meta_));\n"
        "  if (absl::Status status = first.Write({}); !status.ok()) return status;\n",
        "the applied position is written apart from what it stands for", CRASH),
    "FORGETS_CONSUMED": (
        "runtime/store/journal_applier_steps.cc",
        "  absl::StatusOr<std::optional<Mail>> mail = TakeMail(process, position.lsn);\n",
        "  absl::StatusOr<std::optional<Mail>> mail = TakeMail(process, position.lsn);\n"
        "  if (mail.ok() && mail->has_value()) {\n"
        "    process.new_mail.Add(position.lsn, Mail(**mail));\n"
        "  }\n",
        "a consumed message stays in the mailbox", PREFIX),
    "NAME_OUTLIVES": (
        "runtime/store/journal_applier_lives.cc",
        "    status = Release(process, name);\n", "    image.names.pop_back();\n",
        "a process keeps its name after its end", "Applier.FreesTheNameOfAnEndedProcess"),
    "LOST_BODY": (
        "runtime/store/journal_applier_rounds.cc",
        "  status = MoveBodies(meta_.previous_round);\n"
        "  if (!status.ok()) return status;\n", "",
        "a body is lost when the journal is trimmed", "Applier.TrimsTwoRoundsBehind"),
    "TRIMS_TOO_FAR": (
        "runtime/store/journal_applier_rounds.cc",
        "  meta_.trim = meta_.previous_round;\n", "  meta_.trim = meta_.applied;\n",
        "the journal gives up bodies that the store does not have", PREFIX),
    "NO_INDEX_OF_BODIES": (
        "runtime/store/journal_applier.cc",
        "    batch_.PutNew(KeyOf(KeyKind::kBody, position), std::move(holder));\n", "",
        "nobody knows which bodies are in the journal alone",
        "RandomHistory.KeepsBodiesThatTheJournalHasGivenUp"),
    "TRIMS_BEFORE_FLUSH": (
        "runtime/store/journal_applier_rounds.cc",
        "  return status.ok() ? store_.Flush() : status;", "  return status;",
        "the journal is trimmed before the store is durable",
        "Rounds.TrimTheJournalAndLoseNothingInACrash"),
    "MAIL_OUTLIVES": (
        "runtime/store/journal_applier_lives.cc",
        "      batch_.Erase(KeyOf(KeyKind::kMail, process.pid, position));\n", "",
        "the mailbox of an ended process stays", PREFIX),
    "NO_DEAD_LETTERS": (
        "runtime/store/journal_applier_lives.cc",
        "    } else if (mail.kind == MailKind::kMessage && !is_consumed(position)) {\n", "    } else if (false) {\n",
        "what an ended process has not consumed is lost", PREFIX),
    "SILENT_END": (
        "runtime/store/journal_applier_lives.cc",
        "    tell(watcher.other, watcher.tag);\n", "",
        "a monitor does not hear of the end", PREFIX),
    "CALL_HANGS": (
        "runtime/store/journal_applier_lives.cc",
        "    status = FailCall(owed.caller, owed.tag, owed.call);\n", "",
        "a call to an ended process is never answered", PREFIX),
    "ANSWER_LOST": (
        "runtime/store/journal_applier_ids.cc",
        "  (*entry)->is_open = false;\n", "",
        "the id of a call says that there is no answer", PREFIX),
    "ANSWER_OF_NOBODY": (
        "runtime/store/journal_applier_ids.cc",
        "  if (record.request.fingerprint == Fingerprint{}) return absl::OkStatus();\n",
        "",
        "a completion that is no answer to a task is remembered", PREFIX),
    "ANSWERS_STAY": (
        "runtime/store/journal_applier_ids.cc",
        "        batch_.Erase(KeyOf(KeyKind::kAnswer, LsnIn(order)));\n", "",
        "the answer of a call outlives its id", PREFIX),
    "TIMER_OUTLIVES": (
        "runtime/store/journal_applier_lives.cc",
        "  SetLifetime(process, 0);\n  for (", "  for (",
        "the timer of an ended process stays", PREFIX),
    "TWO_COMPLETIONS": (
        "runtime/store/journal_applier_parts.cc",
        "  if (!RemoveYield(**found, tag)) {\n", "  if (!RemoveYield(**found, tag) && false) {\n",
        "a yield is completed twice", "Applier.CompletesAYieldOnce"),
    "LATE_ANSWER": (
        "runtime/store/journal_applier_steps.cc",
        "    const auto late = TakeMail(process, answer);\n",
        "    const auto late = batch_.Read<Mail>(KeyOf(KeyKind::kMail, process.pid, answer));\n",
        "an answer that came too late stays in the mailbox", PREFIX),
    "STEP_TWICE": (
        "runtime/store/journal_applier_steps.cc",
        "  if (record.turn.step != process.runtime().turn.step + 1) {\n",
        "  if (record.turn.step > process.runtime().turn.step + 1) {\n",
        "a step may come twice", "Applier.TakesTheStepsInTheirOrder"),
    "EXPIRES_NEW_ID": (
        "runtime/store/journal_applier_ids.cc",
        "      if (entry->has_value() && (*entry)->lsn == LsnIn(order)) {\n",
        "      if (entry->has_value()) {\n",
        "an id that was used again expires with its first use",
        "Applier.KeepsAnIdThatWasUsedAgain"),
    "TOO_MANY_IDS": (
        "runtime/store/journal_applier_ids.cc",
        "          if (piece.size() >= surplus && TimeIn(order) >= meta_.store_ns) {\n",
        "          if (TimeIn(order) >= meta_.store_ns) {\n",
        "ids above the maximum stay", "Applier.LeavesAsManyIdsAsItMay"),
    "KEEPS_REFUSED_ID": (
        "runtime/store/journal_applier_ids.cc",
        "  if (!entry->has_value() || !is(**entry)) return absl::OkStatus();\n",
        "  return absl::OkStatus();\n",
        "the id of a refused request stays", "Applier.ForgetsTheIdOfARefusedRequest"),
    "FORGETS_LATER_ID": (
        "runtime/store/journal_applier_ids.cc",
        "  if (!entry->has_value() || !is(**entry)) return absl::OkStatus();\n",
        "  if (!entry->has_value()) return absl::OkStatus();\n",
        "a refused request forgets the id of another one", PREFIX),
    "OTHER_OWNER": (
        "runtime/store/journal_applier_parts.cc",
        "  if (*receiver != nullptr && Sees(sender, (*receiver)->owner())) {\n",
        "  if (*receiver != nullptr) {\n",
        "a step's message reaches a process of another owner", PREFIX),
    "SHORT_HISTORY": (
        "runtime/store/journal_applier_steps.cc",
        "    if (!one.mail.body.has_value()) NoteBody(one.position, key);\n", "",
        "what a replay needs is lost when the journal is trimmed", PREFIX),
    "HALF_A_BATCH": (
        "runtime/store/state_batch.cc",
        "  if (entry != entries_.end() && entry->first == key) return true;\n", "",
        "a scan sees what the batch has changed or removed", PREFIX),
}
