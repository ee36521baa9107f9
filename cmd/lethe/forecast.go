package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// forecastAsked is what the command line asks of a forecast.
type forecastAsked struct {
	days            api.ForecastRequest
	one             api.ForecastDayRequest
	day             string
	limit           int
	all             bool
	refresh, asJSON bool
}

func (c *cli) forecastCommand() *cobra.Command {
	var a forecastAsked
	cmd := &cobra.Command{
		Use:   "forecast [s3://bucket[/prefix]]",
		Short: "Show what goes in the next days, when, and by what",
		Long: `Show what goes on each of the next days if nobody acts meanwhile: by times to live, by the
lifecycle rules in force, at the end of undo windows, and incomplete uploads. Days are in
UTC. What a hold keeps is counted separately, and limits that would stop a day are named,
except for a prefix, since limits count whole buckets.

Small buckets are counted for the answer. Of larger ones it uses the last count of the
routine usage; --refresh counts first. With --day, list the objects that go on that day.`,
		Example: `  lethe forecast s3://photos
  lethe forecast --day tomorrow
  lethe forecast --day 2031-01-31 --by rule`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.check(args); err != nil {
				return err
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error { return c.forecastOf(cmd.Context(), client, a) })
		},
	}
	f := cmd.Flags()
	f.IntVar(&a.days.Days, "days", 30, "how `many` days, today included")
	f.BoolVar(&a.refresh, "refresh", false, "count all buckets first")
	f.StringVar(&a.day, "day", "", "list what goes on a `day`: today, tomorrow, a weekday or 2031-01-31; due is what is due already")
	f.StringVar(&a.one.By, "by", "", "of a day, only what a `cause` ends: ttl, read, rule, undo or abort")
	f.StringVar(&a.one.Rule, "rule", "", "of a day, only what the rule with this `id` ends")
	f.IntVar(&a.limit, "limit", maxListed, "of a day, list at most so `many`")
	f.BoolVar(&a.all, "all", false, "of a day, list everything")
	f.BoolVar(&a.asJSON, "json", false, "write JSON")
	c.completesFlag(cmd, "day", fixed("due", "today", "tomorrow", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
	c.completesFlag(cmd, "by", fixed("ttl", "idle", "rule", "undo", "abort"))
	return c.completes(cmd, objectPlaces)
}

func (a *forecastAsked) check(args []string) error {
	if a.days.Days < 1 || a.days.Days > 90 {
		return usageError("--days %d is not possible; use 1 to 90", a.days.Days)
	}
	if len(args) == 1 {
		bucket, prefix, err := place(args[0])
		if err != nil {
			return err
		}
		if prefix != "" && a.day != "" {
			return usageError("a day is listed of a whole bucket; write s3://%s", bucket)
		}
		a.days.Bucket, a.days.Prefix, a.one.Bucket = bucket, prefix, bucket
	}
	if a.all {
		a.limit = 0
	}
	if a.day == "" && a.one.By+a.one.Rule != "" {
		return usageError("--by and --rule are of one day: add --day")
	}
	if a.day == "" || a.day == "due" {
		return nil
	}
	at, known := dayNamed(a.day, lethe.SystemClock{}.Now().Time())
	if !known {
		return usageError("--day %s is no day; write today, tomorrow, a weekday, one such as 2031-01-31, or due for what is due already", a.day)
	}
	a.one.Day = at
	return nil
}

// dayNamed returns a day in UTC by its date or by its name: today, tomorrow, or the next of a
// weekday, today excluded.
func dayNamed(text string, now time.Time) (day time.Time, known bool) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, true
	}
	text, today := strings.ToLower(text), now.UTC().Truncate(24*time.Hour)
	for days, name := range []string{"today", "tomorrow"} {
		if text == name {
			return today.AddDate(0, 0, days), true
		}
	}
	for days := 1; days <= 7; days++ {
		at := today.AddDate(0, 0, days)
		if name := strings.ToLower(at.Weekday().String()); text == name || text == name[:3] {
			return at, true
		}
	}
	return day, false
}

func (c *cli) forecastOf(ctx context.Context, client *api.Client, a forecastAsked) error {
	if a.day != "" {
		return c.forecastDay(ctx, client, a)
	}
	if a.refresh {
		if err := c.refreshUsage(ctx, client); err != nil {
			return err
		}
	}
	f, err := api.Call[api.ForecastResult](ctx, client, "forecast", a.days)
	if err != nil {
		return err
	}
	if a.asJSON {
		return printJSON(c.out, f)
	}
	return c.forecast(f, a.days.Days)
}

func (c *cli) forecast(f api.ForecastResult, days int) error {
	if f.Doubt != "" {
		printf(c.out, "nothing goes now: %s\n\n", f.Doubt)
	}
	if len(f.Changed) > 0 {
		printf(c.out, "the rules of %s were changed after the count, which the forecast does not know of; this counts anew: %s\n\n",
			strings.Join(f.Changed, ", "), c.command("forecast", "--refresh"))
	}
	if !f.At.IsZero() {
		if len(f.Days) == 0 {
			printf(c.out, "nothing goes within %s\n", words.Plural(int64(days), "day", "days"))
		} else if err := c.forecastDays(f); err != nil {
			return err
		}
		printf(c.out, "later: %s, %s; without an end: %s, %s; %s\n", words.Plural(f.Later.Objects, "object", "objects"), words.Size(f.Later.Bytes),
			words.Plural(f.WithoutEnd.Objects, "object", "objects"), words.Size(f.WithoutEnd.Bytes), countedText(f.UsageCount, f.Now))
		if b, day := firstGoing(f); b != "" {
			printf(c.out, "\nwhich objects: %s\nto keep some:  %s\n", c.command("forecast", "s3://"+b, "--day", day), c.command("hold", "add", "s3://"+b+"/prefix/"))
		}
	}
	if len(f.Uncounted) > 0 {
		printf(c.out, "not counted yet: %s; this counts: %s\n", strings.Join(f.Uncounted, ", "), c.command("forecast", "--refresh"))
	}
	return nil
}

