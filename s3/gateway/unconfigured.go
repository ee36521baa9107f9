package gateway

import (
	"bytes"
	"context"
	"encoding/xml"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3api/controllers"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// feature is a configuration of buckets that S3 has and that is not supported.
// Reading it returns that of a bucket without one, since clients such as
// Terraform read them all. Setting it is refused by name.
type feature struct {
	name     string // of its operations, after Get, Put and Delete
	get, put auth.Action
	// empty is the document of a bucket without it; if there is none, code and
	// text are the error.
	empty, code, text string
	list              string // the document of the operation that lists a bucket's; empty if there is none
	// clears reports that an empty document removes the configuration.
	clears  bool
	instead string // that it is not supported, and the alternative
}

// noConfiguration is the error of configurations with an ID.
const noConfiguration = "NoSuchConfiguration"

var features = []feature{
	{
		name: "BucketEncryption", get: auth.GetEncryptionConfigurationAction, put: auth.PutEncryptionConfigurationAction,
		code: "ServerSideEncryptionConfigurationNotFoundError", text: "The server side encryption configuration was not found",
		instead: "This store does not encrypt objects. Encrypt in the client (rclone crypt, restic) or on the disks below.",
	},
	{
		name: "BucketReplication", get: auth.GetReplicationConfigurationAction, put: auth.PutReplicationConfigurationAction,
		code: "ReplicationConfigurationNotFoundError", text: "The replication configuration was not found",
		instead: "Buckets are not replicated to other buckets. Several copies of every object, each on a backend of its own, are kept by the setting placement.replicas.",
	},
	{
		name: "BucketLogging", get: auth.GetBucketLoggingAction, put: auth.PutBucketLoggingAction,
		empty: "BucketLoggingStatus", clears: true,
		instead: "Logs of access are not written into buckets. The server writes its own log, and counts requests in its metrics.",
	},
	{
		name: "BucketAccelerateConfiguration", get: auth.GetAccelerateConfigurationAction, put: auth.PutAccelerateConfigurationAction,
		empty: "AccelerateConfiguration", instead: "Transfer acceleration is not here.",
	},
	{
		name: "BucketRequestPayment", get: auth.GetBucketRequestPaymentAction, put: auth.PutBucketRequestPaymentAction,
		empty: "RequestPaymentConfiguration", text: "<Payer>BucketOwner</Payer>", instead: "Request payment is not here: nobody pays.",
	},
	{
		name: "BucketAnalyticsConfiguration", get: auth.GetAnalyticsConfigurationAction, put: auth.PutAnalyticsConfigurationAction,
		code: noConfiguration, text: "The specified configuration does not exist.", list: "ListBucketAnalyticsConfigurationResult",
		instead: "Analytics of storage classes are not here: there is one class.",
	},
	{
		name: "BucketIntelligentTieringConfiguration", get: auth.GetIntelligentTieringConfigurationAction, put: auth.PutIntelligentTieringConfigurationAction,
		code: noConfiguration, text: "The specified configuration does not exist.", list: "ListBucketIntelligentTieringConfigurationsOutput",
		instead: "Intelligent tiering is not here: there is one storage class. Objects are ended by lifecycle rules.",
	},
	{
		name: "BucketInventoryConfiguration", get: auth.GetInventoryConfigurationAction, put: auth.PutInventoryConfigurationAction,
		code: noConfiguration, text: "The specified configuration does not exist.", list: "ListInventoryConfigurationsResult",
		instead: "Inventories are not written. List the bucket instead.",
	},
	{
		name: "BucketMetricsConfiguration", get: auth.GetMetricsConfigurationAction, put: auth.PutMetricsConfigurationAction,
		code: noConfiguration, text: "The specified configuration does not exist.", list: "ListMetricsConfigurationsResult",
		instead: "Metrics of requests are not configured by bucket. The server has its own, for Prometheus.",
	},
}

// unconfiguredActions are the features' operations.
var unconfiguredActions = func() map[string]bucketAction {
	all := map[string]bucketAction{}
	add := func(operation string, action auth.Action, permission auth.Permission, do func(*Backend, context.Context, string, []byte) (*controllers.Response, error)) {
		all[operation] = bucketAction{"s3_" + operation, action, permission, do}
	}
	for _, f := range features {
		add("Get"+f.name, f.get, auth.PermissionRead, f.answer)
		add("Put"+f.name, f.put, auth.PermissionWrite, f.refuse)
		add("Delete"+f.name, f.put, auth.PermissionWrite, f.remove)
		if f.list != "" {
			add("List"+f.name+"s", f.get, auth.PermissionRead, f.listNone)
		}
	}
	return all
}()

// answer returns the response of a bucket without it.
func (f feature) answer(b *Backend, ctx context.Context, bucket string, _ []byte) (*controllers.Response, error) {
	if err := b.allow(ctx, requestOf(ctx), bucket, authz.Reading); err != nil {
		return &controllers.Response{}, err
	}
	if f.empty == "" {
		return &controllers.Response{}, s3err.APIError{Code: f.code, Description: f.text, HTTPStatusCode: http.StatusNotFound}
	}
	return document(f.empty, f.text), nil
}

// listNone returns an empty list.
func (f feature) listNone(b *Backend, ctx context.Context, bucket string, _ []byte) (*controllers.Response, error) {
	return document(f.list, "<IsTruncated>false</IsTruncated>"), b.allow(ctx, requestOf(ctx), bucket, authz.Reading)
}

// document returns an S3 document with content.
func document(root, content string) *controllers.Response {
	kind := fiber.MIMEApplicationXML
	data := xml.Header + "<" + root + ` xmlns="` + s3.Namespace + `">` + content + "</" + root + ">"
	return &controllers.Response{Data: []byte(data), Headers: map[string]*string{fiber.HeaderContentType: &kind}}
}

// refuse returns that it is not supported, unless the document sets nothing.
func (f feature) refuse(b *Backend, ctx context.Context, bucket string, body []byte) (*controllers.Response, error) {
	if err := b.allow(ctx, requestOf(ctx), bucket, authz.Setting); err != nil {
		return &controllers.Response{}, err
	}
	if f.clears && setsNothing(body) {
		return &controllers.Response{}, nil
	}
	return &controllers.Response{}, notKept("%s", f.instead)
}

// remove succeeds without effect; one with an ID does not exist.
func (f feature) remove(b *Backend, ctx context.Context, bucket string, _ []byte) (*controllers.Response, error) {
	err := b.allow(ctx, requestOf(ctx), bucket, authz.Setting)
	if err == nil && f.code == noConfiguration {
		err = s3err.APIError{Code: f.code, Description: f.text, HTTPStatusCode: http.StatusNotFound}
	}
	return &controllers.Response{MetaOpts: &controllers.MetaOptions{Status: http.StatusNoContent}}, err
}

// setsNothing reports whether a document is one empty element.
func setsNothing(body []byte) bool {
	var root struct {
		Text string     `xml:",chardata"`
		In   []struct{} `xml:",any"`
	}
	return s3.WellFormed(body) && xml.NewDecoder(bytes.NewReader(body)).Decode(&root) == nil &&
		len(root.In) == 0 && strings.TrimSpace(root.Text) == ""
}
