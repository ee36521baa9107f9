package gateway

import (
	"io"

	"github.com/gofiber/fiber/v3"

	"github.com/lethe-storage/lethe/internal/budget"
)

const (
	// defaultDocuments bounds the memory of all documents in progress, in
	// bytes.
	defaultDocuments = 128 << 20
	// heldPerByte is the memory for each byte of a document while it is
	// received and parsed.
	heldPerByte = 5
)

// documentBudget reserves half for one address, and at least the largest
// document for each of two.
func documentBudget(total int64) *budget.Budget {
	total = max(total, 2*(heldPerByte*maxDocument+budget.Unit))
	return budget.New(total, total/2)
}

// charge takes memory from the budget as the request's body is read, if it is a
// document. The caller calls release after the response.
func (s *Server) charge(ctx fiber.Ctx, req *request) (release func()) {
	stream := ctx.Request().BodyStream()
	if stream == nil || req.form || streams(ctx, req) {
		return func() {}
	}
	held := s.documents.Account(limitedBy(req.event.Address))
	req.body = &budget.Reader{R: stream, Account: held, Factor: heldPerByte, ErrFull: io.ErrUnexpectedEOF}
	setBody(ctx.Request(), req.body)
	return func() {
		held.Close()
		// A body that was read whole was already released by the web server.
		if ctx.Request().IsBodyStream() {
			setBody(ctx.Request(), stream)
		}
	}
}

// starved reports whether the budget had no memory for the request's body.
func (r *request) starved() bool { return r.body != nil && r.body.Full }
