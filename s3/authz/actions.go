package authz

import "slices"

// Action is an action of S3 that a policy allows or denies, such as "s3:GetObject".
type Action string

// everyAction stands for all of them.
const everyAction Action = "s3:*"

// Actions are those that policies are evaluated for. An action missing here is
// allowed by no policy.
var Actions = []Action{
	"s3:GetBucketAcl", "s3:CreateBucket", "s3:PutBucketAcl", "s3:DeleteBucket", "s3:PutBucketVersioning",
	"s3:GetBucketVersioning", "s3:PutBucketPolicy", "s3:GetBucketPolicy", "s3:DeleteBucketPolicy",
	"s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:ListBucketMultipartUploads", "s3:PutObject",
	"s3:GetObject", "s3:GetObjectVersion", "s3:DeleteObject", "s3:DeleteObjectVersion", "s3:GetObjectAcl",
	"s3:GetObjectAttributes", "s3:GetObjectVersionAttributes", "s3:PutObjectAcl", "s3:RestoreObject",
	"s3:GetBucketTagging", "s3:PutBucketTagging", "s3:GetObjectTagging", "s3:GetObjectVersionTagging",
	"s3:PutObjectTagging", "s3:PutObjectVersionTagging", "s3:DeleteObjectTagging", "s3:DeleteObjectVersionTagging",
	"s3:ListBucketVersions", "s3:ListBucket", "s3:GetBucketObjectLockConfiguration",
	"s3:PutBucketObjectLockConfiguration", "s3:GetObjectLegalHold", "s3:PutObjectLegalHold", "s3:GetObjectRetention",
	"s3:PutObjectRetention", "s3:BypassGovernanceRetention", "s3:PutBucketOwnershipControls",
	"s3:GetBucketOwnershipControls", "s3:PutBucketCORS", "s3:GetBucketCORS", "s3:PutAnalyticsConfiguration",
	"s3:GetAnalyticsConfiguration", "s3:PutEncryptionConfiguration", "s3:GetEncryptionConfiguration",
	"s3:PutIntelligentTieringConfiguration", "s3:GetIntelligentTieringConfiguration", "s3:PutInventoryConfiguration",
	"s3:GetInventoryConfiguration", "s3:PutLifecycleConfiguration", "s3:GetLifecycleConfiguration",
	"s3:PutBucketLogging", "s3:GetBucketLogging", "s3:PutBucketRequestPayment", "s3:GetBucketRequestPayment",
	"s3:PutMetricsConfiguration", "s3:GetMetricsConfiguration", "s3:PutReplicationConfiguration",
	"s3:GetReplicationConfiguration", "s3:PutBucketPublicAccessBlock", "s3:GetBucketPublicAccessBlock",
	"s3:PutBucketNotification", "s3:GetBucketNotification", "s3:PutAccelerateConfiguration",
	"s3:GetAccelerateConfiguration", "s3:PutBucketWebsite", "s3:GetBucketWebsite", "s3:DeleteBucketWebsite",
	"s3:GetBucketPolicyStatus", "s3:GetBucketLocation",
}

// ActionSet has, for each of Actions, whether it is in the set.
type ActionSet []bool

// ActionsThat returns the actions for which has is true.
func ActionsThat(has func(Action) bool) ActionSet {
	out := make(ActionSet, len(Actions))
	for i, a := range Actions {
		out[i] = has(a)
	}
	return out
}

func (s ActionSet) add(other ActionSet) {
	for i, has := range other {
		s[i] = s[i] || has
	}
}

// Only returns the actions that are in both sets.
func (s ActionSet) Only(other ActionSet) ActionSet {
	out := make(ActionSet, len(s))
	for i, has := range s {
		out[i] = has && other[i]
	}
	return out
}

// has reports whether an action is in the set.
func (s ActionSet) has(a Action) bool {
	i := slices.Index(Actions, a)
	return s != nil && i >= 0 && s[i]
}

// Names returns the names of the actions, or the one that stands for all.
func (s ActionSet) Names() (out []Action) {
	for i, has := range s {
		if has {
			out = append(out, Actions[i])
		}
	}
	if len(out) == len(Actions) {
		return []Action{everyAction}
	}
	return out
}
