package certs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// product is the name of the program in a calendar, by which IsCalendar knows it.
const product = "PRODID:-//kiln//kiln certs//EN"

// IsCalendar reports whether a file is a calendar that Calendar made.
func IsCalendar(file []byte) bool {
	return bytes.HasPrefix(file, []byte("BEGIN:VCALENDAR\r\n")) &&
		bytes.Contains(file[:min(len(file), 200)], []byte(product+"\r\n"))
}

// maxListed is how many lines the description of an event has.
const maxListed = 50

// Calendar returns the ends as an iCalendar (RFC 5545): an event for each day and renewal, with a
// reminder 30 days before. Left out is what does not count, what the kubelet renews, and what
// has no known end. The same list gives the same bytes: the UID and DTSTAMP of an event come
// from the list. The name of the cluster may be empty.
func Calendar(cluster string, list []Entry) []byte {
	type key struct {
		day     string
		renewal Renewal
	}
	events := map[key][]Entry{}
	var order []key
	for i := range list {
		e := &list[i]
		if e.Ends == nil || !e.Counts() || e.Renewal == Itself {
			continue
		}
		k := key{e.Ends.Format("20060102"), e.Renewal}
		if events[k] == nil {
			order = append(order, k)
		}
		events[k] = append(events[k], *e)
	}
	slices.SortFunc(order, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.renewal, b.renewal))
	})
	var c calendar
	c.line("BEGIN:VCALENDAR")
	c.line("VERSION:2.0")
	c.line(product)
	c.line("CALSCALE:GREGORIAN")
	for _, k := range order {
		c.event(cluster, string(k.renewal), events[k])
	}
	c.line("END:VCALENDAR")
	return c.Bytes()
}

type calendar struct{ bytes.Buffer }

const icsTime = "20060102T150405Z"

// event writes an event. Its entries are sorted: the first one ends first.
func (c *calendar) event(cluster, renewal string, list []Entry) {
	stamp := time.Time{} // when the latest of them was made
	for i := range list {
		if b := list[i].Begins; b != nil && b.After(stamp) {
			stamp = *b
		}
	}
	if stamp.IsZero() {
		stamp = *list[0].Ends // of tokens nobody knows when they were made
	}
	groups, all := Groups(list), union(list)
	var lines []string
	for i, g := range groups {
		switch {
		case i < maxListed:
			lines = append(lines, g.Names()+": "+g.Entry.kind()+" "+g.Entry.Path)
		case i == maxListed:
			lines = append(lines, fmt.Sprintf("and %d more: kiln certs lists them",
				len(groups)-maxListed))
		}
	}
	title := cmp.Or(cluster, "kiln") + ": certificates or tokens end on " + all.Names()
	day := list[0].Ends.Format("20060102")
	sum := sha256.Sum256([]byte(strings.Join([]string{cluster, day, renewal}, "\x00")))
	c.line("BEGIN:VEVENT")
	c.line("UID:" + hex.EncodeToString(sum[:16]) + "@kiln")
	c.line("DTSTAMP:" + stamp.Format(icsTime))
	c.line("DTSTART:" + list[0].Ends.Format(icsTime))
	c.line("SUMMARY:" + escape(title))
	c.line("DESCRIPTION:" + escape(renewal+": "+Renewal(renewal).Meaning()+"\n"+
		strings.Join(lines, "\n")))
	c.line("TRANSP:TRANSPARENT")
	c.line("BEGIN:VALARM")
	c.line("ACTION:DISPLAY")
	c.line("TRIGGER:-P30D")
	c.line("DESCRIPTION:" + escape("in 30 days: "+title))
	c.line("END:VALARM")
	c.line("END:VEVENT")
}

// escape writes a value of type TEXT (RFC 5545, section 3.3.11).
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`).Replace(text)
}

// line writes a content line, folded at 75 octets (RFC 5545, section 3.1) between characters.
func (c *calendar) line(text string) {
	const most = 75
	room := most
	for len(text) > room {
		cut := room
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		_, _ = c.WriteString(text[:cut] + "\r\n ") // a Buffer never fails
		text, room = text[cut:], most-1
	}
	_, _ = c.WriteString(text + "\r\n")
}
