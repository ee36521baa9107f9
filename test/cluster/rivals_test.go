package cluster_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/test/linearizable"
)

const (
	rivals    = 6 // clients that write the same keys
	rivalKeys = 4 // at any time
	rivalTime = 10 * time.Second
	rivalry   = "rivals" // their bucket
	checkTime = 30 * time.Second
)

// rival is one of the clients of a contest.
func (w *world) rival(ctx context.Context, number int) {
	c := &client{world: w, number: number, random: rand.New(rand.NewPCG(*seed, uint64(1000+number)))}
	for ctx.Err() == nil {
		key, value := w.contest.Next(c.random.IntN(rivalKeys))
		o := linearizable.Op{Client: number, Call: now()}
		err := c.compete(context.WithoutCancel(ctx), key, value, &o)
		o.Return, o.Unknown = now(), err != nil
		w.contest.Record(key, o)
		if err != nil {
			pause(ctx, time.Duration(50+c.random.IntN(100))*time.Millisecond)
		}
	}
}

// compete does one operation and says in o what it was and what came of it; an error
// leaves that open.
func (c *client) compete(ctx context.Context, key string, value int64, o *linearizable.Op) error {
	at := c.node()
	switch p := c.random.IntN(100); {
	case p < 40:
		o.Kind = linearizable.Read
		found, err := c.get(ctx, at, place{rivalry, key})
		if found.there {
			o.Value = int64(found.n)
			if err == nil && found.sum != sha256.Sum256(contribution(o.Value)) {
				c.t.Errorf("%s: value %d has other bytes than were put", key, o.Value)
			}
		}
		return err
	case p < 70:
		o.Kind, o.Value = linearizable.Write, value
		_, err := at.PutObject(ctx, putOf(key, value))
		return err
	case p < 85:
		o.Kind = linearizable.Write
		_, err := at.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(rivalry), Key: &key})
		return err
	}
	o.Kind, o.Value = linearizable.Create, value
	in := putOf(key, value)
	in.IfNoneMatch = aws.String("*")
	_, err := at.PutObject(ctx, in)
	if status(err) == 412 {
		o.Refused, err = true, nil
	}
	return err
}

// contribution is the bytes of a value. Several values share them, so that their
// content lives while any of these does.
func contribution(value int64) []byte { return bytesOf(uint64(value%7), 700) }

func putOf(key string, value int64) *s3.PutObjectInput {
	return &s3.PutObjectInput{
		Bucket: aws.String(rivalry), Key: &key, Body: bytes.NewReader(contribution(value)),
		Metadata: map[string]string{"n": strconv.FormatInt(value, 10)},
	}
}

// compete lets all rivals work until ctx ends, and renews their keys now and then.
func (w *world) compete(ctx context.Context, wg *sync.WaitGroup) {
	for i := range rivals {
		wg.Go(func() { w.rival(ctx, i) })
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			pause(ctx, rivalTime)
			w.contest.Renew()
		}
	})
}

// checkContest reads every key once more through each instance that serves, and
// checks the histories.
func (w *world) checkContest(ctx context.Context) error {
	c := &client{world: w, number: rivals}
	for _, key := range w.contest.Keys() {
		for _, n := range w.serving() {
			o := linearizable.Op{Client: rivals, Call: now()}
			found, err := w.patiently(ctx, c, n, place{rivalry, key})
			if err != nil {
				return fmt.Errorf("read %s at the end: %w", key, err)
			}
			if o.Return = now(); found.there {
				o.Value = int64(found.n)
			}
			w.contest.Record(key, o)
		}
	}
	n, ops, err := w.contest.Verdict(checkTime)
	w.t.Logf("%d operations of %d clients on %d shared keys: linearizable: %t", ops, rivals, n, err == nil)
	return err
}
