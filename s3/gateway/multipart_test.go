package gateway_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/object"
)

// upload is an open multipart upload of a test.
type upload struct {
	*site
	key, id string
	sums    bool // the upload was opened with checksums
	mu      sync.Mutex
	parts   []types.CompletedPart
}

func (s *site) create(key string, change func(*awss3.CreateMultipartUploadInput)) *upload {
	s.t.Helper()
	in := &awss3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &key}
	if change != nil {
		change(in)
	}
	out, err := s.CreateMultipartUpload(s.ctx, in)
	s.must(err)
	return &upload{site: s, key: key, id: *out.UploadId, sums: in.ChecksumAlgorithm != ""}
}

func (u *upload) part(number int32, data []byte) {
	u.t.Helper()
	out, err := u.UploadPart(u.ctx, &awss3.UploadPartInput{
		Bucket: &u.bucket, Key: &u.key, UploadId: &u.id, PartNumber: &number, Body: bytes.NewReader(data),
	})
	u.must(err)
	done := types.CompletedPart{PartNumber: &number, ETag: out.ETag}
	if u.sums {
		done.ChecksumCRC32 = out.ChecksumCRC32
	}
	u.add(done)
}

func (u *upload) add(p types.CompletedPart) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.parts = append(u.parts, p)
}

func (u *upload) input() *awss3.CompleteMultipartUploadInput {
	slices.SortFunc(u.parts, func(a, b types.CompletedPart) int { return int(*a.PartNumber - *b.PartNumber) })
	return &awss3.CompleteMultipartUploadInput{
		Bucket: &u.bucket, Key: &u.key, UploadId: &u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
	}
}

func (u *upload) complete() *awss3.CompleteMultipartUploadOutput {
	u.t.Helper()
	out, err := u.CompleteMultipartUpload(u.ctx, u.input())
	u.must(err)
	return out
}

// The checksums of parts are returned if the client chose a checksum, even the
// default one.
func TestChecksumsOfPartsByChoice(t *testing.T) {
	s := newSite(t)
	for name, choose := range map[string]func(*awss3.CreateMultipartUploadInput){
		"chosen": func(in *awss3.CreateMultipartUploadInput) {
			in.ChecksumAlgorithm, in.ChecksumType = types.ChecksumAlgorithmCrc64nvme, types.ChecksumTypeFullObject
		},
		"not chosen": nil,
	} {
		c := client(root, func(o *awss3.Options) { o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired })
		s.Client = c
		in := &awss3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &name}
		if choose != nil {
			choose(in)
		}
		made, err := s.CreateMultipartUpload(s.ctx, in)
		s.must(err)
		var parts []types.CompletedPart
		var first *string
		for n := int32(1); n <= 2; n++ {
			out, err := s.UploadPart(s.ctx, &awss3.UploadPartInput{
				Bucket: &s.bucket, Key: &name, UploadId: made.UploadId, PartNumber: &n, Body: bytes.NewReader(pattern(minPart)),
				ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme,
			})
			s.must(err)
			part := types.CompletedPart{PartNumber: &n, ETag: out.ETag}
			if first = out.ChecksumCRC64NVME; choose != nil {
				part.ChecksumCRC64NVME = first
			}
			parts = append(parts, part)
		}
		_, err = s.CompleteMultipartUpload(s.ctx, &awss3.CompleteMultipartUploadInput{
			Bucket: &s.bucket, Key: &name, UploadId: made.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		})
		s.must(err)
		got, err := s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: &name, PartNumber: aws.Int32(1), ChecksumMode: types.ChecksumModeEnabled})
		s.must(err)
		s.must(got.Body.Close())
		told := got.ChecksumType == types.ChecksumTypeFullObject && got.ChecksumCRC64NVME != nil && *got.ChecksumCRC64NVME == *first
		whole, err := s.GetObjectAttributes(s.ctx, &awss3.GetObjectAttributesInput{Bucket: &s.bucket, Key: &name, ObjectAttributes: types.ObjectAttributesObjectParts.Values()})
		s.must(err)
		if chose := choose != nil; told != chose || (len(whole.ObjectParts.Parts) == 2) != chose || whole.Checksum == nil {
			t.Errorf("%s: of the part %v, %v; parts %+v, whole %+v", name, got.ChecksumCRC64NVME, got.ChecksumType, whole.ObjectParts, whole.Checksum)
		}
	}
}

