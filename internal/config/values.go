package config

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/yamlfile"
	"github.com/lethe-storage/lethe/reclaim/schedule"
)

// Duration is a length of time in the grammar of lethe.ParseTTL; "none" or "0"
// is zero.
type Duration time.Duration

// Std returns d as a time.Duration.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes the form that UnmarshalText reads.
func (d Duration) String() string {
	if d == 0 {
		return yamlfile.None
	}
	return lethe.FormatTTL(time.Duration(d))
}

// MarshalText writes the form that UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	if yamlfile.IsNone(string(text)) || string(text) == "0s" {
		*d = 0
		return nil
	}
	parsed, err := lethe.ParseTTL(string(text))
	if err != nil {
		return fmt.Errorf("%w; or %s", err, yamlfile.None)
	}
	*d = Duration(parsed)
	return nil
}

// Size is a number of bytes, written as 64MiB, 5GB, 1.5GiB or 1024; "none" or
// "0" is zero.
type Size int64

// sizeUnits are the units that String uses, largest first.
var sizeUnits = []struct {
	name  string
	bytes Size
}{
	{"EiB", 1 << 60}, {"PiB", 1 << 50}, {"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
}

// String writes the exact number of bytes in the largest unit that allows it.
func (s Size) String() string {
	if s == 0 {
		return yamlfile.None
	}
	for _, u := range sizeUnits {
		if s%u.bytes == 0 {
			return fmt.Sprintf("%d%s", s/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%dB", int64(s))
}

// MarshalText writes the form that UnmarshalText reads.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	if yamlfile.IsNone(string(text)) {
		*s = 0
		return nil
	}
	n, ok := parseSize(string(text))
	if !ok {
		return fmt.Errorf("%q is not a size; use a number with a unit, such as 512KiB, 64MiB, 1.5GiB or 5TB, below 8EiB, or %s",
			yamlfile.Brief(string(text)), yamlfile.None)
	}
	*s = Size(n)
	return nil
}

// InlineSize is a Size, or "auto".
type InlineSize Size

// InlineAuto is "auto": Config.InlineUpTo says what it means.
const InlineAuto InlineSize = -1

// auto is the text of InlineAuto.
const auto = "auto"

// String writes the form that UnmarshalText reads.
func (s InlineSize) String() string {
	if s == InlineAuto {
		return auto
	}
	return Size(s).String()
}

// MarshalText writes the form that UnmarshalText reads.
func (s InlineSize) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a size, or "auto".
func (s *InlineSize) UnmarshalText(text []byte) error {
	if string(text) == auto {
		*s = InlineAuto
		return nil
	}
	err := (*Size)(s).UnmarshalText(text)
	if err != nil {
		err = fmt.Errorf("%w, or %s", err, auto)
	}
	return err
}

func parseSize(text string) (int64, bool) {
	unit := strings.TrimLeft(text, "0123456789.")
	number := text[:len(text)-len(unit)]
	if number == "" || strings.ContainsAny(unit, "-+,.0123456789") {
		return 0, false
	}
	whole, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		// A fraction: to the precision of float64.
		n, err := humanize.ParseBytes(text)
		return int64(n), err == nil && n <= math.MaxInt64 && strings.Contains(number, ".")
	}
	one, err := humanize.ParseBytes("1" + unit)
	if err != nil || one > math.MaxInt64 || whole > math.MaxInt64/int64(one) {
		return 0, false
	}
	return whole * int64(one), true
}

// Network is a range of addresses: 10.0.0.0/8, or a single address.
type Network struct{ netip.Prefix }

// UnmarshalText reads a network.
func (n *Network) UnmarshalText(text []byte) error {
	if addr, err := netip.ParseAddr(string(text)); err == nil && addr.Zone() == "" {
		n.Prefix = netip.PrefixFrom(addr, addr.BitLen())
		return nil
	}
	prefix, err := netip.ParsePrefix(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a network; use an address such as 192.0.2.1, or a range such as 10.0.0.0/8 or fd00::/8",
			yamlfile.Brief(string(text)))
	}
	n.Prefix = prefix.Masked()
	return nil
}

// Schedule is the schedule of a routine. In the file it is a text ("every 1m"),
// or a mapping with the keys every, cron, zone and until.
type Schedule struct{ schedule.Schedule }

// scheduleKeys is the mapping form of a Schedule.
type scheduleKeys struct {
	Every Duration `yaml:"every"`
	Cron  string   `yaml:"cron"`
	Zone  string   `yaml:"zone"`
	Until string   `yaml:"until"`
}

// Keys implements yamlfile.Keyed.
func (s *Schedule) Keys() any { return &scheduleKeys{} }

// SetKeys implements yamlfile.Keyed.
func (s *Schedule) SetKeys(keys any) error {
	k := keys.(*scheduleKeys)
	parsed, err := schedule.New(schedule.Spec{Every: k.Every.Std(), Cron: k.Cron, Zone: k.Zone, Until: k.Until})
	if err == nil {
		s.Schedule = parsed
	}
	return err
}
