package gateway

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/s3api/middlewares"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
)

// crc64 is the checksum of objects for which the client chose none, as on S3.
const crc64 = types.ChecksumAlgorithmCrc64nvme

// smallestRead is the smallest read, in bytes: versitygw's readers of chunked
// bodies make no progress below a chunk's header.
const smallestRead = 4 << 10

var bodyBuffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, smallestRead) }}

// given are the checksums in a request's headers, by algorithm; nil if missing.
type given [10]struct {
	algorithm types.ChecksumAlgorithm
	value     *string
}

// first returns the first one that is set.
func (g given) first() (types.ChecksumAlgorithm, string) {
	for _, c := range g {
		if c.value != nil {
			return c.algorithm, strings.Clone(*c.value)
		}
	}
	return "", ""
}

// count returns how many are set, and their names.
func (g given) count() (n int, text string) {
	var b strings.Builder
	for _, c := range g {
		if c.value != nil && *c.value != "" {
			n++
			fmt.Fprintf(&b, "%s:%s;", c.algorithm, *c.value)
		}
	}
	return n, b.String()
}

// of returns the one of an algorithm.
func (g given) of(a types.ChecksumAlgorithm) *string {
	for _, c := range g {
		if c.algorithm == a {
			return c.value
		}
	}
	return nil
}

// sums computes the checksum of a body as it passes.
type sums struct {
	algorithm types.ChecksumAlgorithm
	trailer   middlewares.ChecksumReader // the client sends the value at the end
	hash      s3.ChecksumReader
	body      *bodyReader
	reader    io.Reader // what the store reads
}

// newSums wraps a body. The checksum is that of the trailer if there is one,
// else the given one, which the body has to match, else that of the fallback
// algorithm.
func (r *request) newSums(body io.Reader, g given, fallback types.ChecksumAlgorithm) (*sums, error) {
	buffer := bodyBuffers.Get().(*bufio.Reader)
	buffer.Reset(body)
	s := &sums{body: &bodyReader{r: buffer, req: r}}
	s.reader = s.body
	if t, ok := body.(middlewares.ChecksumReader); ok && t.Algorithm() != "" {
		s.trailer, s.algorithm = t, types.ChecksumAlgorithm(strings.ToUpper(t.Algorithm()))
		return s, nil
	}
	algorithm, value := g.first()
	if algorithm == "" {
		algorithm = fallback
	}
	if algorithm == "" {
		algorithm = crc64
	}
	h, err := newHash(s.reader, algorithm, value)
	s.hash, s.algorithm, s.reader = h, algorithm, h
	return s, err
}

func newHash(r io.Reader, a types.ChecksumAlgorithm, value string) (s3.ChecksumReader, error) {
	if a == crc64 {
		return s3.NewCRC64(r, value), nil
	}
	h, err := utils.NewHashReader(r, value, utils.HashType(strings.ToLower(string(a))))
	if err != nil {
		return nil, fmt.Errorf("s3: checksum %s: %w", a, err)
	}
	return h, nil
}

// sum returns the checksum, or the error of the body. It is called after the
// body's end.
func (s *sums) sum() (string, error) {
	if s.body.err != nil {
		return "", s.body.err
	}
	if s.trailer != nil {
		return strings.Clone(s.trailer.Checksum()), nil
	}
	return s.hash.Sum(), nil
}

// finish adds the body's checksum to an object's attributes.
func (s *sums) finish(a *ledger.Attrs) error {
	sum, err := s.sum()
	if err != nil {
		return err
	}
	a.Checksums = map[string]string{string(s.algorithm): sum}
	a.ChecksumType = string(types.ChecksumTypeFullObject)
	return nil
}

// errCutOff reports that the connection ended in the middle of the body.
var errCutOff = errors.New("s3: the body was cut off")

