package sim

import (
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
)

// inMemory is the fast ledger.
type inMemory struct{ *memledger.DB }

// NewMemory makes the ledger in memory, which runs use unless they name another.
func NewMemory(o ledger.Options) (Ledger, error) { return inMemory{memledger.New(o)}, nil }

// Close does nothing: the ledger is memory.
func (inMemory) Close() error { return nil }

// Inspect fills v with every row.
func (m inMemory) Inspect(v *View) error {
	names := map[string]string{}
	for b := range m.EachBucket() {
		names[string(b.ID)] = b.Name
		v.Buckets = append(v.Buckets, ledger.BucketTotal{ID: b.ID, Name: b.Name, Objects: b.Objects, Bytes: b.Bytes, Holds: b.Holds})
	}
	for x := range m.EachObject() {
		o := *x
		o.Bucket = names[string(o.BucketID)]
		v.Objects = append(v.Objects, o)
	}
	for x := range m.EachTrash() {
		v.Trash = append(v.Trash, *x)
	}
	for x := range m.EachContent() {
		v.Contents = append(v.Contents, *x)
	}
	for x := range m.EachBody() {
		v.Bodies = append(v.Bodies, x)
	}
	for x := range m.EachBlob() {
		v.Blobs = append(v.Blobs, *x)
	}
	for x := range m.EachUpload() {
		v.Uploads = append(v.Uploads, *x)
	}
	for x := range m.EachPart() {
		v.Parts = append(v.Parts, *x)
	}
	for t := range m.EachTotal() {
		v.Totals = append(v.Totals, t)
	}
	for g := range m.EachLimit() {
		v.Limits = append(v.Limits, *g)
	}
	v.Receipts = m.EachReceipt()
	return nil
}
