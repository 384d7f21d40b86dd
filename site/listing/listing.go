// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/site"
)

// The values of Listing.Server.
const (
	Nginx      = "nginx"
	FancyIndex = "fancyindex"
	Apache     = "apache"
	Lighttpd   = "lighttpd"
	Caddy      = "caddy"
	IIS        = "iis"
	Python     = "python"
	Other      = "other" // a table in the manner of these, by something else
)

// MaxEntries bounds a listing. What a page lists beyond is left out.
const MaxEntries = 1 << 20

// A Listing is what one index page said.
type Listing struct {
	Server  string
	Entries []Entry // sorted by Name, each name once; of a page that was cut short, those that it has whole
}

// Precision is how exactly a time is known.
type Precision uint8

const (
	TimeUnknown Precision = iota
	ToDay
	ToMinute
	ToSecond
)

// Unit returns the length of time within which two moments look alike; 0 for TimeUnknown.
func (p Precision) Unit() time.Duration {
	switch p {
	case ToDay:
		return 24 * time.Hour
	case ToMinute:
		return time.Minute
	case ToSecond:
		return time.Second
	}
	return 0
}

// An Entry is one file or directory of a listing.
type Entry struct {
	Name string // decoded, without the slash of a directory; any bytes but '/' and NUL
	URL  site.URL
	Dir  bool
	// Modified is when the entry changed, cut off to Precision; the zero time when unknown. With Local it is a
	// wall clock of an unknown zone, written as if it were UTC.
	Modified  time.Time
	Precision Precision
	Local     bool
	// Size is the size in bytes, the middle of the range if it was rounded, -1 if unknown. SizeMin and SizeMax
	// bound it (inclusive).
	Size, SizeMin, SizeMax int64
	SizeExact              bool
}

// IsPlaceholder reports whether a time of a file, from 1980-01-02 or before, is what tools write that know or
// want none: the epoch, or 1980 of ZIP and FAT. Such a time stays when the contents change.
func IsPlaceholder(t time.Time) bool { return t.Unix() < 315705600 }

// Evidence returns what e says about the state of its file in a short text: time and size. It is empty when
// that is nothing to rely on: a directory, an unknown time, a placeholder for one. Two observations of one
// file say that it has not changed exactly when their evidence is equal and not empty, if the older one was
// Settled; so it is all that need be kept.
func (e Entry) Evidence() string {
	if e.Dir || e.Precision == TimeUnknown || IsPlaceholder(e.Modified) {
		return ""
	}
	return string(e.appendState(nil))
}

// appendState appends time and size.
func (e Entry) appendState(b []byte) []byte {
	switch e.Precision {
	case TimeUnknown:
		b = append(b, '?')
	case ToDay:
		b = e.Modified.AppendFormat(b, "2006-01-02")
	case ToMinute:
		b = e.Modified.AppendFormat(b, "2006-01-02T15:04")
	default:
		b = e.Modified.AppendFormat(b, "2006-01-02T15:04:05.999999999")
	}
	if e.Precision != TimeUnknown && !e.Local {
		b = append(b, 'Z')
	}
	b = append(b, ' ')
	switch {
	case e.Size < 0:
		b = append(b, '?')
	case e.SizeExact:
		b = strconv.AppendInt(b, e.Size, 10)
	default:
		b = strconv.AppendInt(b, e.SizeMin, 10)
		b = append(b, '-')
		b = strconv.AppendInt(b, e.SizeMax, 10)
	}
	return b
}

// String returns name, time and size for people.
func (e Entry) String() string {
	name := e.Name
	if e.Dir {
		name += "/"
	}
	return fmt.Sprintf("%s %s", name, e.appendState(nil))
}

// zoneSpread bounds what a wall clock can be away from UTC, with an hour for a clock that is set back; skew
// bounds the difference between the server's clock and ours.
const (
	zoneSpread = 15 * time.Hour
	skew       = 2 * time.Minute
)

// Settled reports whether a change after now would show in e's time. It would not if e's time is so recent
// that the new one could look the same. now is when the listing was requested.
func (e Entry) Settled(now time.Time) bool {
	if e.Precision == TimeUnknown {
		return false
	}
	margin := e.Precision.Unit() + skew
	if e.Local {
		margin += zoneSpread
	}
	return e.Modified.Add(margin).Before(now)
}

// Agrees reports whether the answer of the resource itself can be of the file that e tells of: its
// Last-Modified and the length of its body without content coding, where known (else the zero time, -1). A
// resource that does not agree is no plain file, or has changed since, or the listing is not of this
// directory.
func (e Entry) Agrees(modified time.Time, length int64) bool {
	if e.Size >= 0 && length >= 0 && (length < e.SizeMin || length > e.SizeMax) {
		return false
	}
	if e.Precision == TimeUnknown || modified.IsZero() {
		return true
	}
	d := modified.Sub(e.Modified.Truncate(time.Second)) // HTTP knows no fractions
	if !e.Local {
		return 0 <= d && d < e.Precision.Unit()
	}
	// The same minute of the hour, in a zone that is a multiple of a quarter of an hour away.
	if d < -zoneSpread || d > zoneSpread+e.Precision.Unit() {
		return false
	}
	if e.Precision == ToDay {
		return true
	}
	const quarter = 15 * time.Minute
	return ((d%quarter)+quarter)%quarter < e.Precision.Unit()
}

// Parse returns the listing of the directory u that raw is, and whether it is one. raw is the page as it
// came, decompressed.
func Parse(raw []byte, u site.URL) (*Listing, bool) {
	if u.IsZero() || !strings.HasSuffix(u.Path(), "/") {
		return nil, false
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(raw, []byte("\ufeff")), " \t\r\n")
	if len(text) == 0 {
		return nil, false
	}
	var l *Listing
	switch {
	case text[0] == '[':
		l = parseJSON(text, u)
	case bytes.HasPrefix(text, []byte("<?xml")) && bytes.Contains(text[:min(len(text), 200)], []byte("<list>")):
		l = parseXML(text, u)
	case text[0] == '<' || bytes.HasPrefix(text, []byte("Index of")):
		l = parseHTML(text, u)
	}
	if l == nil || !l.finish() {
		return nil, false
	}
	return l, true
}

// finish sorts the entries. It reports false if a name is there twice.
func (l *Listing) finish() bool {
	slices.SortFunc(l.Entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(l.Entries); i++ {
		if l.Entries[i].Name == l.Entries[i-1].Name {
			return false
		}
	}
	return true
}

// child returns the decoded name of u as a direct child of the directory dir.
func child(dir, u site.URL) (name string, isDir, ok bool) {
	base := dir.Dir()
	if u.Origin() != dir.Origin() || len(u.RequestURI()) != len(u.Path()) || !strings.HasPrefix(u.Path(), base) {
		return "", false, false
	}
	rest := u.Path()[len(base):]
	rest, isDir = strings.CutSuffix(rest, "/")
	if rest == "" || strings.IndexByte(rest, '/') >= 0 {
		return "", false, false
	}
	name = site.Unescape(rest)
	return name, isDir, strings.IndexByte(name, '/') < 0 && strings.IndexByte(name, 0) < 0
}
