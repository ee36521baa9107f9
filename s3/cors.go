package s3

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
)

// cors are the rules of a bucket for scripts of other origins, as XML and in the JSON of S3's
// command line.
type cors struct {
	XMLName xml.Name   `json:"-" xml:"CORSConfiguration"`
	Space   string     `json:"-" xml:"xmlns,attr,omitempty"`
	Rules   []corsRule `json:"CORSRules" xml:"CORSRule"`
}

type corsRule struct {
	ID      string   `json:"ID,omitempty" xml:"ID,omitempty"`
	Headers []string `json:"AllowedHeaders,omitempty" xml:"AllowedHeader,omitempty"`
	Methods []string `json:"AllowedMethods" xml:"AllowedMethod"`
	Origins []string `json:"AllowedOrigins" xml:"AllowedOrigin"`
	Exposed []string `json:"ExposeHeaders,omitempty" xml:"ExposeHeader,omitempty"`
	MaxAge  *int32   `json:"MaxAgeSeconds,omitempty" xml:"MaxAgeSeconds,omitempty"`
}

// CORSXML returns rules that are written as XML, or in the JSON of S3's command line, as XML.
// Unknown names in JSON are refused, with *Error.
func CORSXML(text []byte) ([]byte, error) {
	text = bytes.TrimSpace(text)
	if !bytes.HasPrefix(text, []byte("{")) {
		if !WellFormed(text) {
			return nil, malformedCORS("The rules are neither JSON nor one XML document.")
		}
		return text, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	doc := cors{Space: Namespace}
	if err := d.Decode(&doc); err != nil {
		return nil, malformedCORS("The rules cannot be read: " + err.Error() + ".")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, malformedCORS("Something follows the rules.")
	}
	return xml.Marshal(doc)
}

// CORSJSON returns rules of a bucket in the JSON of S3's command line.
func CORSJSON(doc []byte) (string, error) {
	var rules cors
	if err := xml.Unmarshal(doc, &rules); err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(rules, "", "  ")
	return string(text), err
}

func malformedCORS(why string) error {
	return &Error{Code: "MalformedCORS", Message: why, Status: http.StatusBadRequest}
}