// The part of an object that is replaced while it is asked for is one of the version that is
// served: parts count from 1, whatever the numbers of their upload.
func TestAPartOfAReplacedObject(t *testing.T) {
	s := newSite(t)
	whole := pattern(2*minPart + 100)
	stored := func(numbers ...int32) {
		up := s.create("k", crc32)
		for i, n := range numbers {
			up.part(n, whole[i*minPart:min((i+1)*minPart, len(whole))])
		}
		up.complete()
	}
	stored(2, 3)
	replace := func() { stored(1, 2, 3) }
	w.beforeChange.Store(&replace)
	part, err := s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k"), PartNumber: aws.Int32(2)})
	s.must(err)
	if got := s.read(part.Body); got != string(whole[minPart:2*minPart]) || *part.PartsCount != 3 {
		t.Errorf("part 2: %d bytes, %v of %d parts", len(got), *part.ContentRange, *part.PartsCount)
	}
	replace = func() { s.put("k", "short", nil) }
	w.beforeChange.Store(&replace)
	_, err = s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k"), PartNumber: aws.Int32(2)})
	s.fails(err, 416, "InvalidPartNumber")
}

// A part whose bytes are missing counts as not stored: it is not listed, an
// upload with it cannot be completed, and loses nothing until the part is sent
// again.
func TestASuspectPart(t *testing.T) {
	s := newSite(t)
	up := s.create("k", nil)
	whole := pattern(minPart + 10)
	up.part(1, whole[:minPart])
	up.part(2, whole[minPart:])
	id, err := lethe.ParseID(up.id)
	s.must(err)
	parts, err := w.db.Parts(s.ctx, id, 0, 0)
	s.must(err)
	_, err = w.db.MarkSuspect(s.ctx, []lethe.ID{parts[0].BlobID}, "missing")
	s.must(err)
	_, err = s.CompleteMultipartUpload(s.ctx, up.input())
	s.fails(err, 400, "InvalidPart")
	list, err := s.ListParts(s.ctx, &awss3.ListPartsInput{Bucket: &s.bucket, Key: &up.key, UploadId: &up.id})
	s.must(err)
	if len(list.Parts) != 1 || *list.Parts[0].PartNumber != 2 {
		t.Errorf("parts are %v", list.Parts)
	}
	sent := up.parts
	up.part(1, whole[:minPart])
	up.parts = append(up.parts[len(sent):], sent[1])
	up.complete()
	if body, _ := s.get("k"); body != string(whole) {
		t.Errorf("the object has %d bytes, and not those that were sent", len(body))
	}
}

