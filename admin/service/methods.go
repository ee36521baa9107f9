package service

import (
	"maps"
	"net/http"
	"reflect"

	"github.com/lethe-storage/lethe/admin/api"
)

// methods are how the routes are served, by their names.
func methods() map[string]served {
	all := bucketMethods()
	maps.Copy(all, storeMethods())
	return all
}

// bucketMethods are those about buckets and objects.
func bucketMethods() map[string]served {
	return map[string]served{
		"objects/list":       asked((*Service).ListObjects),
		"usage":              asked((*Service).Usage),
		"usage/buckets":      asked((*Service).BucketUsages),
		"forecast":           asked((*Service).Forecast),
		"forecast/day":       asked((*Service).ForecastDay),
		"buckets/list":       asked((*Service).Buckets),
		"buckets/set":        changed((*Service).SetBucket, (*Service).bucketState),
		"lifecycle/list":     asked((*Service).Lifecycles),
		"lifecycle/get":      asked((*Service).ShowLifecycle),
		"lifecycle/set":      changed((*Service).SetLifecycle, (*Service).lifecycleState),
		"lifecycle/simulate": reported((*Service).SimulateLifecycle),
		"ttl/show":           asked((*Service).ShowTTL),
		"holds/list":         asked((*Service).ListHolds),
		"holds/add":          changed((*Service).AddHold, (*Service).holdState),
		"holds/remove":       changed((*Service).RemoveHold, (*Service).holdState),
		"limits/list":        asked((*Service).ListLimits),
		"limits/allow":       changed((*Service).AllowBeyondLimit, (*Service).limitState),
		"ttl/set":            changed((*Service).SetTTL, (*Service).ttlState),
	}
}

func storeMethods() map[string]served {
	return map[string]served{
		"status":               asked((*Service).Status),
		"explain":              asked((*Service).Explain),
		"blobs/objects":        asked((*Service).BlobObjects),
		"receipts/list":        asked((*Service).Receipts),
		"receipts/verify":      asked((*Service).VerifyReceipts),
		"clock/show":           asked((*Service).ShowClock),
		"clock/reset":          changed((*Service).ResetClock, (*Service).clockState),
		"check":                reported((*Service).Check),
		"reconcile":            worked((*Service).Reconcile),
		"import":               worked((*Service).Import),
		"reconcile/last":       asked((*Service).LastReconcile),
		"reclaim":              worked((*Service).Reclaim),
		"backends/list":        asked((*Service).ListBackends),
		"backends/accept":      changed((*Service).AcceptBackend, (*Service).backendState),
		"backends/hold":        changed((*Service).HoldBackend, (*Service).backendState),
		"backends/drain":       changed((*Service).DrainBackend, (*Service).backendState),
		"backends/undrain":     changed((*Service).UndrainBackend, (*Service).backendState),
		"backends/remove":      changed((*Service).RemoveBackend, (*Service).backendState),
		"cleanup-queue/list":   asked((*Service).CleanupQueue),
		"pending-objects/list": asked((*Service).PendingObjects),
		"dead/list":            asked((*Service).Dead),
		"dead/show":            asked((*Service).ShowDead),
		"dead/requeue":         changed((*Service).Requeue, (*Service).deadState),
		"dead/write-off":       changed((*Service).WriteOff, (*Service).deadState),
		"events/targets":       asked((*Service).EventTargets),
		"events/list":          asked((*Service).Events),
		"events/requeue":       changed((*Service).RequeueEvents, (*Service).eventState),
		"events/drop":          changed((*Service).DropEvents, (*Service).eventState),
		"trash/list":           asked((*Service).Trash),
		"trash/restore":        changed((*Service).RestoreTrash, (*Service).trashState),
		"trash/purge":          changed((*Service).PurgeTrash, (*Service).trashesState),
		"audit/list":           asked((*Service).AuditLines),
		"keys/list":            asked((*Service).Keys),
		"keys/add":             changed((*Service).AddKey, nil),
		"keys/set":             changed((*Service).SetKey, (*Service).changedKeyState),
		"keys/remove":          changed((*Service).RemoveKey, (*Service).keyState),
		"keys/forget-root":     changed((*Service).ForgetRoot, nil),
		"keys/seal":            changed((*Service).SealKeys, nil),
		"tokens/list":          asked((*Service).Tokens),
		"tokens/add":           changed((*Service).AddToken, nil),
		"tokens/remove":        changed((*Service).RemoveToken, (*Service).tokenState),
		"whoami":               asked((*Service).WhoAmI),

		"backup":       {request: reflect.TypeFor[api.None](), changes: true, serve: raw((*Service).backup)},
		"plan":         {request: reflect.TypeFor[api.PlanRequest](), serve: raw((*Service).plan)},
		"apply":        {request: reflect.TypeFor[api.ApplyRequest](), response: reflect.TypeFor[api.ApplyResult](), stream: true, changes: true, serve: raw((*Service).apply)},
		"openapi.json": {serve: raw((*Service).openAPI)},
	}
}

// raw serves a route by a method that reads and writes the bodies itself, and leaves the
// audit line.
func raw(fn func(*Service, http.ResponseWriter, *http.Request)) func(*Service, string) http.HandlerFunc {
	return func(s *Service, _ string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { fn(s, w, r) }
	}
}

func (*Service) openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	// A client that has disconnected needs no response.
	_, _ = w.Write(api.OpenAPI())
}
