package api

import (
	"cmp"
	"reflect"
	"slices"
)

// Routes lists every call of the API, by name. Nothing else is served. Tests
// check that each route has a role, an entry in openapi.json, a method that serves
// it, and an audit line if it changes something.
func Routes() []Route {
	all := slices.Concat(storeRoutes(), planRoutes(), bucketRoutes(), backendRoutes(), queueRoutes(), accessRoutes(), openAPIRoutes())
	slices.SortFunc(all, func(a, b Route) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func storeRoutes() []Route {
	return []Route{
		asks[None, Status]("status", Read, "The store at a glance"),
		asks[ObjectName, Explanation]("explain", Read, "What the ledger has about a key, and why the object exists or not"),
		asks[BlobObjectsRequest, BlobObjects]("blobs/objects", Read, "All objects, trash entries and uploads that need a blob, page by page"),
		asks[ReceiptRequest, ReceiptPage]("receipts/list", Read, "Receipts of deletions, segment by segment"),
		asks[ChainRequest, Chain]("receipts/verify", Read, "Recompute the chain of receipts"),
		asks[AuditRequest, AuditLines]("audit/list", Read, "The last decisions of the process that answers"),
		asks[None, Clock]("clock/show", Read, "The ledger's clock compared with the machine's"),
		changes[ClockRequest, Clock]("clock/reset", Destroy, "Set the ledger's clock back to the machine's"),
		reports[CheckRequest, CheckResult]("check", Operate, "Recount the counters and compare rows with bytes; deletes nothing"),
		works[ReconcileRequest, ReconcileResult]("reconcile", Operate, "Compare backends with the ledger now: orphans, foreign keys, missing bytes"),
		works[ImportRequest, ImportResult]("import", Destroy, "Import foreign keys of a backend as objects; the keys stay as they are"),
		asks[LastReconcileRequest, LastReconcileResult]("reconcile/last", Read, "What the last walks over backends found"),
		works[ReclaimRequest, ReclaimResult]("reclaim", Operate, "Run routines now, or show what they would do"),
		{
			// A copy has the secrets of all access keys.
			Name: "backup", Role: Destroy, Summary: "A consistent copy of the ledger, secrets included",
			Request: reflect.TypeFor[None](), Media: "application/vnd.sqlite3", Changes: true,
		},
	}
}

func bucketRoutes() []Route {
	return []Route{
		asks[ObjectListRequest, ObjectList]("objects/list", Read, "Objects by prefix, and when and by what each ends"),
		asks[UsageRequest, Usage]("usage", Read, "What a bucket or a prefix stores, by prefix, size, age and end"),
		asks[BucketUsagesRequest, BucketUsages]("usage/buckets", Read, "What each bucket stores, with and without an end, and how it grows"),
		asks[ForecastRequest, ForecastResult]("forecast", Read, "What goes on which of the next days, and by what"),
		asks[ForecastDayRequest, ForecastRows]("forecast/day", Read, "What goes on one of the next days, row by row"),
		asks[None, []Bucket]("buckets/list", Read, "All buckets with their settings and exact totals"),
		changes[BucketChange, Bucket]("buckets/set", Destroy, "Change settings of a bucket"),
		asks[None, []Lifecycle]("lifecycle/list", Read, "The buckets that have lifecycle rules"),
		asks[LifecycleRequest, Lifecycle]("lifecycle/get", Read, "The lifecycle rules of a bucket"),
		changes[LifecycleRequest, Lifecycle]("lifecycle/set", Destroy, "Replace the lifecycle rules of a bucket"),
		reports[LifecycleRequest, Simulation]("lifecycle/simulate", Read, "What rules would end today and in the next days"),
		asks[ObjectName, ObjectInfo]("ttl/show", Read, "When an object ends, and by what"),
		asks[HoldList, Holds]("holds/list", Read, "The holds"),
		changes[HoldRequest, HoldSet]("holds/add", Operate, "Hold a bucket, a prefix or an object"),
		changes[HoldRequest, None]("holds/remove", Destroy, "Release a hold"),
		asks[None, []LimitInfo]("limits/list", Read, "The deletion limits: counts, and which have tripped"),
		changes[AllowRequest, LimitInfo]("limits/allow", Destroy, "Allow deletions that a limit has stopped"),
		changes[TTLRequest, ObjectInfo]("ttl/set", Destroy, "Set or clear the time to live and the idle time of an object"),
	}
}

func backendRoutes() []Route {
	return []Route{
		asks[None, []BackendStatus]("backends/list", Read, "What each backend stores, and its state"),
		changes[BackendRequest, None]("backends/accept", Destroy, "Resume deletes on a held backend"),
		changes[BackendRequest, None]("backends/hold", Operate, "Stop the deletes on a backend"),
		changes[BackendRequest, None]("backends/drain", Operate, "Empty a backend: copy its contents elsewhere"),
		changes[BackendRequest, None]("backends/undrain", Operate, "Cancel a drain"),
		changes[BackendRequest, None]("backends/remove", Destroy, "Remove a drained backend that is empty"),
	}
}

func queueRoutes() []Route {
	return []Route{
		asks[QueueRequest, QueueList]("cleanup-queue/list", Read, "Blobs that wait to be deleted or are being deleted"),
		asks[QueueRequest, QueueList]("pending-objects/list", Read, "Writes in progress, and those of silent writers"),
		asks[DeadRequest, DeadList]("dead/list", Read, "Dead letters, oldest first"),
		asks[DeadName, DeadDetail]("dead/show", Read, "One dead letter: what was tried, and what can be done"),
		changes[DeadRequest, Count]("dead/requeue", Operate, "Condemn dead letters again, due now"),
		changes[DeadRequest, Count]("dead/write-off", Destroy, "Remove dead letters whose bytes are gone"),
		asks[None, []EventTarget]("events/targets", Read, "The targets of events: what waits, and what failed"),
		asks[EventRequest, EventList]("events/list", Read, "Events of a target that wait, or dead letters"),
		changes[EventChoice, Count]("events/requeue", Operate, "Deliver dead letters of events again"),
		changes[EventChoice, Count]("events/drop", Destroy, "Remove dead letters of events"),
		asks[TrashRequest, TrashList]("trash/list", Read, "What can be restored"),
		changes[RestoreRequest, ObjectInfo]("trash/restore", Operate, "Put a trash entry back under its key; in place of another object: destroy"),
		changes[TrashRequest, Count]("trash/purge", Destroy, "Make trash entries due at once"),
	}
}

func accessRoutes() []Route {
	return []Route{
		asks[None, []Key]("keys/list", Read, "The access keys beside the root's, without their secrets"),
		changes[KeyRequest, NewKey]("keys/add", Destroy, "Add an access key for chosen buckets"),
		changes[KeyChange, Key]("keys/set", Destroy, "Change the times to live of what an access key writes"),
		changes[KeyName, None]("keys/remove", Destroy, "Remove an access key"),
		changes[None, None]("keys/forget-root", Destroy, "Remove the shared root key from the database if its sealing key is lost"),
		changes[None, SealedKeys]("keys/seal", Destroy, "Encrypt the secrets of access keys in the database with the first sealing key"),
		asks[None, []Token]("tokens/list", Read, "The tokens of this API, without their secrets"),
		changes[TokenRequest, NewToken]("tokens/add", Destroy, "Add a token of this API; its text is returned once"),
		changes[TokenName, None]("tokens/remove", Destroy, "Remove a token of this API, on all instances at once"),
		asks[None, Caller]("whoami", Read, "The name and role of the caller"),
	}
}

func planRoutes() []Route {
	return []Route{
		{
			Name: "plan", Role: Read, Summary: "What a destructive command would do now, item by item, as a file for apply",
			Request: reflect.TypeFor[PlanRequest](), Media: "application/x-ndjson",
		}, {
			Name: "apply", Role: Destroy, Query: map[string]string{"force": "1 accepts a plan that is too old"}, Summary: "Do what a plan says, as far as each item is still what it was",
			Request: reflect.TypeFor[ApplyRequest](), Response: reflect.TypeFor[ApplyResult](), Stream: true, Changes: true,
		},
	}
}

func openAPIRoutes() []Route {
	return []Route{{Name: "openapi.json", Role: Read, Summary: "This API, in OpenAPI 3.1", Media: "application/json"}}
}
