package paste

import (
	"errors"
	"net/http"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// remove deletes a paste for a client with its token.
func (h *Handler) remove(w http.ResponseWriter, v *visit) error {
	if err := h.delete(v, tokenOf(v)); err != nil {
		return h.challenge(w, err)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// removeByForm is remove for the form on a paste's page.
func (h *Handler) removeByForm(w http.ResponseWriter, v *visit) error {
	v.Body = http.MaxBytesReader(w, v.Body, maxField)
	if err := v.ParseForm(); err != nil {
		return cutShort(err)
	}
	if err := h.delete(v, strings.TrimSpace(v.PostForm.Get("token"))); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	http.SetCookie(w, v.cookie(v.PathValue("code"), "", -1))
	if !v.browser {
		writeText(w, http.StatusOK, "deleted\n")
		return nil
	}
	render(w, http.StatusOK, messagePage("Deleted",
		"The paste is deleted, at once and for everybody. Its bytes follow with the next cleanup.", v.root+"/"))
	return nil
}

// tokenOf finds the delete token of a request.
func tokenOf(v *visit) string {
	if t := v.Header.Get(headerToken); t != "" {
		return strings.TrimSpace(t)
	}
	if scheme, t, ok := strings.Cut(v.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(t)
	}
	return v.URL.Query().Get("token")
}

var (
	errNoToken    = &problem{status: http.StatusUnauthorized, text: "deleting takes the delete token that came with the paste: send it as X-Delete-Token"}
	errWrongToken = &problem{status: http.StatusForbidden, text: "that is not the delete token of this paste"}
)

// challenge sets how to authenticate, which a 401 requires.
func (h *Handler) challenge(w http.ResponseWriter, err error) error {
	if errors.Is(err, errNoToken) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="delete token"`)
	}
	return err
}

// delete deletes exactly the version whose token was checked, and no other that
// took its name meanwhile.
func (h *Handler) delete(v *visit, token string) error {
	o, err := h.find(v)
	if err != nil {
		return err
	}
	if token == "" {
		return errNoToken
	}
	if !tokenMatches(token, o.Attrs.User[metaToken]) {
		return errWrongToken
	}
	done, err := h.opt.Store.Delete(v.Context(), object.DeleteRequest{
		Bucket: h.opt.Bucket, Items: []ledger.DeleteItem{{Key: o.Key, If: ledger.Precondition{IfID: o.ID}}},
	})
	if err == nil && len(done) == 1 {
		err = done[0].Err
		if errors.Is(err, lethe.ErrPreconditionFailed) || err == nil && !done[0].Existed {
			return notFound
		}
	}
	if err != nil {
		return err
	}
	h.opt.Events.deleted(o)
	return nil
}
