package gateway

import (
	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"
)

// exposeRuled exposes to scripts of other origins the headers that the bucket's
// rule names, as S3 does. versitygw adds two of its own.
func exposeRuled(ctx fiber.Ctx, req *request) {
	h := &ctx.Response().Header
	if req.cors == nil || len(h.Peek(fiber.HeaderAccessControlAllowOrigin)) == 0 {
		return
	}
	method := auth.CORSHTTPMethod(ctx.Get(fiber.HeaderAccessControlRequestMethod))
	if method.IsEmpty() {
		method = auth.CORSHTTPMethod(ctx.Method())
	}
	rules, err := auth.ParseCORSOutput(req.cors)
	if err != nil {
		return
	}
	names, err := auth.ParseCORSHeaders(ctx.Get(fiber.HeaderAccessControlRequestHeaders))
	if err != nil {
		return
	}
	allowed, err := rules.IsAllowed(ctx.Get(fiber.HeaderOrigin), method, names, "")
	if err != nil {
		return
	}
	h.Del(fiber.HeaderAccessControlExposeHeaders)
	if allowed.ExposedHeaders != "" {
		h.Set(fiber.HeaderAccessControlExposeHeaders, allowed.ExposedHeaders)
	}
}