// bodyReader keeps the error that ended the body: versitygw's readers take it
// for a regular end.
type bodyReader struct {
	req *request // measures the time spent waiting for bytes
	err error

	mu sync.Mutex    // a backend that was given up may still be reading
	r  *bufio.Reader // nil after release
}

// release ends reading, and returns the buffer unless it is in use.
func (b *bodyReader) release() {
	if !b.mu.TryLock() {
		return
	}
	defer b.mu.Unlock()
	b.r.Reset(nil)
	bodyBuffers.Put(b.r)
	b.r = nil
}

func (b *bodyReader) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.r == nil {
		return 0, errCutOff
	}
	if b.err != nil {
		return 0, b.err
	}
	at := lethe.Awake{}.Now()
	n, err := b.read(p)
	b.req.received.Add(int64(lethe.Awake{}.Now().Sub(at)))
	if err != nil && err != io.EOF {
		var known s3err.S3Error
		if !errors.As(err, &known) {
			err = fmt.Errorf("%w: %w", errCutOff, err)
		}
		b.err = err
	}
	return n, err
}

// read recovers from panics of versitygw's readers, which a chunk of negative
// size causes. It repeats empty reads: a chunk's header in small pieces yields
// none, and callers would give up.
func (b *bodyReader) read(p []byte) (n int, err error) {
	defer func() {
		if recover() != nil {
			n, err = 0, s3err.GetAPIError(s3err.ErrIncompleteBody)
		}
	}()
	for n == 0 && err == nil && len(p) > 0 {
		n, err = b.r.Read(p)
	}
	return n, err
}

// checksumsOf returns stored checksums in versitygw's form.
func checksumsOf(stored map[string]string, kind string) s3response.Checksum {
	var c s3response.Checksum
	for name, value := range stored {
		c.Algorithm = types.ChecksumAlgorithm(name)
		if value != "" {
			setChecksum(&c, c.Algorithm, value)
		}
	}
	if len(stored) > 0 {
		c.Type = types.ChecksumType(kind)
	}
	return c
}

func setChecksum(c *s3response.Checksum, a types.ChecksumAlgorithm, value string) {
	for _, f := range []struct {
		algorithm types.ChecksumAlgorithm
		field     **string
	}{
		{types.ChecksumAlgorithmCrc32, &c.CRC32}, {types.ChecksumAlgorithmCrc32c, &c.CRC32C},
		{types.ChecksumAlgorithmSha1, &c.SHA1}, {types.ChecksumAlgorithmSha256, &c.SHA256},
		{crc64, &c.CRC64NVME}, {types.ChecksumAlgorithmSha512, &c.SHA512},
		{types.ChecksumAlgorithmMd5, &c.MD5}, {types.ChecksumAlgorithmXxhash64, &c.XXHASH64},
		{types.ChecksumAlgorithmXxhash3, &c.XXHASH3}, {types.ChecksumAlgorithmXxhash128, &c.XXHASH128},
	} {
		if f.algorithm == a {
			*f.field = &value
		}
	}
}

// inAttributes returns the form for GetObjectAttributes, where S3 omits the
// number of parts in a composite checksum.
func inAttributes(c s3response.Checksum) *types.Checksum {
	alone := func(sum *string) *string {
		if sum == nil {
			return nil
		}
		value, _, _ := strings.Cut(*sum, "-")
		return &value
	}
	return &types.Checksum{
		ChecksumCRC32: alone(c.CRC32), ChecksumCRC32C: alone(c.CRC32C), ChecksumSHA1: alone(c.SHA1), ChecksumSHA256: alone(c.SHA256),
		ChecksumCRC64NVME: alone(c.CRC64NVME), ChecksumSHA512: alone(c.SHA512), ChecksumMD5: alone(c.MD5),
		ChecksumXXHASH64: alone(c.XXHASH64), ChecksumXXHASH3: alone(c.XXHASH3), ChecksumXXHASH128: alone(c.XXHASH128),
		ChecksumType: c.Type,
	}
}
