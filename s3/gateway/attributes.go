package gateway

import (
	"bytes"
	"context"
	"encoding/xml"
	"slices"
	"strconv"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
)

// GetObjectAttributes describes an object and its parts.
func (b *Backend) GetObjectAttributes(ctx context.Context, in *awss3.GetObjectAttributesInput) (out s3response.GetObjectAttributesResponse, err error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key)})
	defer o.cancel()
	if err == nil {
		err = checkVersion(str(in.VersionId))
	}
	if err != nil {
		return out, err
	}
	obj, err := b.store.Objects.Head(o.ctx, o.at())
	if err != nil {
		return out, b.fail(o, err)
	}
	o.req.expiresWith(obj)
	o.req.parts = len(obj.Attrs.Parts)
	// An invalid marker is ignored.
	after, _ := strconv.Atoi(str(in.PartNumberMarker))
	return s3response.GetObjectAttributesResponse{
		ETag: ptr(obj.ETag), ObjectSize: &obj.Size, StorageClass: types.StorageClassStandard,
		LastModified: to(obj.ModifiedAt.Time()), ObjectParts: objectParts(obj, after, in.MaxParts),
		Checksum: inAttributes(checksumsOf(obj.Attrs.Checksums, obj.Attrs.ChecksumType)),
	}, nil
}

// showsParts reports whether an object was uploaded in parts with a checksum
// that the client chose. Without one the checksums of parts are not kept,
// except in objects of older versions.
func showsParts(o ledger.Object) bool {
	return slices.ContainsFunc(o.Attrs.Parts, func(p ledger.PartAttrs) bool { return len(p.Checksums) > 0 })
}

// objectParts lists the parts of an object that was uploaded in parts with a
// checksum that the client chose. Without one there is only their number, which
// countParts fills in. It is nil for other objects, as on S3.
func objectParts(o ledger.Object, after int, limit *int32) *s3response.ObjectParts {
	switch {
	case len(o.Attrs.Parts) == 0:
		return nil
	case !showsParts(o):
		return &s3response.ObjectParts{}
	}
	out := &s3response.ObjectParts{PartNumberMarker: after, MaxParts: s3.MaxList}
	if limit != nil && *limit > 0 {
		out.MaxParts = min(int(*limit), s3.MaxList)
	}
	for _, p := range o.Attrs.Parts {
		if p.Number <= after {
			continue
		}
		if len(out.Parts) == out.MaxParts {
			out.IsTruncated = true
			break
		}
		out.NextPartNumberMarker = p.Number
		c := checksumsOf(p.Checksums, "")
		out.Parts = append(out.Parts, types.ObjectPart{
			PartNumber: to(int32(p.Number)), Size: to(p.Size),
			ChecksumCRC32: c.CRC32, ChecksumCRC32C: c.CRC32C, ChecksumSHA1: c.SHA1, ChecksumSHA256: c.SHA256,
			ChecksumCRC64NVME: c.CRC64NVME, ChecksumSHA512: c.SHA512, ChecksumMD5: c.MD5,
			ChecksumXXHASH64: c.XXHASH64, ChecksumXXHASH3: c.XXHASH3, ChecksumXXHASH128: c.XXHASH128,
		})
	}
	return out
}

// countParts adds the number of parts to an object's description, for which
// versitygw has no field.
func countParts(body []byte, parts int) []byte {
	count := "<PartsCount>" + strconv.Itoa(parts) + "</PartsCount></ObjectParts>"
	if alone, err := xml.Marshal(s3response.ObjectParts{}); err == nil && bytes.Contains(body, alone) {
		return bytes.Replace(body, alone, []byte("<ObjectParts>"+count), 1)
	}
	return bytes.Replace(body, []byte("</ObjectParts>"), []byte(count), 1)
}
