package admin

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
)

// Routes lists every call of the API, by name. Nothing else is served. Tests
// check that each route has a role, an entry in openapi.json, and an audit line
// if it changes something.
func Routes() []Route {
	all := slices.Concat(storeRoutes(), planRoutes(), bucketRoutes(), backendRoutes(), queueRoutes(), accessRoutes(), openAPIRoutes())
	slices.SortFunc(all, func(a, b Route) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func storeRoutes() []Route {
	return []Route{
		asks("status", Read, "The store at a glance", (*Service).Status),
		asks("explain", Read, "What the ledger has about a key, and why the object exists or not", (*Service).Explain),
		asks("blobs/objects", Read, "All objects, trash entries and uploads that need a blob, page by page", (*Service).BlobObjects),
		asks("receipts/list", Read, "Receipts of deletions, segment by segment", (*Service).Receipts),
		asks("receipts/verify", Read, "Recompute the chain of receipts", (*Service).VerifyReceipts),
		asks("clock/show", Read, "The ledger's clock compared with the machine's", (*Service).ShowClock),
		changes("clock/reset", Destroy, "Set the ledger's clock back to the machine's", (*Service).ResetClock, (*Service).clockState),
		reports("check", Operate, "Recount the counters and compare rows with bytes; deletes nothing", (*Service).Check),
		works("reconcile", Operate, "Compare backends with the ledger now: orphans, foreign keys, missing bytes", (*Service).Reconcile),
		works("import", Destroy, "Import foreign keys of a backend as objects; the keys stay as they are", (*Service).Import),
		asks("reconcile/last", Read, "What the last walks over backends found", (*Service).LastReconcile),
		works("reclaim", Operate, "Run routines now, or show what they would do", (*Service).Reclaim),
		{
			// A copy has the secrets of all access keys.
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
		reports("lifecycle/simulate", Read, "What rules would end today and in the next days", (*Service).SimulateLifecycle),
		asks("ttl/show", Read, "When an object ends, and by what", (*Service).ShowTTL),
		asks("holds/list", Read, "The holds", (*Service).ListHolds),
		changes("holds/add", Operate, "Hold a bucket, a prefix or an object", (*Service).AddHold, (*Service).holdState),
		changes("holds/remove", Destroy, "Lift a hold", (*Service).RemoveHold, (*Service).holdState),
		asks("guards/list", Read, "The deletion limits: counts, and which have tripped", (*Service).ListGuards),
		changes("guards/allow", Destroy, "Allow deletions that a limit has stopped", (*Service).AllowGuard, (*Service).guardState),
		changes("ttl/set", Destroy, "Set or clear the time to live of an object", (*Service).SetTTL, (*Service).ttlState),
	}
}

func backendRoutes() []Route {
	return []Route{
		asks("backends/list", Read, "What each backend stores, and its state", (*Service).ListBackends),
		changes("backends/accept", Destroy, "Resume deletes on a held backend", (*Service).AcceptBackend, (*Service).backendState),
		changes("backends/hold", Operate, "Stop the deletes on a backend", (*Service).HoldBackend, (*Service).backendState),
		changes("backends/drain", Operate, "Empty a backend: copy its contents elsewhere", (*Service).DrainBackend, (*Service).backendState),
		changes("backends/undrain", Operate, "Cancel a drain", (*Service).UndrainBackend, (*Service).backendState),
		changes("backends/remove", Destroy, "Remove a drained backend that is empty", (*Service).RemoveBackend, (*Service).backendState),
	}
}

func queueRoutes() []Route {
	return []Route{
		asks("cleanup-queue/list", Read, "Blobs that wait to be deleted or are being deleted", (*Service).CleanupQueue),
		asks("pending-objects/list", Read, "Writes in progress, and those of silent writers", (*Service).PendingObjects),
		asks("dead/list", Read, "Dead letters, oldest first", (*Service).Dead),
		asks("dead/show", Read, "One dead letter: what was tried, and what can be done", (*Service).ShowDead),
		changes("dead/requeue", Operate, "Condemn dead letters again, due now", (*Service).Requeue, (*Service).deadState),
		changes("dead/write-off", Destroy, "Remove dead letters whose bytes are gone", (*Service).WriteOff, (*Service).deadState),
		asks("trash/list", Read, "What can be restored", (*Service).Trash),
		changes("trash/restore", Operate, "Put a trash entry back under its key", (*Service).RestoreTrash, (*Service).trashState),
		changes("trash/purge", Destroy, "Make trash entries due at once", (*Service).PurgeTrash, (*Service).trashesState),
	}
}

func accessRoutes() []Route {
	return []Route{
		asks("keys/list", Read, "The access keys beside the root's, without their secrets", (*Service).Keys),
		changes("keys/add", Destroy, "Add an access key for chosen buckets", (*Service).AddKey, nil),
		changes("keys/remove", Destroy, "Remove an access key", (*Service).RemoveKey, (*Service).keyState),
		changes("keys/forget-root", Destroy, "Remove the shared root key from the database if its sealing key is lost", (*Service).ForgetRoot, nil),
		changes("keys/seal", Destroy, "Encrypt the secrets of access keys in the database with the first sealing key", (*Service).SealKeys, nil),
		asks("tokens/list", Read, "The tokens of this API, without their secrets", (*Service).Tokens),
		changes("tokens/add", Destroy, "Add a token of this API; its text is returned once", (*Service).AddToken, nil),
		changes("tokens/remove", Destroy, "Remove a token of this API, on all instances at once", (*Service).RemoveToken, (*Service).tokenState),
		asks("whoami", Read, "The name and role of the caller", (*Service).WhoAmI),
	}
}