// A copy was not uploaded in parts: a composite checksum of the source becomes
// one of all bytes, as on S3.
func TestCopiesHaveAWholeChecksum(t *testing.T) {
	s := newSite(t)
	whole := pattern(minPart + 10)
	for _, a := range []types.ChecksumAlgorithm{types.ChecksumAlgorithmCrc32, types.ChecksumAlgorithmCrc32c, types.ChecksumAlgorithmSha1, types.ChecksumAlgorithmSha256} {
		key := "parts-" + string(a)
		made, err := s.CreateMultipartUpload(s.ctx, &awss3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &key, ChecksumAlgorithm: a})
		s.must(err)
		var parts []types.CompletedPart
		for n, body := range [][]byte{whole[:minPart], whole[minPart:]} {
			out, err := s.UploadPart(s.ctx, &awss3.UploadPartInput{
				Bucket: &s.bucket, Key: &key, UploadId: made.UploadId, PartNumber: aws.Int32(int32(n + 1)), Body: bytes.NewReader(body), ChecksumAlgorithm: a,
			})
			s.must(err)
			parts = append(parts, types.CompletedPart{
				PartNumber: aws.Int32(int32(n + 1)), ETag: out.ETag, ChecksumCRC32: out.ChecksumCRC32, ChecksumCRC32C: out.ChecksumCRC32C,
				ChecksumSHA1: out.ChecksumSHA1, ChecksumSHA256: out.ChecksumSHA256,
			})
		}
		_, err = s.CompleteMultipartUpload(s.ctx, &awss3.CompleteMultipartUploadInput{
			Bucket: &s.bucket, Key: &key, UploadId: made.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		})
		s.must(err)
		_, err = s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("whole"), Body: bytes.NewReader(whole), ChecksumAlgorithm: a})
		s.must(err)
		want := s.checksums("whole")
		for name, asked := range map[string]types.ChecksumAlgorithm{"copy": "", "copy that asks": a} {
			out, err := s.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: &name, CopySource: aws.String(s.bucket + "/" + key), ChecksumAlgorithm: asked})
			s.must(err)
			if got := s.checksums(name); got != want || out.CopyObjectResult.ChecksumType != types.ChecksumTypeFullObject {
				t.Errorf("%s of %s: %s, want %s; its answer says %s", name, a, got, want, out.CopyObjectResult.ChecksumType)
			}
			of, err := w.store.Head(s.ctx, object.GetRequest{Bucket: s.bucket, Key: name})
			s.must(err)
			for _, p := range of.Attrs.Parts {
				if len(p.Checksums) > 0 {
					t.Errorf("%s of %s: part %d shows %v beside a checksum of the whole", name, a, p.Number, p.Checksums)
				}
			}
		}
	}
}

// checksums returns those of an object, with their type.
func (s *site) checksums(key string) string {
	s.t.Helper()
	h, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	s.must(err)
	return fmt.Sprint(h.ChecksumType, aws.ToString(h.ChecksumCRC32), " ", aws.ToString(h.ChecksumCRC32C), " ", aws.ToString(h.ChecksumSHA1),
		" ", aws.ToString(h.ChecksumSHA256), " ", aws.ToString(h.ChecksumCRC64NVME))
}

func crc32(in *awss3.CreateMultipartUploadInput) { in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32 }

func TestMultipart(t *testing.T) {
	s := newSite(t)
	up := s.create("k", crc32)
	whole := pattern(3*minPart + 100)
	for n := range 3 {
		up.part(int32(n+1), whole[n*minPart:(n+1)*minPart])
	}
	up.part(7, whole[3*minPart:])
	list, err := s.ListParts(s.ctx, &awss3.ListPartsInput{Bucket: &s.bucket, Key: &up.key, UploadId: &up.id, MaxParts: aws.Int32(2)})
	s.must(err)
	if len(list.Parts) != 2 || !*list.IsTruncated || *list.NextPartNumberMarker != "2" || list.Parts[0].ChecksumCRC32 == nil {
		t.Errorf("parts: %+v", list)
	}
	uploads, err := s.ListMultipartUploads(s.ctx, &awss3.ListMultipartUploadsInput{Bucket: &s.bucket})
	s.must(err)
	if len(uploads.Uploads) != 1 || *uploads.Uploads[0].UploadId != up.id {
		t.Errorf("uploads: %+v", uploads)
	}
	out := up.complete()
	if !strings.HasSuffix(*out.ETag, `-4"`) || out.ChecksumType != types.ChecksumTypeComposite || !strings.HasSuffix(*out.ChecksumCRC32, "-4") {
		t.Errorf("complete: %+v", out)
	}
	if again := up.complete(); *again.ETag != *out.ETag {
		t.Error("a repeated completion answers something else")
	}
	if got, _ := s.get("k"); got != string(whole) {
		t.Error("the body came back changed")
	}
	part, err := s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: &up.key, PartNumber: aws.Int32(4)})
	s.must(err)
	if got := s.read(part.Body); got != string(whole[3*minPart:]) || *part.PartsCount != 4 {
		t.Errorf("part 4: %d bytes of %v parts", len(got), part.PartsCount)
	}
	_, err = s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: &up.key, PartNumber: aws.Int32(5)})
	s.fails(err, 416, "InvalidPartNumber")
	attrs, err := s.GetObjectAttributes(s.ctx, &awss3.GetObjectAttributesInput{
		Bucket: &s.bucket, Key: &up.key, MaxParts: aws.Int32(3), ObjectAttributes: []types.ObjectAttributes{"ObjectParts", "ObjectSize"},
	})
	s.must(err)
	if *attrs.ObjectSize != int64(len(whole)) || len(attrs.ObjectParts.Parts) != 3 || !*attrs.ObjectParts.IsTruncated ||
		aws.ToInt32(attrs.ObjectParts.TotalPartsCount) != 4 {
		t.Errorf("attributes: %+v", attrs)
	}
}

