package gateway

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"github.com/versity/versitygw/s3api/utils"

	"github.com/lethe-storage/lethe/s3"
)

// TestCRC64MatchesVersitygw checks the fast sum against versitygw's reader, at
// sizes around the start of the fast path and in pieces of any size.
func TestCRC64MatchesVersitygw(t *testing.T) {
	body := bytes.Repeat([]byte("Lethe forgets. \x00\xff"), 1<<10)
	for _, n := range []int{0, 1, 7, 8, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, len(body)} {
		theirs, err := utils.NewHashReader(bytes.NewReader(body[:n]), "", utils.HashTypeCRC64NVME)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, theirs); err != nil {
			t.Fatal(err)
		}
		for name, in := range map[string]io.Reader{"whole": bytes.NewReader(body[:n]), "bytes": iotest.OneByteReader(bytes.NewReader(body[:n]))} {
			ours := s3.NewCRC64(in, theirs.Sum())
			if _, err := io.Copy(io.Discard, ours); err != nil || ours.Sum() != theirs.Sum() {
				t.Errorf("%d bytes, %s: %s, not %s (%v)", n, name, ours.Sum(), theirs.Sum(), err)
			}
		}
	}
}
