package api

// Lifecycle is the lifecycle rules of a bucket.
type Lifecycle struct {
	Bucket string `json:"bucket"`
	By     string `json:"by,omitempty"` // s3, operator or config
	Rules  []Rule `json:"rules"`
	// JSON is the document in the form of the aws command line, XML in S3's;
	// both empty if there are no rules.
	JSON string `json:"json,omitempty"`
	XML  string `json:"xml,omitempty"`
	// Reapplication is the progress of reapplying these rules to objects; null if it
	// is complete.
	Reapplication *Progress `json:"reapply,omitempty"`
}

// Rule is a description of a lifecycle rule.
type Rule struct {
	ID       string `json:"id"`
	Disabled bool   `json:"disabled,omitempty"`
	Text     string `json:"text"`
}

// LifecycleRequest names a bucket, and the rules to set or simulate, as XML or
// JSON. A simulation without rules uses the bucket's.
type LifecycleRequest struct {
	Bucket string `json:"bucket"`
	Rules  string `json:"rules,omitempty"`
	// Change changes one rule of the bucket instead: enable, disable or remove. Rule is its
	// id. The others stay as they are, and Rules is empty.
	Change string `json:"change,omitempty"`
	Rule   string `json:"rule,omitempty"`
	Days   int    `json:"days,omitempty"` // of a simulation; default 30
	All    bool   `json:"all,omitempty"`  // of a simulation: an event "ends" for each object and upload
}
