// Package schedule decides when a routine of the reclaim engine begins a pass and
// when it has to rest: every interval, or by a cron expression in a time zone, with
// an optional end of the window. It is pure: it reads no clock. Running the
// routines is the job of package reclaim.
//
// The text forms, which Parse reads and String writes:
//
//	every 1m
//	cron "0 0 * * *" zone Europe/Berlin
//	cron "0 0 * * *" zone Europe/Berlin until 06:00
//	cron "0 0 * * *" zone Europe/Berlin until 06:00 every 5m
//
// The third begins a pass at midnight, which goes on until nothing is due, and
// rests from 06:00 until the next midnight. The fourth checks again every five
// minutes while the window is open.
//
// Daylight saving: a wall-clock time that a change skips means the instant of
// the change; one that happens twice means the first of the two, except that an
// expression whose hour begins with "*" runs through both, as cron does.
package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"github.com/lethe-storage/lethe"
)

// Spec is a schedule in its parts, as a configuration names them. Either Every
// or Cron is required; Zone and Until belong to Cron.
type Spec struct {
	// Every is the interval between the starts of two passes, 1 ms to 1 year;
	// together with Cron and Until, between two passes in an open window.
	Every time.Duration
	// Cron has five fields (minute, hour, day of month, month, day of week; if
	// both days are restricted, either may match) or is one of @hourly, @daily,
	// @midnight, @weekly, @monthly, @yearly, @annually.
	Cron string
	// Zone is an IANA name such as "Europe/Berlin"; "Local" is the machine's
	// zone, empty is UTC.
	Zone string
	// Until is the wall-clock time HH:MM in Zone at which an open window
	// closes, at most 24 hours after it opened; empty means that it never does.
	Until string
}

// Schedule is a valid Spec. The zero value never begins a pass. It is immutable
// and safe for concurrent use.
type Schedule struct {
	spec   Spec
	cron   *cron.SpecSchedule // in wall-clock time, taken as UTC
	zone   *time.Location
	until  time.Duration // since midnight, if spec.Until is set
	repeat bool          // runs through both of a repeated hour
}

const (
	minEvery = time.Millisecond
	maxEvery = 365 * 24 * time.Hour
	// searchYears covers the rarest dates: 29 February on a given weekday.
	searchYears = 50
	// endOfTime is 1 January 9000: no schedule is searched beyond it.
	endOfTime lethe.Time = 221_845_392_000_000_000
)

var cronParser = cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.DowOrDom).
	WithMaxSearchYears(searchYears)

// New checks a Spec. Its errors name what is wrong and what is accepted.
func New(spec Spec) (Schedule, error) {
	s := Schedule{spec: spec}
	if spec.Every == 0 && spec.Cron == "" {
		return Schedule{}, fmt.Errorf("schedule: neither every nor cron is set; write for example: every 1m")
	}
	if spec.Every != 0 && (spec.Every < minEvery || spec.Every > maxEvery) {
		return Schedule{}, fmt.Errorf("schedule: every %s is out of range; use 1ms to 365d", lethe.FormatTTL(spec.Every))
	}
	if spec.Cron == "" {
		if spec.Zone != "" || spec.Until != "" {
			return Schedule{}, fmt.Errorf("schedule: zone and until need a cron expression that opens the window")
		}
		return s, nil
	}
	if spec.Every != 0 && spec.Until == "" {
		return Schedule{}, fmt.Errorf("schedule: cron together with every needs until, the time HH:MM at which the window closes")
	}
	return s, s.parseCron()
}

func (s *Schedule) parseCron() (err error) {
	defer func() {
		if err != nil {
			*s = Schedule{}
		}
	}()
	if s.spec.Until != "" {
		at, err := time.Parse("15:04", s.spec.Until)
		if err != nil || len(s.spec.Until) != len("15:04") {
			return fmt.Errorf("schedule: until %q is not a time of day; use HH:MM such as 06:00", s.spec.Until)
		}
		s.until = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
	if s.zone, err = time.LoadLocation(s.spec.Zone); err != nil {
		return fmt.Errorf("schedule: zone %q is not known; use a name such as Europe/Berlin, UTC or Local", s.spec.Zone)
	}
	s.spec.Cron = strings.Join(strings.Fields(s.spec.Cron), " ")
	if s.cron, err = parseExpression(s.spec.Cron); err != nil {
		return fmt.Errorf(`schedule: cron %q: %w; use five fields such as "0 0 * * *" (minute, hour, day, month, weekday), or @daily`,
			s.spec.Cron, err)
	}
	fields := strings.Fields(s.spec.Cron)
	s.repeat = s.spec.Cron == "@hourly" || len(fields) == 5 && strings.ContainsAny(fields[1][:1], "*?")
	return nil
}

func parseExpression(expr string) (*cron.SpecSchedule, error) {
	if strings.Contains(expr, "=") {
		return nil, fmt.Errorf("has a zone in it; write it as zone")
	}
	if strings.HasPrefix(expr, "@every") {
		return nil, fmt.Errorf("is an interval; write it as every")
	}
	parsed, err := cronParser.Parse(expr)
	if err != nil {
		return nil, err
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("is no cron expression")
	}
	// The parsed expression is used in wall-clock time only; the zone is handled
	// here.
	spec.Location = time.UTC
	if spec.Next(time.Unix(0, 0).UTC()).IsZero() {
		return nil, fmt.Errorf("never comes")
	}
	return spec, nil
}

// Spec returns the schedule in its parts.
func (s Schedule) Spec() Spec { return s.spec }

// IsZero reports whether s is the zero Schedule, which never begins a pass.
func (s Schedule) IsZero() bool { return s.spec == Spec{} }

// Next returns the first instant after the given one at which a pass begins;
// lethe.Forever if there is none. For an interval that is after + Every.
func (s Schedule) Next(after lethe.Time) lethe.Time {
	if s.cron == nil {
		if s.spec.Every == 0 {
			return lethe.Forever
		}
		return after.Add(s.spec.Every)
	}
	if after >= endOfTime {
		return lethe.Forever
	}
	after = max(after, -1)
	next := s.opening(after)
	if s.spec.Every == 0 {
		return next
	}
	if open, closes := s.Window(after); open {
		if tick := after.Add(s.spec.Every); tick < closes && tick < next {
			return tick
		}
	}
	return next
}

// Window reports whether a pass may work at the instant, and if so when it has
// to stop; if not, closes is zero. A schedule without an end of its window is
// always open and closes at lethe.Forever: passes begin at Next, and go on until
// nothing is due. The zero Schedule is never open.
//
// A process that starts while a window is open begins its pass at once.
func (s Schedule) Window(at lethe.Time) (open bool, closes lethe.Time) {
	if s.IsZero() {
		return false, 0
	}
	if s.spec.Until == "" {
		return true, lethe.Forever
	}
	if at < 0 || at >= endOfTime {
		return false, 0
	}
	// A window that covers at was opened since the last closing time; one that
	// opens exactly then lasts until the next.
	since, closes := s.closings(at)
	if s.opening(since-1) > at {
		return false, 0
	}
	return true, closes
}
