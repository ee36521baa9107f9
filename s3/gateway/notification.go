package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3api/controllers"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

var notificationActions = map[string]bucketAction{
	"PutBucketNotificationConfiguration": {
		"s3_PutBucketNotificationConfiguration", auth.PutBucketNotificationAction, auth.PermissionWrite, (*Backend).putNotifications,
	},
	"GetBucketNotificationConfiguration": {
		"s3_GetBucketNotificationConfiguration", auth.GetBucketNotificationAction, auth.PermissionRead, (*Backend).getNotifications,
	},
}

// putNotifications replaces the notification rules of a bucket; an empty document removes
// them.
func (b *Backend) putNotifications(rctx context.Context, bucket string, body []byte) (*controllers.Response, error) {
	o, err := b.begin(rctx, need{bucket: bucket, access: authz.Setting})
	defer o.cancel()
	if err != nil {
		return &controllers.Response{}, err
	}
	rules, err := notification.Parse(body, func(target string) error { return b.store.Notifications.MayUse(bucket, target) })
	if err == nil {
		err = b.setNotifications(o, ledger.NotificationChange{Bucket: bucket, Into: o.bucket, Rules: rules})
	}
	return &controllers.Response{}, b.fail(o, notificationError(err))
}

func (b *Backend) setNotifications(o *op, c ledger.NotificationChange) error {
	if was, err := b.store.Notifications.Notifications(o.ctx, c.Bucket); err == nil {
		o.req.changes(s3.ChangedNotifications, s3.ShownDocument([]byte(was.Encode())))
	}
	err := b.store.Notifications.SetNotifications(o.ctx, c)
	if err == nil {
		o.req.changed(s3.ChangedNotifications, s3.ShownDocument([]byte(c.Rules.Encode())))
	}
	return err
}

// getNotifications returns the notification rules of a bucket, an empty document if there are
// none.
func (b *Backend) getNotifications(rctx context.Context, bucket string, _ []byte) (*controllers.Response, error) {
	o, err := b.begin(rctx, need{bucket: bucket})
	defer o.cancel()
	if err != nil {
		return &controllers.Response{}, err
	}
	rules, err := b.store.Notifications.Notifications(o.ctx, bucket)
	if err == nil {
		err = b.stillMeant(o)
	}
	if err != nil {
		return &controllers.Response{}, b.fail(o, err)
	}
	return &controllers.Response{Data: rules.XML(), Headers: map[string]*string{fiber.HeaderContentType: to(fiber.MIMEApplicationXML)}}, nil
}

// notificationError returns S3's error for rules that are refused.
func notificationError(err error) error {
	var refused *notification.Error
	if !errors.As(err, &refused) {
		return err
	}
	status := http.StatusBadRequest
	if refused.Code == "NotImplemented" {
		status = http.StatusNotImplemented
	}
	return s3err.APIError{Code: refused.Code, Description: refused.Message, HTTPStatusCode: status}
}
