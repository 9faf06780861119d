"""The mutants of the journal that mutants.py tries."""

# name: (file, text, its replacement, description, the test that notices).
MUTANTS = {
    "ACKNOWLEDGE_FIRST": (
        "runtime/journal/committer.cc",
        "  if (auto status = segment_->file->SyncData(); !status.ok()) return status;\n",
        "", "records are acknowledged without a sync",
        "Crashes/JournalCrashTest.AtEachCallAndAgainInRecoveryTwice/1"),
    "RETRY_SYNC": (
        "runtime/journal/committer.cc",
        "  if (auto status = segment_->file->SyncData(); !status.ok()) return status;\n",
        "  if (auto status = segment_->file->SyncData(); !status.ok()) {\n"
        "    status = segment_->file->SyncData();\n"
        "    if (!status.ok()) return status;\n  }\n",
        "a failed sync is repeated", "FailedSyncs/JournalErrorTest.AtEachCall/0"),
    "NO_DIRECTORY_SYNC": (
        "runtime/journal/segments.cc",
        "  status = options_.files->SyncDirectory(folder_);\n"
        "  if (!status.ok()) return status;\n  return segment;",
        "  return segment;", "the name of a new segment is not synced",
        "Crashes/JournalCrashTest.AtEachCallAndAgainInRecoveryTwice/1"),
    "CUT_INSTEAD_OF_REFUSE": (
        "runtime/journal/group_walk.cc",
        "    if (!later->has_value()) continue;\n", "    continue;\n",
        "damaged records are cut off though they were acknowledged",
        "RecoveryTest.RefusesRotOfAcknowledgedRecords"),
    "NO_REWRITE": (
        "runtime/journal/recovery.cc",
        "  if (!recovered.last) return absl::OkStatus();\n",
        "  return absl::OkStatus();\n",
        "the last group is not written again",
        "RecoveryTest.TheLastGroupIsWrittenAgain"),
    "NO_ZERO_FILL": (
        "runtime/journal/segments.cc",
        "offset < bytes; offset += kFillBytes) {", "offset < 0; offset += kFillBytes) {",
        "segments are allocated and not filled",
        "JournalTest.CommitsChangeNoMetadata"),
    "ENTERS_LAST_SEGMENT": (
        "runtime/journal/segments.cc", "if (Spares() < 2) return nullptr;",
        "if (Spares() < 1) return nullptr;",
        "the newest segment is written to",
        "JournalTest.JournalWithoutRoomIsBehindAndResumesByItself"),
    "MISSING_END_UNSEEN": (
        "runtime/journal/group_walk.cc", "  if (recovered_.last && IsLastFile()) {\n",
        "  if (false) {\n", "a missing newest segment is not noticed",
        "Files/MissingSegmentTest.IsRefused/2"),
    "UNLINK_FIRST": (
        "runtime/journal/journal.cc",
        "  if (auto status = meta_files_.Write(meta_); !status.ok()) {\n"
        "    Fail(status);\n    return status;\n  }\n  segments_->DropBefore(first->place);\n",
        "  segments_->DropBefore(first->place);\n",
        "segments go before META says so",
        "JournalTest.TrimGivesUpWholeSegmentsAndUsesThemAgain"),
    "META_UNSYNCED": (
        "runtime/journal/meta.cc", "  return (*file)->SyncData();\n",
        "  return absl::OkStatus();\n", "META is not synced",
        "Crashes/JournalCrashTest.AtEachCallAndAgainInRecoveryTwice/2"),
    "NO_SEAL_AT_STOP": (
        "runtime/journal/journal.cc",
        "  while (CommitOne()) {\n  }\n  Seal();\n", "  while (CommitOne()) {\n  }\n",
        "a stop does not seal the last group", "JournalTest.AStopSealsTheLastGroup"),
    "READ_ERROR_IS_END": (
        "runtime/journal/group_walk.cc",
        "  if (!judgement.ok()) return Unreadable(judgement.status(), here, place_);\n",
        "  if (!judgement.ok()) judgement = Judgement::kBad;\n",
        "a read error is taken for the end",
        "RecoveryTest.AnErrorOfTheDiskIsNotTheEndOfTheJournal"),
    "NO_CHAIN": (
        "runtime/journal/segment.cc",
        "         group.header.chain == ChainOf(store, link.chain, group.header);",
        "         true;", "the chain is not compared",
        "RecoveryTest.RefusesAGroupThatDoesNotContinueTheOneBefore"),
    "SAME_INCARNATION": (
        "runtime/journal/journal.cc", "++report_.incarnation;",
        "std::max<uint64_t>(report_.incarnation, 1);",
        "an incarnation is used twice", "RecoveryTest.IncarnationsNeverRepeat"),
    "DAMAGED_META_LAST": (
        "runtime/journal/meta.cc",
        "  if (auto status = WriteCopy(first_copy_, meta); !status.ok()) return status;\n"
        "  return WriteCopy(1 - first_copy_, meta);\n",
        "  if (auto status = WriteCopy(1 - first_copy_, meta); !status.ok()) {\n"
        "    return status;\n  }\n  return WriteCopy(first_copy_, meta);\n",
        "the intact copy of META is written before the damaged one",
        "Copies/MetaTest.TheIntactCopyIsWrittenLast/1"),
    "STUCK_BEHIND": (
        "runtime/journal/journal_threads.cc",
        "  if (!by_caller) events_.Durable(lsn);\n  MayHaveCaughtUp();\n",
        "  if (!by_caller) events_.Durable(lsn);\n",
        "nobody hears that the journal has caught up",
        "JournalTest.IsBehindAboveItsBoundUntilHalfOfItIsFree"),
    "LOST_PENDING": (
        "runtime/journal/journal_threads.cc", "  if (pending_.records == 0) {\n"
        "    pending_ =", "  {\n    pending_ =",
        "a group that has no room is forgotten",
        "JournalTest.JournalWithoutRoomIsBehindAndResumesByItself"),
}