// An object that was uploaded in parts without a chosen checksum shows the
// number of its parts; any other object shows nothing of parts.
func TestPartsAreCounted(t *testing.T) {
	s := newSite(t)
	up := s.create("k", nil)
	up.part(1, pattern(minPart))
	up.part(2, pattern(10))
	up.complete()
	s.put("whole", "<ObjectParts></ObjectParts>", nil)
	const two = "<ObjectParts><PartsCount>2</PartsCount></ObjectParts>"
	for _, c := range []struct{ key, attributes, parts string }{
		{"k", "ObjectParts,ObjectSize", two}, {"k", "ObjectSize", ""}, {"whole", "ObjectParts,ObjectSize", ""},
	} {
		r := s.raw(http.MethodGet, "/"+c.key+"?attributes", nil)
		r.Header.Set("X-Amz-Object-Attributes", c.attributes)
		status, _, body := s.send(signed(r, root, sum(nil)))
		without := strings.Replace(body, c.parts, "", 1)
		if status != 200 || !strings.Contains(body, c.parts) || strings.Contains(without, "Parts") {
			t.Errorf("%+v: %d %s", c, status, body)
		}
	}
}

func TestMultipartFaults(t *testing.T) {
	s := newSite(t)
	up := s.create("k", nil)
	up.part(1, pattern(minPart-1))
	up.part(2, pattern(10))
	_, err := s.CompleteMultipartUpload(s.ctx, up.input())
	s.fails(err, 400, "EntityTooSmall")
	good := up.parts
	up.parts = []types.CompletedPart{{PartNumber: aws.Int32(1), ETag: aws.String(`"00000000000000000000000000000000"`)}}
	_, err = s.CompleteMultipartUpload(s.ctx, up.input())
	s.fails(err, 400, "InvalidPart")
	up.parts = []types.CompletedPart{{PartNumber: aws.Int32(9), ETag: good[0].ETag}}
	_, err = s.CompleteMultipartUpload(s.ctx, up.input())
	s.fails(err, 400, "InvalidPart")
	in := up.input()
	in.MultipartUpload.Parts = []types.CompletedPart{good[1], good[0]}
	_, err = s.CompleteMultipartUpload(s.ctx, in)
	s.fails(err, 400, "InvalidPartOrder")
	up.parts = good[1:]
	up.complete()
	if got, _ := s.get("k"); got != string(pattern(10)) {
		t.Errorf("got %q", got)
	}
	for _, id := range []string{"nonsense", "../../x", "00000000000000000000000000"} {
		_, err = s.AbortMultipartUpload(s.ctx, &awss3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: aws.String("k"), UploadId: &id})
		s.fails(err, 404, "NoSuchUpload")
	}
	gone := s.create("other", nil)
	gone.part(1, pattern(10))
	_, err = s.AbortMultipartUpload(s.ctx, &awss3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: aws.String("k"), UploadId: &gone.id})
	s.fails(err, 404, "NoSuchUpload")
	_, err = s.AbortMultipartUpload(s.ctx, &awss3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: &gone.key, UploadId: &gone.id})
	s.must(err)
	_, err = s.CompleteMultipartUpload(s.ctx, gone.input())
	s.fails(err, 404, "NoSuchUpload")
}

