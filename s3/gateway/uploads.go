package gateway

import (
	"cmp"
	"context"
	"errors"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
)

// ListMultipartUploads lists open uploads by key, then by when they were opened.
func (b *Backend) ListMultipartUploads(ctx context.Context, in *awss3.ListMultipartUploadsInput) (out s3response.ListMultipartUploadsResult, err error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket)})
	defer o.cancel()
	if err != nil {
		return out, err
	}
	q := s3.UploadsQuery{
		Bucket: o.names.bucket, Prefix: str(in.Prefix), Delimiter: str(in.Delimiter),
		AfterKey: str(in.KeyMarker), AfterUpload: str(in.UploadIdMarker), Limit: min(int(num(in.MaxUploads)), s3.MaxList),
	}
	page, err := s3.ListUploads(o.ctx, b.store.Uploads, q)
	if err == nil || errors.Is(err, s3.ErrUploadMarker) {
		err = cmp.Or(b.stillMeant(o), err)
	}
	if errors.Is(err, s3.ErrUploadMarker) {
		err = s3err.GetInvalidArgumentErr(s3err.InvalidArgUploadIdMarker, q.AfterUpload)
	}
	if err != nil {
		return out, b.fail(o, err)
	}
	enc := encoderOf(o.req)
	out = s3response.ListMultipartUploadsResult{
		Bucket: q.Bucket, Prefix: enc.name(q.Prefix), Delimiter: enc.name(q.Delimiter), EncodingType: string(enc.kind()),
		KeyMarker: enc.name(q.AfterKey), UploadIDMarker: q.AfterUpload, MaxUploads: int(num(in.MaxUploads)),
		IsTruncated: page.More, NextKeyMarker: enc.name(page.NextKey), NextUploadIDMarker: page.NextUpload,
	}
	for _, prefix := range page.Prefixes {
		out.CommonPrefixes = append(out.CommonPrefixes, s3response.CommonPrefix{Prefix: enc.name(prefix)})
	}
	for i := range page.Uploads {
		out.Uploads = append(out.Uploads, listedUpload(&page.Uploads[i], enc))
	}
	return out, nil
}

func listedUpload(u *ledger.Upload, enc encoder) s3response.Upload {
	up := s3response.Upload{
		Key: enc.name(u.Key), UploadID: string(u.ID), Initiated: u.CreatedAt.Time(), StorageClass: types.StorageClassStandard,
		Owner: s3response.Owner{ID: u.Owner, DisplayName: u.Owner}, Initiator: s3response.Initiator{ID: u.Owner, DisplayName: u.Owner},
	}
	up.ChecksumAlgorithm, up.ChecksumType = chosen(u.Attrs)
	return up
}
