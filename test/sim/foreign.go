package sim

import "slices"

// settlers lets things of somebody else lie on each backend: beside the folders of
// this store and, where backends are compared with the ledger, in one of them.
func (w *World) settlers() {
	w.foreign = []string{"somebody/else"}
	if w.reconciled() {
		w.foreign = append(w.foreign, string(w.store)+"/00/somebody's")
	}
	for _, id := range w.backends() {
		for _, key := range w.foreign {
			w.disks[id].Set(key, []byte(key))
		}
	}
}

// foreigner says that the key is somebody else's.
func (w *World) foreigner(key string) bool { return slices.Contains(w.foreign, key) }

// untouched: foreign things are left alone (docs/protocol.md, rule 15).
func (w *World) untouched() error {
	for _, id := range w.backends() {
		for _, key := range w.foreign {
			if data, ok := w.disks[id].Bytes(key); !ok || string(data) != key {
				return broken("%s on %s, which is somebody else's, was touched", key, id)
			}
		}
	}
	return nil
}
