package s3blob

import (
	"encoding/xml"
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/blob"
)

// FuzzDeleteAnswer: for every response to a DeleteObjects there is an entry for
// each requested name and for no other. A name is gone only if the response is a
// whole document that reports exactly that name.
func FuzzDeleteAnswer(f *testing.F) {
	for _, body := range []string{
		"", "<", "<DeleteResult/>", "<html><body>no</body></html>", "<Error><Code>InternalError</Code></Error>",
		"<DeleteResult><Deleted><Key>a</Key></Deleted><Deleted><Key>b/c</Key></Deleted></DeleteResult>",
		"<?xml version=\"1.0\"?>\n<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Deleted><Key>a</Key></Deleted></DeleteResult>\n",
		"<DeleteResult><Deleted><Key>a</Key><DeleteMarker>true</DeleteMarker><DeleteMarkerVersionId>1</DeleteMarkerVersionId></Deleted></DeleteResult>",
		"<DeleteResult><Error><Key>a</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>",
		"<DeleteResult><Error><Key>b/c</Key><Code>NoSuchKey</Code></Error><Deleted><Key>b/c</Key></Deleted></DeleteResult>",
		"<DeleteResult><Deleted><Key>a</Key><Key>b/c</Key></Deleted></DeleteResult>",
		"<DeleteResult><Deleted><Key>z</Key></Deleted></DeleteResult>",
		"<DeleteResult><Deleted><Key>a</Key></Deleted></DeleteResult><DeleteResult/>",
		"<DeleteResult><Deleted><Key>a</Key></Deleted>",
		"<DeleteResult><Deleted><Key>&#97;</Key></Deleted><Deleted><Key><![CDATA[b/c]]></Key></Deleted></DeleteResult>",
		"<DeleteResult><Deleted><Key> a</Key></Deleted></DeleteResult>",
		"<!DOCTYPE x [<!ENTITY y \"a\">]><DeleteResult><Deleted><Key>&y;</Key></Deleted></DeleteResult>",
	} {
		f.Add(body)
	}
	asked := []string{"a", "b/c"}
	f.Fuzz(func(t *testing.T, body string) {
		said, err := readAnswer([]byte(body), asked)
		if err != nil {
			if said != nil && len(said) != len(asked) || !errors.Is(err, errProtocol) {
				t.Errorf("%v with %v", err, said)
			}
			return
		}
		if len(said) != len(asked) {
			t.Fatalf("%d entries", len(said))
		}
		for _, name := range asked {
			outcome, ok := said[name]
			switch {
			case !ok:
				t.Errorf("no entry for %s", name)
			case !blob.Gone(outcome):
			case !named(body, name):
				t.Errorf("%s is gone by %q", name, body)
			case outcome == nil && !strings.Contains(body, "Deleted"):
				t.Errorf("%s was deleted by %q", name, body)
			}
		}
	})
}

// named reports, by another way of parsing, whether the document has an element Key
// with just this text.
func named(body, name string) bool {
	d := xml.NewDecoder(strings.NewReader(body))
	text, depth := "", 0
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth++; token.Name.Local == "Key" {
				text = ""
			}
		case xml.CharData:
			text += string(token)
		case xml.EndElement:
			if depth--; token.Name.Local == "Key" && text == name {
				return true
			}
		}
	}
}

func TestReadAnswer(t *testing.T) {
	said, err := readAnswer([]byte(`<?xml version="1.0" encoding="UTF-8"?>
<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Deleted><Key>b/c</Key><VersionId>null</VersionId></Deleted>
  <Error><Key>a</Key><Code>AccessDenied</Code><Message>locked until tomorrow</Message></Error>
  <Error><Key>gone</Key><Code>NoSuchKey</Code></Error>
  <Deleted><Key>marked</Key><DeleteMarker>true</DeleteMarker></Deleted>
</DeleteResult>
`), []string{"a", "b/c", "gone", "marked", "unsaid"})
	if err != nil {
		t.Fatal(err)
	}
	if said["b/c"] != nil || !errors.Is(said["gone"], blob.ErrNotExist) || !errors.Is(said["marked"], errMarker) || !errors.Is(said["unsaid"], errUnsaid) {
		t.Errorf("%v", said)
	}
	if a := said["a"]; a == nil || !strings.Contains(a.Error(), "AccessDenied") || !strings.Contains(a.Error(), "locked until tomorrow") {
		t.Errorf("%v", a)
	}
}
