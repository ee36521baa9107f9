package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/s3/gateway"
)

// Terraform's provider reads all of these: a bucket has none of them.
func TestUnsetConfigurationsReturnTheirError(t *testing.T) {
	s := newSite(t)
	for query, want := range map[string]string{
		"encryption":          "404 <Code>ServerSideEncryptionConfigurationNotFoundError</Code>",
		"replication":         "404 <Code>ReplicationConfigurationNotFoundError</Code>",
		"website":             "404 <Code>NoSuchWebsiteConfiguration</Code>",
		"object-lock":         "404 <Code>ObjectLockConfigurationNotFoundError</Code>",
		"lifecycle":           "404 <Code>NoSuchLifecycleConfiguration</Code>",
		"policy":              "404 <Code>NoSuchBucketPolicy</Code>",
		"policyStatus":        "404 <Code>NoSuchBucketPolicy</Code>",
		"cors":                "404 <Code>NoSuchCORSConfiguration</Code>",
		"tagging":             "404 <Code>NoSuchTagSet</Code>",
		"publicAccessBlock":   "404 <Code>NoSuchPublicAccessBlockConfiguration</Code>",
		"notification":        `200 <NotificationConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></`,
		"accelerate":          `200 <AccelerateConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></`,
		"logging":             `200 <BucketLoggingStatus xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></`,
		"requestPayment":      "200 <Payer>BucketOwner</Payer>",
		"versioning":          "200 <VersioningConfiguration",
		"ownershipControls":   "200 <ObjectOwnership>BucketOwnerEnforced</ObjectOwnership>",
		"location":            "200 <LocationConstraint",
		"analytics":           "200 <IsTruncated>false</IsTruncated>",
		"inventory":           "200 <IsTruncated>false</IsTruncated>",
		"metrics":             "200 <IsTruncated>false</IsTruncated>",
		"intelligent-tiering": "200 <IsTruncated>false</IsTruncated>",

		"analytics&id=1": "404 <Code>NoSuchConfiguration</Code>", "inventory&id=1": "404 <Code>NoSuchConfiguration</Code>",
		"metrics&id=1": "404 <Code>NoSuchConfiguration</Code>", "intelligent-tiering&id=1": "404 <Code>NoSuchConfiguration</Code>",
	} {
		status, body := s.sendSigned(http.MethodGet, "?"+query, "")
		code, text, _ := strings.Cut(want, " ")
		if itoa(status) != code || !strings.Contains(body, text) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	for _, query := range []string{"encryption", "replication"} {
		if status, body := s.sendSigned(http.MethodDelete, "?"+query, ""); status != 204 {
			t.Errorf("DELETE %s: %d %s", query, status, body)
		}
	}
	// An empty document removes the setting: there is nothing to remove.
	for query, root := range map[string]string{"notification": "NotificationConfiguration", "logging": "BucketLoggingStatus"} {
		if status, body := s.sendSigned(http.MethodPut, "?"+query, "<"+root+"/>"); status != 200 {
			t.Errorf("nothing for %s: %d %s", query, status, body)
		}
	}
}

// absentSettings are what cannot be set, each with a word of its error.
var absentSettings = map[string][2]string{
	"encryption":               {"<ServerSideEncryptionConfiguration><Rule/></ServerSideEncryptionConfiguration>", "encrypt"},
	"replication":              {"<ReplicationConfiguration><Role>r</Role></ReplicationConfiguration>", "placement.replicas"},
	"notification":             {"<NotificationConfiguration><TopicConfiguration/></NotificationConfiguration>", "topics"},
	"accelerate":               {"<AccelerateConfiguration><Status>Enabled</Status></AccelerateConfiguration>", "acceleration"},
	"logging":                  {"<BucketLoggingStatus><LoggingEnabled/></BucketLoggingStatus>", "Logs of access"},
	"requestPayment":           {"<RequestPaymentConfiguration><Payer>Requester</Payer></RequestPaymentConfiguration>", "payment"},
	"analytics&id=1":           {"<AnalyticsConfiguration><Id>1</Id></AnalyticsConfiguration>", "Analytics"},
	"inventory&id=1":           {"<InventoryConfiguration><Id>1</Id></InventoryConfiguration>", "Inventories"},
	"metrics&id=1":             {"<MetricsConfiguration><Id>1</Id></MetricsConfiguration>", "Metrics"},
	"intelligent-tiering&id=1": {"<IntelligentTieringConfiguration><Id>1</Id></IntelligentTieringConfiguration>", "tiering"},
	"versioning":               {"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>", "lethe trash"},
	"website":                  {"<WebsiteConfiguration><IndexDocument><Suffix>index.html</Suffix></IndexDocument></WebsiteConfiguration>", "Websites"},
	"object-lock":              {"<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>", "lethe hold"},
}

// An unsupported setting is refused with its name, and the alternative.
func TestAbsentSettingsAreNamed(t *testing.T) {
	s := newSite(t)
	for query, set := range absentSettings {
		r := s.raw(http.MethodPut, "?"+query, []byte(set[0]))
		r.Header.Set("X-Amz-Checksum-Sha256", sha256Base64(set[0]))
		status, _, body := s.send(signed(r, root, sum([]byte(set[0]))))
		if status != 501 || !strings.Contains(body, "<Code>NotImplemented</Code>") || !strings.Contains(body, set[1]) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	_, err := s.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: aws.String(s.bucket + "-locked"), ObjectLockEnabledForBucket: aws.Bool(true)})
	if s.fails(err, 501, "NotImplemented"); err != nil && !strings.Contains(err.Error(), "lethe hold") {
		t.Error(err)
	}
}

// Access to unsupported configurations is authorised as to others, by
// signatures, lists and policies.
func TestUnsetConfigurationsNeedPermission(t *testing.T) {
	s := newSite(t)
	foreign := gateway.Credentials{Access: "nobody", Secret: "nobody"}
	forged := gateway.Credentials{Access: root.Access, Secret: "wrong"}
	other := s.key("elsewhere", false, s.bucket+"-other")
	reader := s.key("reading", true, s.bucket)
	for query, set := range absentSettings {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			answers := map[string]int{}
			r := s.raw(method, "?"+query, []byte(set[0]))
			answers["unsigned"], _, _ = s.send(r)
			for name, by := range map[string]gateway.Credentials{"foreign": foreign, "forged": forged, "elsewhere": other, "reading": reader} {
				r := s.raw(method, "?"+query, []byte(set[0]))
				r.Header.Set("X-Amz-Checksum-Sha256", sha256Base64(set[0]))
				answers[name], _, _ = s.send(signed(r, by, sum([]byte(set[0]))))
			}
			if method == http.MethodGet {
				delete(answers, "reading")
			}
			for name, status := range answers {
				if status != 403 && status != 405 {
					t.Errorf("%s %s %s: %d", name, method, query, status)
				}
			}
		}
		if status, body := s.sendSigned(http.MethodPost, "?"+query, set[0]); status != 405 {
			t.Errorf("POST %s: %d %s", query, status, body)
		}
	}
}
