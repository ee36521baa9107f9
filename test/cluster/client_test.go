package cluster_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// lasting is how many objects of its own a client keeps, replaces and deletes.
const lasting = 20

// client works as one user does, one request after the other, on keys of its own.
type client struct {
	*world
	number  int
	patient bool
	random  *rand.Rand
	keys    int
	lasting []*entry
	expires []*entry
	retired []*entry // whose last write has an unknown outcome: never written again
}

func newClient(w *world, number int, random *rand.Rand) *client {
	c := &client{world: w, number: number, patient: number < patients, random: random}
	for range lasting {
		c.lasting = append(c.lasting, c.newEntry("keeps"))
	}
	return c
}

func (c *client) newEntry(kind string) *entry {
	c.keys++
	return &entry{key: fmt.Sprintf("%s/%02d/%06d", kind, c.number, c.keys), may: []*version{nil}}
}

// run works until ctx ends; it fails when a read finds what must not be.
func (c *client) run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := c.step(context.WithoutCancel(ctx))
		if isMistake(err) {
			return err
		}
		if err != nil {
			pause(ctx, time.Duration(50+c.random.IntN(100))*time.Millisecond)
		}
	}
	return nil
}

// step does one thing.
func (c *client) step(ctx context.Context) error {
	if c.patient {
		return c.patientStep(ctx)
	}
	if *soaks > 0 && c.random.IntN(4) == 0 {
		return c.oddStep(ctx)
	}
	i := c.random.IntN(lasting)
	switch p := c.random.IntN(100); {
	case p < 76:
		e := c.newEntry("expires")
		err := c.put(ctx, e, expiring)
		if e.acked() {
			c.expires = append(c.expires, e)
			c.counts.expiring.Add(1)
		}
		return err
	case p < 84:
		err := c.put(ctx, c.lasting[i], 0)
		c.renew(i)
		return err
	case p < 88:
		err := c.remove(ctx, i, c.random.IntN(lasting))
		return err
	case p < 94 && len(c.expires) > 0:
		return c.read(ctx, c.expires[c.random.IntN(len(c.expires))])
	default:
		return c.read(ctx, c.lasting[i])
	}
}

// renew gives up the key of a lasting object whose last write is unknown: that
// write may still be done, later than all that would follow.
func (c *client) renew(i int) {
	if e := c.lasting[i]; e.unknown {
		c.retired = append(c.retired, e)
		c.lasting[i] = c.newEntry("keeps")
	}
}

// node draws an instance that serves, hardly ever one that is away.
func (c *client) node() *s3.Client {
	nodes := c.serving()
	for range 20 {
		if n := nodes[c.random.IntN(len(nodes))]; !n.away.Load() {
			return n.client()
		}
	}
	return nodes[c.random.IntN(len(nodes))].client()
}

// body draws bytes: most are those of other objects too.
func (c *client) body() (seed uint64, size int) {
	switch p := c.random.IntN(100); {
	case p < 80:
		n := c.random.IntN(500)
		return uint64(n), 900 + n
	case p < 99:
		return c.random.Uint64() | 1<<32, 1024
	}
	return c.random.Uint64() | 1<<32, 150_000 // streamed
}

func bytesOf(seed uint64, size int) []byte {
	var b [32]byte
	for i := range 8 {
		b[i] = byte(seed >> (8 * i))
	}
	data := make([]byte, size)
	_, _ = rand.NewChaCha8(b).Read(data) // never fails
	return data
}

// put stores a new version under the key.
func (c *client) put(ctx context.Context, e *entry, ttl time.Duration) error {
	seed, size := c.body()
	e.n++
	v := (&version{n: e.n}).of(piece{seed, size})
	data := v.bytes()
	in := &s3.PutObjectInput{
		Bucket: aws.String(bucket), Key: &e.key, Body: bytes.NewReader(data), Metadata: map[string]string{"n": strconv.Itoa(v.n)},
	}
	if ttl > 0 {
		in.Metadata["ttl"] = ttl.String()
		v.from = now().Add(ttl)
	}
	_, err := c.node().PutObject(ctx, in)
	if ttl > 0 {
		v.to = now().Add(ttl)
	}
	return c.wrote("put "+e.key, err, e, v)
}

// remove deletes lasting objects, one by itself or two in one request.
func (c *client) remove(ctx context.Context, i, k int) error {
	one, two := c.lasting[i], c.lasting[k]
	var err error
	if one == two {
		_, err = c.node().DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: &one.key})
	} else {
		var out *s3.DeleteObjectsOutput
		out, err = c.node().DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: aws.String(bucket), Delete: &types.Delete{
			Objects: []types.ObjectIdentifier{{Key: &one.key}, {Key: &two.key}},
		}})
		if err == nil && len(out.Deleted) != 2 {
			err = fmt.Errorf("%d of 2 deleted, errors %v", len(out.Deleted), out.Errors)
		}
	}
	err = errors.Join(c.wrote("delete "+one.key, err, one, nil), c.wrote("delete "+two.key, err, two, nil))
	c.renew(i)
	c.renew(k)
	return err
}

// wrote records the outcome of a write of v, nil for a deletion.
func (c *client) wrote(what string, err error, e *entry, v *version) error {
	switch code := status(err); {
	case err == nil:
		c.counts.done.Add(1)
		e.may = []*version{v}
	case code >= 400 && code < 500:
		c.counts.refused.Add(1)
		return &mistake{fmt.Errorf("%s was refused: %w", what, err)}
	default:
		c.counts.unknown.Add(1)
		e.may, e.unknown = append(e.may, v), true
	}
	return err
}

// read gets an object and compares it with what may be there.
func (c *client) read(ctx context.Context, e *entry) error {
	found, err := c.get(ctx, c.node(), place{bucket, e.key})
	if err != nil {
		c.counts.missed.Add(1)
		return err
	}
	c.counts.read.Add(1)
	return e.fits(found)
}

// place is where an object lies.
type place struct{ bucket, key string }

// get reads an object through an instance; an error says nothing about it.
func (c *client) get(ctx context.Context, from *s3.Client, p place) (seen, error) {
	s := seen{from: now()}
	out, err := from.GetObject(ctx, &s3.GetObjectInput{Bucket: &p.bucket, Key: &p.key})
	var missing *types.NoSuchKey
	switch {
	case errors.As(err, &missing):
		s.to = now()
		return s, nil
	case err != nil:
		return s, err
	}
	defer out.Body.Close()
	data, err := io.ReadAll(out.Body)
	if err != nil {
		return s, err
	}
	s.to, s.there, s.sum = now(), true, sha256.Sum256(data)
	s.n, err = strconv.Atoi(out.Metadata["n"])
	return s, err
}
