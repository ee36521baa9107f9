package notification

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/lethe-storage/lethe"
)

// ReasonRestored is the Reason of an object that came back from the trash.
const ReasonRestored lethe.Reason = "restored"

// Event is one thing that happened to one version of an object.
type Event struct {
	Kind    Kind         `json:"kind"`
	Rule    string       `json:"rule"`            // of the bucket, that tells of it
	Owner   string       `json:"owner,omitempty"` // of the bucket
	Bucket  string       `json:"bucket"`
	Key     string       `json:"key"`
	Version lethe.ID     `json:"version"`
	Size    int64        `json:"size"` // bytes
	ETag    string       `json:"etag"`
	Reason  lethe.Reason `json:"reason,omitempty"` // why it is gone, or how it came
	By      lethe.Caller `json:"by,omitzero"`
}

// ID returns the name of the event with a number, the same in each repetition.
func (e *Event) ID(no int64) string { return string(e.Version) + "-" + Sequencer(no) }

// message is S3's form of one event.
type message struct {
	Records []record `json:"Records"`
}

type record struct {
	EventVersion     string            `json:"eventVersion"`
	EventSource      string            `json:"eventSource"`
	AWSRegion        string            `json:"awsRegion"`
	EventTime        string            `json:"eventTime"`
	EventName        Kind              `json:"eventName"`
	UserIdentity     principal         `json:"userIdentity"`
	ResponseElements map[string]string `json:"responseElements"`
	S3               entity            `json:"s3"`
	Lethe            extra             `json:"lethe"`
}

type principal struct {
	ID string `json:"principalId"`
}

type entity struct {
	SchemaVersion   string `json:"s3SchemaVersion"`
	ConfigurationID string `json:"configurationId"`
	Bucket          bucket `json:"bucket"`
	Object          object `json:"object"`
}

type bucket struct {
	Name  string    `json:"name"`
	Owner principal `json:"ownerIdentity"`
	ARN   string    `json:"arn"`
}

type object struct {
	Key       string   `json:"key"`
	Size      int64    `json:"size"`
	ETag      string   `json:"eTag"`
	Version   lethe.ID `json:"versionId"`
	Sequencer string   `json:"sequencer"`
}

// extra is what S3 does not tell.
type extra struct {
	ID     string       `json:"id"`
	Reason lethe.Reason `json:"reason,omitempty"`
}

// Sequencer returns the place among the events of a key, as text that sorts so.
func Sequencer(no int64) string { return fmt.Sprintf("%016X", no) }

// Message returns the event in S3's form: when it happened, and its number in the ledger.
func (e *Event) Message(at lethe.Time, no int64, region string) ([]byte, error) {
	r := record{
		EventVersion: "2.3", EventSource: "aws:s3", AWSRegion: region, EventName: e.Kind,
		EventTime: at.Time().UTC().Format("2006-01-02T15:04:05.000Z"), UserIdentity: principal{e.By.Key},
		ResponseElements: map[string]string{"x-amz-request-id": e.By.Request},
		S3: entity{
			SchemaVersion: "1.0", ConfigurationID: e.Rule,
			Bucket: bucket{Name: e.Bucket, Owner: principal{e.Owner}, ARN: "arn:aws:s3:::" + e.Bucket},
			Object: object{Key: strings.ReplaceAll(url.QueryEscape(e.Key), "%2F", "/"), Size: e.Size, ETag: e.ETag, Version: e.Version, Sequencer: Sequencer(no)},
		},
		Lethe: extra{ID: e.ID(no), Reason: e.Reason},
	}
	body, err := json.Marshal(message{[]record{r}})
	if err != nil {
		return nil, fmt.Errorf("message of event %s: %w", e.ID(no), err)
	}
	return body, nil
}
