package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/lethe-storage/lethe"
)

// Batch is the receipts of one transaction, not sealed yet.
type Batch struct {
	ID       int64 // in the ledger
	Receipts []Receipt
}

// Head is the end of a chain at some time. A copy kept elsewhere reveals whether what it
// covers was rewritten since.
type Head struct {
	Seq  int64  `json:"seq"` // of the last seal; 0: nothing is sealed
	Hash string `json:"hash"`
}

// Seal is a link of the chain: it covers a segment of receipts and the previous link.
type Seal struct {
	Seq      int64   `json:"seq"`   // from 1, without gaps
	First    int64   `json:"first"` // number of the segment's first receipt, from 1
	Count    int64   `json:"count"`
	Since    Instant `json:"since"` // the earliest of its receipts
	Until    Instant `json:"until"` // the latest
	SealedAt Instant `json:"sealed_at"`
	Digest   string  `json:"digest"` // hex SHA-256 of the segment's lines
	Prev     string  `json:"prev"`   // Hash of the previous seal
	Hash     string  `json:"hash"`
	// Dropped: the segment's receipts were removed by age. The last such seal is kept as the
	// anchor of the chain. It is not hashed.
	Dropped bool `json:"dropped,omitempty"`
}

// Head returns the chain's head if the seal is the last one.
func (s Seal) Head() Head { return Head{s.Seq, s.Hash} }

// sum returns the seal's hash in the chain of a store.
func (s Seal) sum(store lethe.ID) string {
	h := sha256.New()
	fmt.Fprintf(h, "lethe receipts 1\n%s\n%d %d %d\n%d %d %d\n%s\n%s\n",
		store, s.Seq, s.First, s.Count, s.Since, s.Until, s.SealedAt, s.Digest, s.Prev)
	return hex.EncodeToString(h.Sum(nil))
}

// Segment is receipts about to be sealed.
type Segment struct {
	Seal
	Pages   []Page
	Batches []int64 // batches that it replaces
}

// Cut returns the segment of unsealed batches that follows last, the zero Seal if there is
// none. Its SealedAt is now.
func Cut(store lethe.ID, last Seal, batches []Batch, now lethe.Time) (Segment, error) {
	s := Segment{Seal: Seal{Seq: last.Seq + 1, First: last.First + last.Count, SealedAt: Instant(now), Prev: last.Hash}}
	s.First = max(s.First, 1)
	for _, b := range batches {
		s.Batches = append(s.Batches, b.ID)
		for _, r := range b.Receipts {
			if s.Since == 0 || r.At < s.Since {
				s.Since = r.At
			}
			s.Until = max(s.Until, r.At)
		}
	}
	list, err := lines(batches)
	if err != nil {
		return s, err
	}
	s.Count = int64(len(list))
	s.Pages, s.Digest = pages(list)
	s.Hash = s.sum(store)
	return s, nil
}

// Broken is where a chain fails its check.
type Broken struct {
	Seq  int64
	What string
}

// Error implements error.
func (b *Broken) Error() string {
	return fmt.Sprintf("receipt: the chain is broken at seal %d: %s", b.Seq, b.What)
}

// Checker checks a chain, seal by seal.
type Checker struct {
	Store lethe.ID
	// Noted are heads recorded elsewhere, each with where.
	Noted map[Head]string

	// Until is the time up to which receipts were removed by age; 0: none were. The caller
	// must check that it agrees with the retention.
	Until Instant

	last  Seal
	first int64 // number of the first seal
	begun bool
	// Segments and Receipts count what was checked.
	Segments, Receipts int64
}

// Next checks that a seal follows the previous one, and that the pages are those that it
// sealed: *Broken if not. The first seal is the anchor.
func (c *Checker) Next(s Seal, pages []Page) error {
	broken := func(what string, args ...any) error { return &Broken{s.Seq, fmt.Sprintf(what, args...)} }
	switch {
	case !c.begun && s.Seq == 1 && (s.Prev != "" || s.First != 1):
		return broken("it says that it is the first, and names one before")
	case !c.begun && s.Seq > 1 && !s.Dropped:
		return broken("what came before it is missing, and nothing says that it was dropped by its age")
	case c.begun && s.Seq != c.last.Seq+1:
		return broken("it follows seal %d: those between are missing", c.last.Seq)
	case c.begun && s.Dropped:
		return broken("it says that its receipts were dropped by their age, and older ones are there")
	case s.Dropped && len(pages) > 0:
		return broken("it says that its receipts were dropped by their age, and some are there")
	case c.begun && s.Prev != c.last.Hash:
		return broken("it was sealed after another seal %d than the one that is here", c.last.Seq)
	case c.begun && s.First != c.last.First+c.last.Count:
		return broken("its first receipt is number %d, should be %d", s.First, c.last.First+c.last.Count)
	case s.sum(c.Store) != s.Hash:
		return broken("its numbers and times are not those that were hashed")
	}
	for noted, where := range c.Noted {
		if noted.Seq == s.Seq && noted.Hash != s.Hash {
			return broken("%s has noted hash %s, here it is %s: it was rewritten since", where, noted.Hash, s.Hash)
		}
	}
	if !c.begun {
		c.begun, c.first = true, s.Seq
	}
	c.last = s
	if s.Dropped {
		c.Until = s.Until
		return nil
	}
	return c.pages(s, pages)
}

func (c *Checker) pages(s Seal, pages []Page) error {
	h := sha256.New()
	var count int64
	for i, p := range pages {
		text, err := p.text()
		if err != nil || p.Number != i {
			return &Broken{s.Seq, fmt.Sprintf("page %d of its receipts cannot be read", p.Number)}
		}
		h.Write(text)
		count += int64(p.Count)
	}
	if hex.EncodeToString(h.Sum(nil)) != s.Digest {
		return &Broken{s.Seq, "its receipts are not those that were sealed"}
	}
	if count != s.Count {
		return &Broken{s.Seq, fmt.Sprintf("its receipts are %d, and should be %d", count, s.Count)}
	}
	c.Segments++
	c.Receipts += count
	return nil
}

// Unheld returns the noted heads that could not be checked: the chain begins after them,
// allegedly because everything before was removed by age.
func (c *Checker) Unheld() (list []Head) {
	for noted := range c.Noted {
		if noted.Seq < c.first {
			list = append(list, noted)
		}
	}
	return list
}

// End checks that the chain reaches all noted heads, and returns its head: *Broken if it was
// cut short.
func (c *Checker) End() (Head, error) {
	for noted, where := range c.Noted {
		if noted.Seq > c.last.Seq {
			return c.last.Head(), &Broken{c.last.Seq, fmt.Sprintf("%s has noted seal %d: the chain was cut short, or the ledger is an older copy", where, noted.Seq)}
		}
	}
	return c.last.Head(), nil
}
