package notification_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/notification"
)

// mayUse lets the bucket use one target of two.
func mayUse(target string) error {
	return map[string]error{"app": nil, "other": notification.ErrNotAllowed, "nobody": notification.ErrNoTarget}[target]
}

// config wraps configurations, each by its inner elements.
func config(queues ...string) string {
	var b strings.Builder
	b.WriteString(`<NotificationConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`)
	for _, q := range queues {
		b.WriteString("<QueueConfiguration>" + q + "</QueueConfiguration>")
	}
	return b.String() + "</NotificationConfiguration>"
}

const queue = "<Queue>arn:lethe:sqs::app:webhook</Queue>"

func filter(rules ...string) string {
	out := "<Filter><S3Key>"
	for _, r := range rules {
		name, value, _ := strings.Cut(r, "=")
		out += "<FilterRule><Name>" + name + "</Name><Value>" + value + "</Value></FilterRule>"
	}
	return out + "</S3Key></Filter>"
}

func event(names ...string) (out string) {
	for _, n := range names {
		out += "<Event>s3:" + n + "</Event>"
	}
	return out
}

func TestRulesComeBackAsTheyWereSent(t *testing.T) {
	in := config("<Id>one</Id>"+queue+event("ObjectCreated:*")+filter("Prefix=in/", "suffix=.jpg"), queue+event("ObjectRemoved:Delete", "LifecycleExpiration:*"))
	rules, err := notification.Parse([]byte(in), mayUse)
	if err != nil {
		t.Fatal(err)
	}
	again, err := notification.Parse(rules.XML(), mayUse)
	if err != nil || again.Encode() != rules.Encode() {
		t.Errorf("%v\n%s\n%s", err, rules.XML(), again.Encode())
	}
	stored, err := notification.Decode(rules.Encode())
	if err != nil || stored.Encode() != rules.Encode() {
		t.Errorf("%v, %s", err, stored.Encode())
	}
	for what, want := range map[string]string{
		"ObjectCreated:Put in/a.jpg": "one", "ObjectCreated:Copy in/a.png": "", "ObjectCreated:Copy a.jpg": "", "ObjectCreated:CompleteMultipartUpload in/.jpg": "one",
		"ObjectRemoved:Delete x": "lethe-2", "LifecycleExpiration:Delete in/a.jpg": "lethe-2",
	} {
		kind, key, _ := strings.Cut(what, " ")
		have := ""
		if r := rules.For(notification.Kind(kind), key); r != nil {
			have = r.ID
		}
		if have != want {
			t.Errorf("%s is told by %q, want %q", what, have, want)
		}
	}
}

// What is refused, with S3's code and a word of the message.
func TestRefusedConfigurations(t *testing.T) {
	for in, want := range map[string]string{
		"":                  "MalformedXML",
		"<Other/>":          "MalformedXML",
		config("") + "<x/>": "MalformedXML something follows",
		config("<Queue>arn:aws:sqs:us-east-1:1:q</Queue>" + event("ObjectCreated:*")):     "InvalidArgument does not have the form arn:lethe:sqs::NAME:webhook",
		config("<Queue>arn:lethe:sqs::nobody:webhook</Queue>" + event("ObjectCreated:*")): `InvalidArgument There is no target "nobody"`,
		config("<Queue>arn:lethe:sqs::other:webhook</Queue>" + event("ObjectCreated:*")):  `InvalidArgument may not use the target "other"`,
		config("") + "text":                                                                    "MalformedXML something follows",
		config(queue):                                                                          "MalformedXML has no Event",
		config(event("ObjectCreated:*")):                                                       "MalformedXML one Queue, not 0",
		config(queue + queue + event("ObjectCreated:*")):                                       "MalformedXML one Queue, not 2",
		config(queue + "<Event>ObjectCreated:*</Event>"):                                       "InvalidArgument is not sent",
		config(queue + event("ObjectTagging:*")):                                               "InvalidArgument is not sent",
		config(queue + event("*")):                                                             "InvalidArgument is not sent",
		config(queue + event("Object*")):                                                       "InvalidArgument is not sent",
		config(queue + event("ObjectRemoved:DeleteMarkerCreated")):                             "InvalidArgument is not sent",
		config(queue + event("ObjectCreated:Put", "ObjectCreated:Put")):                        "InvalidArgument twice",
		config(queue + event("ObjectCreated:*") + filter("prefix=a", "Prefix=b")):              "InvalidArgument one prefix at most",
		config(queue + event("ObjectCreated:*") + filter("middle=a")):                          "InvalidArgument prefix or suffix",
		config(queue + event("ObjectCreated:*") + filter("prefix="+strings.Repeat("a", 1025))): "InvalidArgument 1024 bytes",
		config(queue+event("ObjectCreated:*"), queue+event("ObjectCreated:Put")):               "InvalidArgument overlap",
		config(queue+event("ObjectCreated:*")+filter("prefix=a"), queue+event("ObjectCreated:Put")+filter("prefix=ab", "suffix=.jpg")): "InvalidArgument overlap",
		config("<Id>1</Id>"+queue+event("ObjectCreated:Put"), "<Id>1</Id>"+queue+event("ObjectRemoved:*")):                             "InvalidArgument Two configurations",
		strings.ReplaceAll(config(""), "QueueConfiguration", "TopicConfiguration"):                                                     "NotImplemented topics (SNS)",
		strings.ReplaceAll(config(""), "QueueConfiguration", "CloudFunctionConfiguration"):                                             "NotImplemented functions (Lambda)",
		strings.ReplaceAll(config(""), "QueueConfiguration", "EventBridgeConfiguration"):                                               "NotImplemented EventBridge",
		strings.ReplaceAll(config(""), "QueueConfiguration", "Queue"):                                                                  "MalformedXML not known",
	} {
		_, err := notification.Parse([]byte(in), mayUse)
		var refused *notification.Error
		code, text, _ := strings.Cut(want, " ")
		if !errors.As(err, &refused) || refused.Code != code || !strings.Contains(refused.Message, text) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
	for _, in := range []string{
		config(), config() + "\n<!-- the end -->\n", config(queue+event("ObjectCreated:*")+filter("prefix=a"), queue+event("ObjectCreated:*")+filter("prefix=b")),
		config(queue+event("ObjectCreated:*")+filter("prefix=a", "suffix=.jpg"), queue+event("ObjectCreated:*")+filter("prefix=a", "suffix=.png")),
		config(queue+event("ObjectCreated:Put"), queue+event("ObjectCreated:Copy")),
	} {
		if _, err := notification.Parse([]byte(in), mayUse); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestAllows(t *testing.T) {
	patterns := []string{"photos", "team-*"}
	for bucket, want := range map[string]bool{"photos": true, "photos2": false, "team-": true, "team-a": true, "team": false, "a-team-b": false} {
		if notification.Allows(patterns, bucket) != want {
			t.Errorf("%s: %t", bucket, !want)
		}
	}
	if !notification.Allows(nil, "any") {
		t.Error("no patterns name all")
	}
}