func TestBigMultipartWithCopies(t *testing.T) {
	s := newSite(t)
	size, count := 5<<20, 12
	body := pattern(size)
	s.put("source", string(body), nil)
	up := s.create("big", nil)
	var wait sync.WaitGroup
	for n := 1; n <= count; n++ {
		if n%2 == 1 {
			wait.Go(func() { up.part(int32(n), body) })
			continue
		}
		wait.Go(func() {
			out, err := s.UploadPartCopy(s.ctx, &awss3.UploadPartCopyInput{
				Bucket: &s.bucket, Key: &up.key, UploadId: &up.id, PartNumber: aws.Int32(int32(n)),
				CopySource: aws.String(s.bucket + "/source"), CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", n, size-1)),
			})
			if err != nil {
				t.Error(err)
				return
			}
			up.add(types.CompletedPart{PartNumber: aws.Int32(int32(n)), ETag: out.CopyPartResult.ETag})
		})
	}
	wait.Wait()
	out := up.complete()
	if out.ChecksumCRC64NVME == nil || out.ChecksumType != types.ChecksumTypeFullObject {
		t.Errorf("complete: %+v", out)
	}
	var want bytes.Buffer
	for n := 1; n <= count; n++ {
		from := 0
		if n%2 == 0 {
			from = n
		}
		want.Write(body[from:])
	}
	got, _ := s.get("big")
	if got != want.String() {
		t.Error("the body came back changed")
	}
	copied, err := s.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("copy"), CopySource: aws.String(s.bucket + "/big")})
	s.must(err)
	if *copied.CopyObjectResult.ETag != *out.ETag {
		t.Errorf("the copy's ETag is %s", *copied.CopyObjectResult.ETag)
	}
	if got, _ := s.get("copy"); got != want.String() {
		t.Error("the copy is another body")
	}
}

func TestListMultipartUploadsPages(t *testing.T) {
	s := newSite(t)
	want := []string{"a/1", "a/1", "a/2", "b", "c/1"}
	for _, key := range want {
		s.create(key, nil)
	}
	var got []string
	in := &awss3.ListMultipartUploadsInput{Bucket: &s.bucket, MaxUploads: aws.Int32(1)}
	for range 10 {
		page, err := s.ListMultipartUploads(s.ctx, in)
		s.must(err)
		for _, u := range page.Uploads {
			got = append(got, *u.Key)
		}
		if !*page.IsTruncated {
			break
		}
		in.KeyMarker, in.UploadIdMarker = page.NextKeyMarker, page.NextUploadIdMarker
	}
	if !slices.Equal(got, want) {
		t.Errorf("keys: %q", got)
	}
	got = nil
	in = &awss3.ListMultipartUploadsInput{Bucket: &s.bucket, MaxUploads: aws.Int32(1), Delimiter: aws.String("/")}
	for range 10 {
		page, err := s.ListMultipartUploads(s.ctx, in)
		s.must(err)
		for _, p := range page.CommonPrefixes {
			got = append(got, *p.Prefix)
		}
		for _, u := range page.Uploads {
			got = append(got, *u.Key)
		}
		if !*page.IsTruncated {
			break
		}
		in.KeyMarker, in.UploadIdMarker = page.NextKeyMarker, page.NextUploadIdMarker
	}
	// As S3 does, a page continues after the first upload of a common prefix.
	if got = slices.Compact(got); !slices.Equal(got, []string{"a/", "b", "c/"}) {
		t.Errorf("with a delimiter: %q", got)
	}
}
