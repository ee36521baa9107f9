package s3blob

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Reasons why a bucket is unfit.
const (
	versionsOn = "it keeps versions, so what is deleted stays and is paid for; use a bucket that never had versions enabled (suspending them does not help)"
	lockOn     = "it has object lock, so what is put there cannot be deleted when it should be; use a bucket without"
)

// settings reads the bucket's settings that would make deletions or writes wrong. A
// setting that cannot be read counts as harmless: the trial finds versions as well.
func (s *Store) settings(ctx context.Context, c *Capabilities) error {
	for _, ask := range []func(context.Context, *Capabilities) error{s.askVersions, s.askLock, s.askLifecycle} {
		asked, cancel := s.bounded(ctx, 0)
		err := ask(asked, c)
		cancel()
		if err == nil {
			continue
		}
		v := judge(ctx, err)
		if v.status == 0 || v.slow || v.status >= 500 && !v.certain {
			v.down = ctx.Err() == nil
			return fmt.Errorf("settings of bucket %s: %w", s.o.Bucket, s.kinds(v))
		}
	}
	return nil
}

func (s *Store) askVersions(ctx context.Context, c *Capabilities) error {
	c.Versions = Unreadable
	out, err := s.client.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &s.o.Bucket})
	if err != nil {
		return err
	}
	switch out.Status {
	case types.BucketVersioningStatusEnabled:
		c.Versions = On
	case types.BucketVersioningStatusSuspended:
		c.Versions = Suspend
	default:
		c.Versions = Off
		return nil
	}
	c.NoPut, c.NoDelete = versionsOn, versionsOn
	return nil
}

func (s *Store) askLock(ctx context.Context, c *Capabilities) error {
	c.ObjectLock = Unreadable
	out, err := s.client.GetObjectLockConfiguration(ctx, &s3.GetObjectLockConfigurationInput{Bucket: &s.o.Bucket})
	if err != nil {
		if v := judge(ctx, err); v.is("ObjectLockConfigurationNotFoundError", "ObjectLockConfigurationNotFound", "NoSuchObjectLockConfiguration") {
			c.ObjectLock = Off
			return nil
		}
		return err
	}
	c.ObjectLock = Off
	if l := out.ObjectLockConfiguration; l != nil && l.ObjectLockEnabled == types.ObjectLockEnabledEnabled {
		c.ObjectLock = On
		c.NoPut, c.NoDelete = or(c.NoPut, lockOn), or(c.NoDelete, lockOn)
	}
	return nil
}

func (s *Store) askLifecycle(ctx context.Context, c *Capabilities) error {
	c.Lifecycle = Unreadable
	out, err := s.client.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &s.o.Bucket})
	if err != nil {
		if v := judge(ctx, err); v.is("NoSuchLifecycleConfiguration") {
			c.Lifecycle = Off
			return nil
		}
		return err
	}
	c.Lifecycle = Off
	for _, rule := range out.Rules {
		if harm := s.harm(rule); harm != "" {
			c.Lifecycle = On
			name := "without a name"
			if rule.ID != nil {
				name = *rule.ID
			}
			c.NoPut = or(c.NoPut, fmt.Sprintf("its lifecycle rule %q %s objects below our prefix %q; remove the rule, or keep it to other prefixes", name, harm, s.o.Prefix))
		}
	}
	return nil
}

// harm describes what a lifecycle rule would do to the store's objects; empty if it
// does not apply to them.
func (s *Store) harm(rule types.LifecycleRule) string {
	if rule.Status != types.ExpirationStatusEnabled || !s.covers(rule) {
		return ""
	}
	if e := rule.Expiration; e != nil && (e.Days != nil || e.Date != nil) {
		return "deletes"
	}
	for _, t := range rule.Transitions {
		switch t.StorageClass {
		case types.TransitionStorageClassGlacier, types.TransitionStorageClassDeepArchive:
			return "moves to an archive, from where they cannot be read at once,"
		}
	}
	return ""
}

// covers reports whether the rule may apply to the store's objects, which have no
// tags.
func (s *Store) covers(rule types.LifecycleRule) bool {
	prefix := olderPrefix(rule)
	if f := rule.Filter; f != nil {
		switch {
		case f.Tag != nil, f.And != nil && len(f.And.Tags) > 0:
			return false
		case f.Prefix != nil:
			prefix = *f.Prefix
		case f.And != nil && f.And.Prefix != nil:
			prefix = *f.And.Prefix
		}
	}
	return strings.HasPrefix(prefix, s.o.Prefix) || strings.HasPrefix(s.o.Prefix, prefix)
}

// olderPrefix is a rule's prefix where it has no filter. S3 still returns rules in
// this form; the SDK deprecates it only for setting them.
func olderPrefix(rule types.LifecycleRule) string {
	if prefix, ok := reflect.ValueOf(rule).FieldByName("Prefix").Interface().(*string); ok && prefix != nil {
		return *prefix
	}
	return ""
}