// firstGoing returns the first bucket of which something goes, and the day as --day takes it;
// empty if nothing goes.
func firstGoing(f api.ForecastResult) (bucket, day string) {
	for _, d := range f.Days {
		for _, by := range d.By {
			switch {
			case by.Objects == 0:
			case d.Day.IsZero():
				return by.Bucket, "due"
			default:
				return by.Bucket, d.Day.Format(time.DateOnly)
			}
		}
	}
	return "", ""
}

// dueAlready stands in the place of a day.
const dueAlready = "due already"

// forecastDays prints a line for each day, and the limits that would stop some of it.
func (c *cli) forecastDays(f api.ForecastResult) error {
	rows := [][]string{{"DAY (UTC)", "OBJECTS", "BYTES", "FREES", "BY"}}
	var total api.ForecastDay
	var stay int64
	for _, d := range f.Days {
		rows = append(rows, []string{dayName(d.Day), words.Number(d.Objects), words.Size(d.Bytes), freedText(d), causesText(d)})
		total.Objects += d.Objects
		total.Bytes += d.Bytes
		total.FreedBytes += d.FreedBytes
		total.AtLeast = total.AtLeast || d.AtLeast
		stay += staying(d)
	}
	rows = append(rows, []string{"together", words.Number(total.Objects), words.Size(total.Bytes), freedText(total), staysText(stay)})
	if err := table(c.out, rows); err != nil {
		return err
	}
	for _, d := range f.Days {
		for _, l := range d.Limits {
			c.printLimit(d.Day, l)
		}
	}
	printf(c.out, "\n")
	return nil
}

// dayName names a day; what is due already has none.
func dayName(day time.Time) string {
	if day.IsZero() {
		return dueAlready
	}
	return day.Format("Mon 2006-01-02")
}

// freedText says what a day frees. Bytes that others share go with the last of them.
func freedText(d api.ForecastDay) string {
	if d.AtLeast {
		return "at least " + words.Size(d.FreedBytes)
	}
	return words.Size(d.FreedBytes)
}

// maxCauses is how many causes of a day are named.
const maxCauses = 3

// causesText names what takes most on a day.
func causesText(d api.ForecastDay) string {
	var parts []string
	going := slices.DeleteFunc(slices.Clone(d.By), func(by api.ForecastCause) bool { return by.Objects == 0 })
	for i, by := range going {
		if i == maxCauses {
			parts = append(parts, fmt.Sprintf("%d more", len(going)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s in %s: %s", endWords(by.By, by.Rule), cmp.Or(by.Bucket, "deleted buckets"), words.Number(by.Objects)))
	}
	if d.Held.Objects > 0 {
		parts = append(parts, fmt.Sprintf("and %s (%s) that holds keep", words.Number(d.Held.Objects), words.Size(d.Held.Bytes)))
	}
	if stay := staying(d); stay > 0 {
		parts = append(parts, staysText(stay))
	}
	return strings.Join(parts, "; ")
}

// staying returns how many of a day's objects stay for limits. What a limit counts of other
// buckets too, such as all trash, is left out.
func staying(d api.ForecastDay) (n int64) {
	for _, l := range d.Limits {
		if l.Due <= d.Objects {
			n += l.Due - l.Goes
		}
	}
	return n
}

// staysText says how many of those that end stay for a limit.
func staysText(n int64) string {
	if n == 0 {
		return ""
	}
	return "of which " + words.Number(n) + " stay for a limit"
}

// endWords says by what something goes.
func endWords(by, rule string) string {
	if rule != "" {
		return "rule " + rule
	}
	return map[string]string{"ttl": "time to live", "read": "last reads", "idle": "idle time", "undo": "undo window", "abort": "incomplete uploads"}[by]
}

// limitedWords says what each kind of limit counts.
var limitedWords = map[string]string{"rules": "objects that rules end", "ttl": "objects whose time to live ends", "purge": "trash that is purged"}

// printLimit says what a limit would do on a day, and how to let it go.
func (c *cli) printLimit(day time.Time, l api.ForecastLimit) {
	of, allow, provided, when := "", []string{"limits", "allow", l.Kind}, "", "now"
	if l.Bucket != "" {
		of = " in " + l.Bucket
		allow = append(allow, l.Bucket)
	}
	if !day.IsZero() {
		if when = "once they are due"; l.Kind != "rules" {
			provided = ", if all are due within an hour"
		}
	}
	printf(c.out, "%s: a limit keeps %s of the %s due%s%s, of %s (limit %s): %s\n", dayName(day),
		words.Number(l.Due-l.Goes), words.Number(l.Due), of, provided, limitedWords[l.Kind], l.Kind, l.Why)
	printf(c.out, "  to let them go, %s: %s\n", when, c.command(allow...))
}
