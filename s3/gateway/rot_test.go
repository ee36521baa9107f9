package gateway_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager/types"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/s3"
)

// A client that downloads by parallel ranges or parts, and verifies nothing
// itself, gets an error and no wrong byte of a damaged object, and all of it if
// another copy is sound.
func TestParallelDownloadsOfRot(t *testing.T) {
	body := pattern(24 << 20)
	for name, parts := range map[string]int{"whole": 1, "multipart": 3} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			w.rotten.Store(s.bucket, func(s3.Failure) {})
			s.uploadIn(parts, "k", body)
			ids, err := s.copies("k")
			s.must(err)
			if len(ids) != parts {
				t.Fatalf("%d blobs, want %d", len(ids), parts)
			}
			s.rot(ids[len(ids)/2])
			for how, download := range s.downloads("k") {
				if got, err := download(); err == nil {
					t.Errorf("%s: a rotten object was downloaded, %d bytes", how, len(got))
				} else if bytes.Contains(got, []byte(rot)) {
					t.Errorf("%s: wrong bytes arrived", how)
				}
			}
			s.joined(parts, "k", body, ids)
			for how, download := range s.downloads("k") {
				if got, err := download(); err != nil || !bytes.Equal(got, body) {
					t.Errorf("%s: %d bytes, or others, beside a sound copy: %v", how, len(got), err)
				}
			}
		})
	}
}

// A failure of which the client receives less says which request it was.
func TestAFailureNamesItsRequest(t *testing.T) {
	s := newSite(t)
	told := make(chan s3.Failure, 100)
	w.rotten.Store(s.bucket, func(f s3.Failure) { told <- f })
	s.put("k", string(pattern(100<<10)), nil)
	ids, err := s.copies("k")
	s.must(err)
	s.rot(ids[0])
	_, err = s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.fails(err, 500, "InternalError")
	if f := <-told; f.Operation != "GetObject" || f.ID == "" || f.Key != "k" {
		t.Errorf("the failure is of %q, %q %s/%s", f.Operation, f.ID, f.Bucket, f.Key)
	}
}

// rot does not occur in bodies of tests.
const rot = "\xff\xff\xff"

// rot damages the middle of a blob.
func (s *site) rot(id lethe.ID) {
	s.t.Helper()
	who, err := w.db.Identity(s.ctx)
	s.must(err)
	key := lethe.BlobKey(who.ID, id)
	data, ok := w.disk.Bytes(key)
	if !ok {
		s.t.Fatalf("no bytes of blob %s", id)
	}
	data = bytes.Clone(data)
	copy(data[len(data)/2:], rot)
	w.disk.Set(key, data)
}

// copies returns the blobs that an object is read from, the preferred of each
// segment first.
func (s *site) copies(key string) (ids []lethe.ID, err error) {
	res, err := w.db.Resolve(s.ctx, s.bucket, key)
	for _, seg := range res.Segments {
		for _, b := range seg.Blobs {
			ids = append(ids, b.ID)
		}
	}
	return ids, err
}

// uploadIn stores an object in several parts, or as a whole.
func (s *site) uploadIn(parts int, key string, body []byte) {
	s.t.Helper()
	if parts == 1 {
		s.put(key, string(body), nil)
		return
	}
	u, size := s.create(key, nil), len(body)/parts
	for i := range parts {
		u.part(int32(i+1), body[i*size:(i+1)*size])
	}
	u.complete()
}

// joined uploads an object again while its blobs are suspect, and then clears
// them: they are preferred, and the new ones come next.
func (s *site) joined(parts int, key string, body []byte, ids []lethe.ID) {
	s.t.Helper()
	_, err := w.db.MarkSuspect(s.ctx, ids, "test")
	s.must(err)
	s.uploadIn(parts, key, body)
	_, err = w.db.MarkSound(s.ctx, ids, 0)
	s.must(err)
	now, err := s.copies(key)
	s.must(err)
	if len(now) != 2*parts || now[0] != ids[0] {
		s.t.Fatalf("the copies are %v, of which %v were first", now, ids)
	}
}

// downloads are the ways in which the SDK downloads an object in parallel.
func (s *site) downloads(key string) map[string]func() ([]byte, error) {
	out := map[string]func() ([]byte, error){}
	for _, by := range []types.GetObjectType{types.GetObjectParts, types.GetObjectRanges} {
		manager := transfermanager.New(s.Client, func(o *transfermanager.Options) {
			o.GetObjectType, o.DisableChecksumValidation, o.PartBodyMaxRetries = by, true, 1
		})
		out["download by "+string(by)] = func() ([]byte, error) {
			to := types.NewWriteAtBuffer(nil)
			_, err := manager.DownloadObject(s.ctx, &transfermanager.DownloadObjectInput{Bucket: &s.bucket, Key: aws.String(key), WriterAt: to})
			return to.Bytes(), err
		}
		out["get by "+string(by)] = func() ([]byte, error) {
			got, err := manager.GetObject(s.ctx, &transfermanager.GetObjectInput{Bucket: &s.bucket, Key: aws.String(key)})
			if err != nil {
				return nil, err
			}
			data, err := io.ReadAll(got.Body)
			if closer, ok := got.Body.(io.Closer); ok {
				err = errors.Join(err, closer.Close())
			}
			return data, err
		}
	}
	return out
}
