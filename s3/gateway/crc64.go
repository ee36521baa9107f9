package gateway

import (
	"encoding/base64"
	"errors"
	"hash"
	"io"

	"github.com/minio/crc64nvme"
	"github.com/versity/versitygw/s3err"
)

// hashed computes a checksum of what is read from it, in base64.
type hashed interface {
	io.Reader
	// Sum is the checksum of what was read so far.
	Sum() string
}

// crc64Reader computes the CRC-64/NVME of a body with the instructions that
// processors have for it: nearly every body is given one, and the table of the
// standard library, which versitygw's reader uses, takes 50 times as long.
type crc64Reader struct {
	r    io.Reader
	hash hash.Hash64
	want string // empty: any
}

func newCRC64(r io.Reader, want string) *crc64Reader {
	return &crc64Reader{r: r, hash: crc64nvme.New(), want: want}
}

// Read implements io.Reader: a body that ends with another checksum than is wanted
// fails with BadDigest. One that was cut off ends here too, as with versitygw's
// readers.
func (c *crc64Reader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.hash.Write(p[:n])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	if err == io.EOF && c.want != "" && c.Sum() != c.want {
		err = s3err.GetChecksumBadDigestErr(crc64)
	}
	return n, err
}

// Sum implements hashed.
func (c *crc64Reader) Sum() string { return base64.StdEncoding.EncodeToString(c.hash.Sum(nil)) }
