package lifecycle

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

// sent is what clients send, with what it means.
var sent = map[string]struct {
	body string
	want Rules
}{
	"aws, filter": {
		`<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><Expiration><Days>3</Days></Expiration>` +
			`<ID>tmp</ID><Filter><Prefix>tmp/</Prefix></Filter><Status>Enabled</Status></Rule></LifecycleConfiguration>`,
		Rules{{ID: "tmp", Prefix: "tmp/", Days: 3}},
	},
	"s3cmd expire": {
		`<?xml version="1.0" ?><LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><ID>s3cmd</ID>` +
			"\n  <Prefix>logs/</Prefix>\n<Status>Enabled</Status><Expiration><Date>2031-01-01T00:00:00.000Z</Date></Expiration></Rule></LifecycleConfiguration>",
		Rules{{ID: "s3cmd", Prefix: "logs/", Date: at("2031-01-01T00:00:00Z"), Legacy: true}},
	},
	"and": {
		`<LifecycleConfiguration><Rule><ID>a</ID><Filter><And><Prefix>p</Prefix><Tag><Key>k</Key><Value>v</Value></Tag>` +
			`<Tag><Key>l</Key><Value></Value></Tag><ObjectSizeGreaterThan>0</ObjectSizeGreaterThan>` +
			`<ObjectSizeLessThan>100</ObjectSizeLessThan></And></Filter><Status>Disabled</Status>` +
			`<Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>`,
		Rules{{ID: "a", Disabled: true, Prefix: "p", Tags: map[string]string{"k": "v", "l": ""}, Over: number(0), Under: number(100), Days: 1}},
	},
	"aws, one tag and no prefix": {
		`<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><Expiration><Days>3</Days></Expiration><ID>t</ID>` +
			`<Filter><Tag><Key>k</Key><Value>v</Value></Tag></Filter><Status>Enabled</Status></Rule></LifecycleConfiguration>`,
		Rules{{ID: "t", Tags: map[string]string{"k": "v"}, Days: 3}},
	},
	"aws, JSON, one tag and no prefix": {
		`{"Rules":[{"ID":"t","Filter":{"Tag":{"Key":"k","Value":"v"}},"Status":"Enabled","Expiration":{"Days":3}}]}`,
		Rules{{ID: "t", Tags: map[string]string{"k": "v"}, Days: 3}},
	},
	"uploads of the whole bucket": {
		`<LifecycleConfiguration><Rule><ID>u</ID><Filter/><Status>Enabled</Status><AbortIncompleteMultipartUpload>` +
			`<DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>`,
		Rules{{ID: "u", AbortDays: 7}},
	},
	"everything, said twice": {
		`<LifecycleConfiguration><Rule><ID>whole-bucket, really</ID><Prefix/><Status>Enabled</Status>` +
			`<Expiration><Days>1</Days><ExpiredObjectDeleteMarker>false</ExpiredObjectDeleteMarker></Expiration></Rule></LifecycleConfiguration>`,
		Rules{{ID: "whole-bucket, really", Days: 1, Legacy: true}},
	},
	"aws, JSON": {
		`{"Rules":[{"ID":"j","Filter":{"And":{"Prefix":"p","Tags":[{"Key":"k","Value":"v"}]}},"Status":"Enabled","Expiration":{"Days":2}}]}`,
		Rules{{ID: "j", Prefix: "p", Tags: map[string]string{"k": "v"}, Days: 2}},
	},
}

func at(s string) lethe.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return lethe.FromTime(t)
}

func number(n int64) *int64 { return &n }

