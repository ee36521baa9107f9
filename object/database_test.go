package object_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// TestOnTheDatabase runs the tests of this package on the ledger of production.
func TestOnTheDatabase(t *testing.T) {
	inMemory := openLedger
	defer func() { openLedger = inMemory }()
	openLedger = func(rt rapid.TB, o ledger.Options) testLedger {
		db, err := sqlledger.Open(t.Context(), sqlledger.Memory, o)
		if err != nil {
			rt.Fatal(err)
		}
		rt.(interface{ Cleanup(func()) }).Cleanup(func() { db.Close() })
		return db
	}
	for name, test := range onTheDatabase {
		// Under the race detector a ledger takes a second to open: those with goroutines.
		if !testing.Short() || strings.HasPrefix(name, "Background") {
			t.Run(name, test)
		}
	}
}

// onTheDatabase are the tests that do not need a ledger of their own.
var onTheDatabase = map[string]func(*testing.T){
	"CompletionsAtOnce":                              TestCompletionsAtOnce,
	"ASlowUploadStaysAlive":                          TestASlowUploadStaysAlive,
	"AReapedUploadFailsCleanly":                      TestAReapedUploadFailsCleanly,
	"ReapedBeforeTheCommit":                          TestReapedBeforeTheCommit,
	"NoHeartbeatForTooLong":                          TestNoHeartbeatForTooLong,
	"RoomGrowsWithAnUploadOfUnknownSize":             TestRoomGrowsWithAnUploadOfUnknownSize,
	"BackgroundBeatsWhileTheClientStalls":            TestBackgroundBeatsWhileTheClientStalls,
	"BackgroundStopsAReapedUpload":                   TestBackgroundStopsAReapedUpload,
	"CallsOfDuplicates":                              TestCallsOfDuplicates,
	"ACopyReadsWhatIsNotTrusted":                     TestACopyReadsWhatIsNotTrusted,
	"CopyByReference":                                TestCopyByReference,
	"CopyOfNothing":                                  TestCopyOfNothing,
	"CopyOfBytes":                                    TestCopyOfBytes,
	"CopyOfADamagedSource":                           TestCopyOfADamagedSource,
	"CopyOfAClosedContent":                           TestCopyOfAClosedContent,
	"WhatACopyTakesOver":                             TestWhatACopyTakesOver,
	"CopyConditions":                                 TestCopyConditions,
	"SourceReplacedMeanwhile":                        TestSourceReplacedMeanwhile,
	"LostAnswersOfCopies":                            TestLostAnswersOfCopies,
	"Restore":                                        TestRestore,
	"FailoverBeforeTheFirstByte":                     TestFailoverBeforeTheFirstByte,
	"FailoverInMidStream":                            TestFailoverInMidStream,
	"LostCopy":                                       TestLostCopy,
	"DamagedCopy":                                    TestDamagedCopy,
	"DamagedForGood":                                 TestDamagedForGood,
	"ResolvedOnceMore":                               TestResolvedOnceMore,
	"SegmentsMovedWhileTheyAreRead":                  TestSegmentsMovedWhileTheyAreRead,
	"ReadContinuesUnderAnotherVersionOfTheSameBytes": TestReadContinuesUnderAnotherVersionOfTheSameBytes,
	"ReplacedWhileItIsRead":                          TestReplacedWhileItIsRead,
	"ReplacedWhileItIsOpened":                        TestReplacedWhileItIsOpened,
	"SlowReadersAreNotCutOff":                        TestSlowReadersAreNotCutOff,
	"BackgroundExtendsTheGrace":                      TestBackgroundExtendsTheGrace,
	"ReaderGoesAway":                                 TestReaderGoesAway,
	"ConcurrentUse":                                  TestConcurrentUse,
	"BodyWritesItselfWhole":                          TestBodyWritesItselfWhole,
	"Ranges":                                         TestRanges,
	"Parts":                                          TestParts,
	"ReadConditions":                                 TestReadConditions,
	"Cache":                                          TestCache,
	"DeletedContentLeavesTheCache":                   TestDeletedContentLeavesTheCache,
	"ExpiredIsHiddenEvenIfCached":                    TestExpiredIsHiddenEvenIfCached,
	"StoreIsItsModel":                                TestStoreIsItsModel,
	"Multipart":                                      TestMultipart,
	"MultipartDedup":                                 TestMultipartDedup,
	"CompleteRefuses":                                TestCompleteRefuses,
	"PartsThatAreNotWhatWasDeclared":                 TestPartsThatAreNotWhatWasDeclared,
	"PartsOnFaultyDisksAndLedgers":                   TestPartsOnFaultyDisksAndLedgers,
	"Abort":                                          TestAbort,
	"PartWhoseUploadWent":                            TestPartWhoseUploadWent,
	"CopyPart":                                       TestCopyPart,
	"CopyPartRefuses":                                TestCopyPartRefuses,
	"Listings":                                       TestListings,
	"APartIsNotCutShortByTheClientsLeaving":          TestAPartIsNotCutShortByTheClientsLeaving,
	"LostAnswersOfCommits":                           TestLostAnswersOfCommits,
	"CommitsOfSmallBodies":                           TestCommitsOfSmallBodies,
	"OutcomeThatCannotBeLearnt":                      TestOutcomeThatCannotBeLearnt,
	"ObjectReplacedBeforeItsOutcomeIsLookedUp":       TestObjectReplacedBeforeItsOutcomeIsLookedUp,
	"LedgerThatRefuses":                              TestLedgerThatRefuses,
	"LostAnswerOfBegin":                              TestLostAnswerOfBegin,
	"UnconfirmedAbandonOfAProvenWrite":               TestUnconfirmedAbandonOfAProvenWrite,
	"PromotedInTheWritersPlace":                      TestPromotedInTheWritersPlace,
	"LostAnswersOfOtherOperations":                   TestLostAnswersOfOtherOperations,
	"PutAndGet":                                      TestPutAndGet,
	"PutThatIsNotWhatWasDeclared":                    TestPutThatIsNotWhatWasDeclared,
	"FinishAmendsAfterTheBodyEnded":                  TestFinishAmendsAfterTheBodyEnded,
	"KnownContentIsNotUploadedAgain":                 TestKnownContentIsNotUploadedAgain,
	"DedupIsolation":                                 TestDedupIsolation,
	"SuspectContentGetsANewCopy":                     TestSuspectContentGetsANewCopy,
	"OverwriteAndConditions":                         TestOverwriteAndConditions,
	"AFailedConditionSparesTheUpload":                TestAFailedConditionSparesTheUpload,
	"PutOnFaultyBackends":                            TestPutOnFaultyBackends,
	"NoBackendTakesIt":                               TestNoBackendTakesIt,
	"NoRoom":                                         TestNoRoom,
	"ClientGoesAway":                                 TestClientGoesAway,
	"BodyFailureIsNotTheBackends":                    TestBodyFailureIsNotTheBackends,
	"BackendThatReadsTooLittleFails":                 TestBackendThatReadsTooLittleFails,
	"ClaimedForPromotionBeforeTheCommit":             TestClaimedForPromotionBeforeTheCommit,
	"OnlyFixedBodiesArePromotable":                   TestOnlyFixedBodiesArePromotable,
	"AReapedUploadStopsAtItsNextBeat":                TestAReapedUploadStopsAtItsNextBeat,
	"ReplacedContentLeavesTheCache":                  TestReplacedContentLeavesTheCache,
	"ClientGoesBeforeTheCommit":                      TestClientGoesBeforeTheCommit,
	"ClientGoesDuringTheCommit":                      TestClientGoesDuringTheCommit,
	"CopyInPlaceOfAVersionThatIsReplaced":            TestCopyInPlaceOfAVersionThatIsReplaced,
}
