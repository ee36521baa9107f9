package gateway

import (
	"io"

	"github.com/gofiber/fiber/v3"

	"github.com/lethe-storage/lethe/internal/budget"
)

const (
	// defaultDocuments is how many bytes the documents under way may hold together.
	defaultDocuments = 128 << 20
	// heldPerByte is how many bytes one of a document holds while it is received and read.
	heldPerByte = 5
)

// documentBudget is half for one address, and in any case the largest document for each
// of two.
func documentBudget(total int64) *budget.Budget {
	total = max(total, 2*(heldPerByte*maxDocument+budget.Unit))
	return budget.New(total, total/2)
}

// charge has the request's body, if it is a document, take memory for what is read of
// it. The caller calls release when the request was answered.
func (s *Server) charge(ctx fiber.Ctx, req *request) (release func()) {
	stream := ctx.Request().BodyStream()
	if stream == nil || req.form || streams(ctx, req) {
		return func() {}
	}
	held := s.documents.Account(limitedBy(req.event.Address))
	req.body = &budget.Reader{R: stream, Held: held, Times: heldPerByte, Beyond: io.ErrUnexpectedEOF}
	setBody(ctx.Request(), req.body)
	return func() {
		held.Close()
		// Where it was read whole, the web server has let go of it.
		if ctx.Request().IsBodyStream() {
			setBody(ctx.Request(), stream)
		}
	}
}

// starved says that there was no memory for the request's body.
func (r *request) starved() bool { return r.body != nil && r.body.Spent }
