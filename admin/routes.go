package admin

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
)

// Routes lists every call of the API, by name. What is not in this table is not
// served; a new topic adds a list of its own. Tests hold each route to a role, an
// entry in openapi.json, and an audit line if it changes something.
func Routes() []Route {
	all := slices.Concat(storeRoutes(), planRoutes(), spoolRoutes(), bucketRoutes(), backendRoutes(), queueRoutes(), accessRoutes(), openAPIRoutes())
	slices.SortFunc(all, func(a, b Route) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func storeRoutes() []Route {
	return []Route{
		asks("status", Read, "The store at a glance", (*Service).Status),
		asks("explain", Read, "What the ledger knows of a key, and why it is here or not", (*Service).Explain),
		asks("blobs/objects", Read, "All objects, trash entries and uploads that need a blob, page by page", (*Service).BlobObjects),
		asks("receipts/list", Read, "Receipts of what is gone, segment by segment", (*Service).Receipts),
		asks("receipts/verify", Read, "Recompute the chain of receipts", (*Service).VerifyReceipts),
		asks("clock/show", Read, "How the ledger's clock stands to the machine's", (*Service).ShowClock),
		changes("clock/reset", Destroy, "Set the ledger's clock back to the machine's", (*Service).ResetClock, (*Service).clockState),
		reports("check", Operate, "Recount the books and compare rows with bytes; deletes nothing", (*Service).Check),
		works("reconcile", Operate, "Compare backends with the ledger now: orphans, foreign keys, missing bytes", (*Service).Reconcile),
		works("import", Destroy, "Make objects of foreign keys of a backend, which stay as they are", (*Service).Import),
		asks("reconcile/last", Read, "What the last walks over backends found", (*Service).LastReconcile),
		works("reclaim", Operate, "Run routines now, or say what they would do", (*Service).Reclaim),
		{
			// A copy holds the secrets of all access keys.
			Name: "backup", Role: Destroy, Summary: "A consistent copy of the ledger, secrets included",
			Request: reflect.TypeFor[None](), Media: "application/vnd.sqlite3", Changes: true,
			serve: func(s *Service) http.HandlerFunc { return s.backup },
		},
	}
}

func bucketRoutes() []Route {
	return []Route{
		asks("buckets/list", Read, "All buckets with their settings and exact totals", (*Service).Buckets),
		changes("buckets/set", Destroy, "Change settings of a bucket", (*Service).SetBucket, (*Service).bucketState),
		asks("lifecycle/list", Read, "The buckets that have lifecycle rules", (*Service).Lifecycles),
		asks("lifecycle/get", Read, "The lifecycle rules of a bucket", (*Service).ShowLifecycle),
		changes("lifecycle/set", Destroy, "Replace the lifecycle rules of a bucket", (*Service).SetLifecycle, (*Service).lifecycleState),
		reports("lifecycle/simulate", Read, "What rules would end today and in the days to come", (*Service).SimulateLifecycle),
		asks("ttl/show", Read, "When an object ends, and by what", (*Service).ShowTTL),
		asks("holds/list", Read, "What is held from being deleted", (*Service).ListHolds),
		changes("holds/add", Operate, "Hold a bucket, a prefix or an object", (*Service).AddHold, (*Service).holdState),
		changes("holds/remove", Destroy, "Lift a hold", (*Service).RemoveHold, (*Service).holdState),
		asks("guards/list", Read, "What limits on deletions have counted and stopped", (*Service).ListGuards),
		changes("guards/allow", Destroy, "Let go on what a limit has stopped", (*Service).AllowGuard, (*Service).guardState),
		changes("ttl/set", Destroy, "Set or clear the time to live of an object", (*Service).SetTTL, (*Service).ttlState),
	}
}

func backendRoutes() []Route {
	return []Route{
		asks("backends/list", Read, "What lies on each backend, and how it does", (*Service).ListBackends),
		changes("backends/accept", Destroy, "Let deletes on a held backend go on", (*Service).AcceptBackend, (*Service).backendState),
		changes("backends/hold", Operate, "Stop the deletes on a backend", (*Service).HoldBackend, (*Service).backendState),
		changes("backends/drain", Operate, "Empty a backend: copy what lies there elsewhere", (*Service).DrainBackend, (*Service).backendState),
		changes("backends/undrain", Operate, "End a drain", (*Service).UndrainBackend, (*Service).backendState),
		changes("backends/remove", Destroy, "Forget a backend that holds nothing any more", (*Service).RemoveBackend, (*Service).backendState),
	}
}

func queueRoutes() []Route {
	return []Route{
		asks("cleanup-queue/list", Read, "What waits to be deleted, or is being deleted", (*Service).CleanupQueue),
		asks("pending-objects/list", Read, "Writes under way, and those whose writers fell silent", (*Service).PendingObjects),
		asks("dead/list", Read, "Dead letters, oldest first", (*Service).Dead),
		asks("dead/show", Read, "One dead letter: what was tried, and what can be done", (*Service).ShowDead),
		changes("dead/requeue", Operate, "Condemn dead letters again, due now", (*Service).Requeue, (*Service).deadState),
		changes("dead/write-off", Destroy, "Take dead letters off the books, as their bytes are gone", (*Service).WriteOff, (*Service).deadState),
		asks("trash/list", Read, "What can be restored", (*Service).Trash),
		changes("trash/restore", Operate, "Put a trash entry back under its key", (*Service).RestoreTrash, (*Service).trashState),
		changes("trash/purge", Destroy, "Make trash entries due at once", (*Service).PurgeTrash, (*Service).trashesState),
	}
}

func accessRoutes() []Route {
	return []Route{
		asks("keys/list", Read, "The access keys beside the root's, without their secrets", (*Service).Keys),
		changes("keys/add", Destroy, "Make an access key for chosen buckets", (*Service).AddKey, nil),
		changes("keys/remove", Destroy, "Take an access key away", (*Service).RemoveKey, (*Service).keyState),
		changes("keys/forget-root", Destroy, "Forget the root key that the instances share in the database, if its sealing key is lost", (*Service).ForgetRoot, nil),
		changes("keys/seal", Destroy, "Seal the secrets of access keys in the database by the first sealing key", (*Service).SealKeys, nil),
		asks("tokens/list", Read, "The tokens of this API, without their texts", (*Service).Tokens),
		changes("tokens/add", Destroy, "Make a token of this API; its text is told once", (*Service).AddToken, nil),
		changes("tokens/remove", Destroy, "Take a token of this API away, on all instances at once", (*Service).RemoveToken, (*Service).tokenState),
		asks("whoami", Read, "Who asks, and with which role", (*Service).WhoAmI),
	}
}
