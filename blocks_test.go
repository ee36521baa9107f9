package lethe_test

import (
	"hash/crc32"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lethe-storage/lethe"
)

// TestBlockHash: the sums are those of the blocks, however the bytes are written.
func TestBlockHash(t *testing.T) {
	table := crc32.MakeTable(crc32.Castagnoli)
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "data")
		size := rapid.Int64Range(1, 60).Draw(t, "size")
		h := lethe.NewBlockHash(size)
		for rest := data; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if wrote, err := h.Write(rest[:n]); wrote != n || err != nil {
				t.Fatal(wrote, err)
			}
			rest = rest[n:]
		}
		var want []uint32
		for block := range slices.Chunk(data, int(size)) {
			want = append(want, crc32.Checksum(block, table))
		}
		if h.CRC32C() != crc32.Checksum(data, table) {
			t.Fatal("CRC of all")
		}
		have := h.Sums()
		if err := have.Check(int64(len(data))); err != nil {
			t.Fatal(err)
		}
		switch {
		case len(want) <= 1 && (have.Size != 0 || have.Sums != nil):
			t.Fatal("one block has sums", have)
		case len(want) > 1 && (have.Size != size || !slices.Equal(have.Sums, want)):
			t.Fatal(have, want)
		case len(want) > 1 && have.Check(int64(len(data))+size) == nil:
			t.Fatal("too few sums are taken for enough")
		}
	})
}