func TestWhatClientsSendIsUnderstood(t *testing.T) {
	for name, c := range sent {
		got, err := Parse([]byte(c.body))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

// rule wraps parts of a rule that is fine but for them.
func rule(parts string) string {
	return `<LifecycleConfiguration><Rule>` + parts + `</Rule></LifecycleConfiguration>`
}

const (
	fine    = `<ID>a</ID><Filter><Prefix>p</Prefix></Filter><Status>Enabled</Status>`
	oneDay  = `<Expiration><Days>1</Days></Expiration>`
	enabled = `<Status>Enabled</Status>`
)

// refusals are bodies with the code and what the message must name.
var refusals = []struct{ body, code, names string }{
	{``, "MalformedXML", "not one XML"},
	{`<LifecycleConfiguration>`, "MalformedXML", ""},
	{`<LifecycleConfiguration></LifecycleConfiguration>`, "MalformedXML", "no rules"},
	{`<Other/>`, "MalformedXML", "root"},
	{rule(fine+oneDay) + rule(fine+oneDay), "MalformedXML", "out of place"},
	{`<!DOCTYPE a [<!ENTITY x "y">]>` + rule(fine+oneDay), "MalformedXML", "directive"},
	{rule(fine + oneDay + `<Bogus/>`), "MalformedXML", "Bogus"},
	{rule(fine + oneDay + oneDay), "MalformedXML", "two of Expiration"},
	{rule(fine), "InvalidRequest", "At least one action"},
	{rule(fine + `<Transition><Days>1</Days><StorageClass>GLACIER</StorageClass></Transition>`), "NotImplemented", "Transition"},
	{rule(fine + oneDay + `<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>`), "NotImplemented", "NoncurrentVersionExpiration"},
	{rule(fine + oneDay + `<NoncurrentVersionTransition/>`), "NotImplemented", "NoncurrentVersionTransition"},
	{rule(fine + `<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>`), "NotImplemented", "ExpiredObjectDeleteMarker"},
	{rule(fine + `<Expiration><Days>0</Days></Expiration>`), "InvalidArgument", "positive"},
	{rule(fine + `<Expiration><Days>-1</Days></Expiration>`), "InvalidArgument", "positive"},
	{rule(fine + `<Expiration><Days>99999999999</Days></Expiration>`), "InvalidArgument", "positive"},
	{rule(fine + `<Expiration><Days>one</Days></Expiration>`), "MalformedXML", "one"},
	{rule(fine + `<Expiration/>`), "MalformedXML", "Days or Date"},
	{rule(fine + `<Expiration><Days>1</Days><Date>2031-01-01T00:00:00Z</Date></Expiration>`), "MalformedXML", "Days or Date"},
	{rule(fine + `<Expiration><Date>2031-01-01T12:00:00Z</Date></Expiration>`), "InvalidArgument", "midnight"},
	{rule(fine + `<Expiration><Date>20200101</Date></Expiration>`), "MalformedXML", "20200101"},
	{rule(fine + `<Expiration><Date>1969-01-01</Date></Expiration>`), "InvalidArgument", "1970"},
	{rule(fine + `<AbortIncompleteMultipartUpload/>`), "MalformedXML", "DaysAfterInitiation"},
	{rule(`<ID>a</ID>` + enabled + oneDay), "MalformedXML", "either a Filter or a Prefix"},
	{rule(`<Prefix>p</Prefix>` + fine + oneDay), "MalformedXML", "either a Filter or a Prefix"},
	{rule(`<ID>a</ID><Prefix/>` + enabled + oneDay), "InvalidRequest", "say it twice"},
	{rule(`<ID>a</ID><Filter/>` + enabled + oneDay), "InvalidRequest", "say it twice"},
	{rule(`<ID>a</ID><Filter><ObjectSizeGreaterThan>0</ObjectSizeGreaterThan></Filter>` + enabled + oneDay), "InvalidRequest", "say it twice"},
	{rule(`<ID>a</ID><Prefix>p</Prefix><Status>enabled</Status>` + oneDay), "MalformedXML", "Status"},
	{rule(`<ID>a</ID><Prefix>p</Prefix>` + oneDay), "MalformedXML", "no Status"},
	{rule(`<ID>` + strings.Repeat("x", 256) + `</ID><Prefix>p</Prefix>` + enabled + oneDay), "InvalidArgument", "ID length"},
	{`<LifecycleConfiguration><Rule>` + fine + oneDay + `</Rule><Rule>` + fine + oneDay + `</Rule></LifecycleConfiguration>`, "InvalidArgument", "unique"},
	{rule(`<ID>a</ID><Filter><Prefix>p</Prefix><Tag><Key>k</Key><Value>v</Value></Tag></Filter>` + enabled + oneDay), "MalformedXML", "And"},
	{rule(`<ID>a</ID><Filter><And/></Filter>` + enabled + oneDay), "MalformedXML", "And"},
	{rule(`<ID>a</ID><Filter>p</Filter>` + enabled + oneDay), "MalformedXML", "text"},
	{rule(`<ID>a</ID><Filter><And><Tag><Key>k</Key><Value>1</Value></Tag><Tag><Key>k</Key><Value>2</Value></Tag></And></Filter>` + enabled + oneDay), "InvalidRequest", "Duplicate Tag"},
	{rule(`<ID>a</ID><Filter><Tag><Key></Key><Value>1</Value></Tag></Filter>` + enabled + oneDay), "InvalidArgument", "tag"},
	{rule(`<ID>a</ID><Filter><Tag><Key>k</Key><Value>1</Value></Tag></Filter>` + enabled + oneDay + `<AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload>`), "InvalidRequest", "two rules"},
	{rule(`<ID>a</ID><Filter><And><Prefix>p</Prefix><ObjectSizeGreaterThan>5</ObjectSizeGreaterThan><ObjectSizeLessThan>6</ObjectSizeLessThan></And></Filter>` + enabled + oneDay), "InvalidRequest", "No size"},
	{`{"Rules":[{"ID":"a","Prefix":"p","Status":"Enabled","Expiration":{"Days":1},"Transitions":[{"Days":1}]}]}`, "NotImplemented", "Transition"},
	{`{"Rules":[{"ID":"a","ID":"b","Prefix":"p","Status":"Enabled","Expiration":{"Days":1}}]}`, "MalformedXML", "ID"},
	{`{"Rules":[]} x`, "MalformedXML", "text after its end"},
	{`{"Rules":null}`, "MalformedXML", "no rules"},
}

func TestWhatCannotBeMeantIsRefusedByName(t *testing.T) {
	for _, c := range refusals {
		rs, err := Parse([]byte(c.body))
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Message, c.names) {
			t.Errorf("%s\n: %v, %v; want %s naming %q", c.body, rs, err, c.code, c.names)
		}
	}
}

func TestRulesWithoutIDGetTheSameOneAgain(t *testing.T) {
	one, err := Parse([]byte(rule(`<Prefix>p</Prefix>` + enabled + oneDay)))
	if err != nil {
		t.Fatal(err)
	}
	two, err := Parse([]byte(rule(`<Prefix>p</Prefix><Status>Disabled</Status>` + oneDay)))
	if err != nil || one[0].ID != two[0].ID || one[0].ID == "" {
		t.Errorf("IDs %q and %q, %v: the same rule must keep its ID", one[0].ID, two[0].ID, err)
	}
}

// FuzzParse holds that whatever is accepted can be written and read again as the
// same rules, in XML, in JSON and as the ledger keeps it.
func FuzzParse(f *testing.F) {
	for _, c := range sent {
		f.Add([]byte(c.body))
	}
	for _, c := range refusals {
		f.Add([]byte(c.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		rs, err := Parse(body)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Code == "" || e.Message == "" {
				t.Fatalf("an error without a code: %v", err)
			}
			return
		}
		again, err := Parse(rs.XML())
		if err != nil || !reflect.DeepEqual(rs, again) {
			t.Fatalf("%+v\nwritten as %s\nis read as %+v, %v", rs, rs.XML(), again, err)
		}
		doc, err := rs.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if again, err = Parse(doc); err != nil || !reflect.DeepEqual(rs, again) {
			t.Fatalf("%+v\nwritten as %s\nis read as %+v, %v", rs, doc, again, err)
		}
		if again, err = Decode(rs.Encode()); err != nil || !reflect.DeepEqual(rs, again) {
			t.Fatalf("%+v\nkept as %s\nis read as %+v, %v", rs, rs.Encode(), again, err)
		}
		if stamp := rs.Stamp(Facts{Key: "p", Modified: 1}); stamp.Rule != 0 {
			t.Fatalf("a rule without a number stamped: %+v", stamp)
		}
	})
}
