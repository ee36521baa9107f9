package gateway

import (
	"context"
	"encoding/xml"
)

// policyStatus answers whether the policy is public, in versitygw's place.
func (b *Backend) policyStatus(ctx context.Context, bucket string, policy []byte) error {
	parsed := b.policies.Of(bucket, policy)
	if parsed.Err != nil {
		return b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, parsed.Err)
	}
	status := struct {
		XMLName  xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ PolicyStatus"`
		IsPublic bool
	}{IsPublic: parsed.Public()}
	out, err := xml.Marshal(status)
	requestOf(ctx).document = append([]byte(xml.Header), out...)
	return err
}
