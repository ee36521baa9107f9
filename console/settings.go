package console

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
)

// setBucket changes the settings of a bucket; an empty field is none. What would evict objects
// is done once the form says that they may go.
func (v *visit) setBucket() (note, error) {
	req, err := settingsOf(v.r.PostForm, "none")
	if err != nil {
		return note{}, err
	}
	req.Name = v.r.URL.Query().Get("name")
	ctx := v.as()
	b, err := v.bucketNamed(req.Name)
	if err != nil {
		return note{}, err
	}
	beyond := b.BeyondQuota(req)
	if goes := words.Excess(beyond.Objects, beyond.Bytes); goes != "" && v.r.PostForm.Get("evict") == "" {
		v.evicts = goes
		return note{}, &api.Error{Code: "bad_request", Message: "about " + goes + " beyond the quota would go for good: what was used longest ago"}
	}
	_, err = api.Call[api.Bucket](ctx, v.h.admin, "buckets/set", req)
	return note{Text: "The settings are in use."}, err
}

// settingsOf reads the settings of a bucket from a form. An empty field is the text that stands
// for it; if that is empty, too, the setting is left as it is.
func settingsOf(form url.Values, empty string) (api.BucketChange, error) {
	var req api.BucketChange
	for field, to := range map[string]**string{"default_ttl": &req.DefaultTTL, "max_ttl": &req.MaxTTL, "undo": &req.Undo, "default_idle": &req.DefaultIdle, "max_idle": &req.MaxIdle} {
		text := orElse(form.Get(field), empty)
		if text == "" {
			continue
		}
		if _, err := lethe.ParseTTL(text); text != "none" && err != nil {
			return req, &api.Error{Code: "bad_request", Message: err.Error()}
		}
		*to = &text
	}
	if text := orElse(form.Get("quota"), empty); text != "" {
		n, err := uint64(0), error(nil)
		if text != "none" {
			n, err = humanize.ParseBytes(text)
		}
		if err != nil || n > 1<<62 {
			return req, &api.Error{Code: "bad_request", Message: strconv.Quote(text) + " is no size; write one such as 10GiB"}
		}
		bytes := int64(n)
		req.QuotaBytes = &bytes
	}
	if text := orElse(form.Get("objects"), empty); text != "" {
		n, err := int64(0), error(nil)
		if text != "none" {
			n, err = strconv.ParseInt(text, 10, 64)
		}
		if err != nil || n < 0 {
			return req, &api.Error{Code: "bad_request", Message: strconv.Quote(text) + " is no number of objects"}
		}
		req.QuotaObjects = &n
	}
	return req, evictionOf(form, &req)
}

// evictionOf reads what a bucket does when it is full. Marks count only where it evicts; an empty
// one is the default.
func evictionOf(form url.Values, to *api.BucketChange) error {
	full := form.Get("when_full")
	if full == "" {
		return nil
	}
	if to.WhenFull = &full; full != "evict" {
		return nil
	}
	order, age := orElse(form.Get("evict_order"), string(ledger.EvictByRead)), orElse(form.Get("evict_min_age"), "none")
	to.EvictOrder, to.EvictMinAge = &order, &age
	high, low := ledger.DefaultEvictHigh, ledger.DefaultEvictLow
	to.EvictHigh, to.EvictLow = &high, &low
	for field, mark := range map[string]*int{"evict_high": &high, "evict_low": &low} {
		text := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(form.Get(field)), "%"))
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return &api.Error{Code: "bad_request", Message: strconv.Quote(text) + " is no percentage; write one such as 90"}
		}
		*mark = n
	}
	if strings.TrimSpace(form.Get("evict_low")) == "" {
		low = min(low, high)
	}
	return nil
}

func orElse(text, empty string) string {
	if text = strings.TrimSpace(text); text == "" {
		return empty
	}
	return text
}

// setting is the text of a field of the settings: as it was typed, or as it is.
func (f folder) setting(field, now string) string {
	if f.Problem != "" {
		return f.Typed.Get(field)
	}
	return now
}

// exactSize writes a size so that reading it gives the same number.
func exactSize(n int64) string {
	if n == 0 {
		return ""
	}
	for _, u := range []struct {
		name string
		of   int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n%u.of == 0 {
			return strconv.FormatInt(n/u.of, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

func exactNumber(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
