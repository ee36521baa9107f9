package s3

import (
	"encoding/base64"
	"errors"
	"hash"
	"io"
	"net/http"

	"github.com/minio/crc64nvme"
)

// ChecksumReader computes a checksum of the bytes read from it, in base64.
type ChecksumReader interface {
	io.Reader
	// Sum returns the checksum of the bytes read so far.
	Sum() string
}

// crc64Reader computes the CRC-64/NVME of a body with processor instructions.
// Nearly every body gets one, and the table of the standard library takes 50
// times as long.
type crc64Reader struct {
	r    io.Reader
	hash hash.Hash64
	want string // empty: any
}

// NewCRC64 returns a reader of r that computes its CRC-64/NVME. It fails at the
// end if that is not want; an empty want accepts any.
func NewCRC64(r io.Reader, want string) ChecksumReader {
	return &crc64Reader{r: r, hash: crc64nvme.New(), want: want}
}

// Read implements io.Reader. A body with another checksum than the wanted one
// fails with BadDigest, an Error. The check also runs where the body was cut
// off.
func (c *crc64Reader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.hash.Write(p[:n])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	if err == io.EOF && c.want != "" && c.Sum() != c.want {
		err = &Error{Code: "BadDigest", Message: "The CRC64NVME you specified did not match the calculated checksum.", Status: http.StatusBadRequest}
	}
	return n, err
}

// Sum implements ChecksumReader.
func (c *crc64Reader) Sum() string { return base64.StdEncoding.EncodeToString(c.hash.Sum(nil)) }
