// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/site"
)

// Entry is a line of a CDXJ index: a key to sort by, a time, and where the record lies.
type Entry struct {
	Key    string // SURT of the URL
	Time   string // fourteen digits, UTC
	URL    string
	MIME   string // "warc/revisit" for a revisit
	Status string // "" when missing
	Digest string // of the body, without its label
	Place  Extent
	File   string // of the record
}

// StampForm is how indexes have times: fourteen digits, UTC. Some programs write fractions of a second behind
// them.
const StampForm = "20060102150405"

// Stamp writes a time as indexes have it.
func Stamp(t time.Time) string { return t.UTC().Format(StampForm) }

// Indexed reports whether a record is in indexes: requests and what a crawler says of itself do not.
func (r *Record) Indexed() bool {
	switch r.Type() {
	case Request, Info:
		return false
	case Metadata, Verbatim:
		return r.Header.Get("Content-Type") != "application/warc-fields"
	}
	return r.URL() != ""
}

// Entry returns the line of the record in an index of its file, without place and file. It reads the head.
func (r *Record) Entry() (Entry, error) {
	m, err := r.Message()
	if err != nil {
		return Entry{}, err
	}
	e := Entry{
		Key:    SURT(r.URL()),
		Time:   timestamp(r.Header.Get("WARC-Date")),
		URL:    r.URL(),
		MIME:   r.Header.Get("Content-Type"), // whole, as warcio has it
		Digest: digestValue(r.Header.Get("WARC-Payload-Digest")),
	}
	if m != nil {
		e.Status = strconv.Itoa(m.Status())
		e.MIME = Essence(m.Header)
	}
	if r.Type() == Revisit {
		e.MIME = "warc/revisit"
	}
	return e, nil
}

// timestamp makes fourteen digits of a WARC-Date.
func timestamp(date string) string {
	digits := make([]byte, 0, 14)
	for i := 0; i < len(date) && len(digits) < cap(digits); i++ {
		if c := date[i]; c != '-' && c != ':' && c != 'T' {
			digits = append(digits, c)
		}
	}
	return string(digits)
}

// Essence returns the type of a body without parameters, as indexes have it.
func Essence(h Header) string {
	e, _, _ := strings.Cut(h.all("Content-Type"), ";")
	return strings.TrimSpace(e)
}

func digestValue(labelled string) string {
	_, value, _ := strings.Cut(labelled, ":")
	value, _, _ = strings.Cut(value, ":")
	return value
}

// Append writes the line as warcio does: key, time, and an object whose values are all strings, those that
// are unknown left out. Lines are sorted by their bytes.
func (e *Entry) Append(b []byte) []byte {
	line := bytes.NewBuffer(fmt.Appendf(b, "%s %s ", e.Key, e.Time))
	out := json.NewEncoder(line)
	out.SetEscapeHTML(false)
	_ = out.Encode(struct { // strings alone, into memory
		URL    string `json:"url,omitempty"`
		MIME   string `json:"mime,omitempty"`
		Status string `json:"status,omitempty"`
		Digest string `json:"digest,omitempty"`
		Length int64  `json:"length,string"`
		Offset int64  `json:"offset,string"`
		File   string `json:"filename,omitempty"`
	}{e.URL, e.MIME, e.Status, e.Digest, e.Place.Length, e.Place.Offset, e.File})
	return line.Bytes()
}

// ParseEntry reads a line of a CDXJ index. Numbers may be numbers or strings.
func ParseEntry(line string) (e Entry, err error) {
	key, rest, _ := strings.Cut(line, " ")
	stamp, object, ok := strings.Cut(rest, " ")
	if !ok {
		return e, fmt.Errorf("%.60q is no line of an index", line)
	}
	var v struct {
		URL    string `json:"url"`
		MIME   string `json:"mime"`
		Status loose  `json:"status"`
		Digest string `json:"digest"`
		Length loose  `json:"length"`
		Offset loose  `json:"offset"`
		File   string `json:"filename"`
	}
	if err := json.Unmarshal([]byte(object), &v); err != nil {
		return e, fmt.Errorf("%.60q: %w", line, err)
	}
	e = Entry{
		Key:    key,
		Time:   stamp,
		URL:    WithScheme(v.URL),
		MIME:   v.MIME,
		Status: string(v.Status),
		Digest: v.Digest,
		File:   v.File,
	}
	if e.Place.Offset, err = v.Offset.number(); err == nil {
		e.Place.Length, err = v.Length.number()
	}
	if err != nil {
		return e, fmt.Errorf("%.60q: %w", line, err)
	}
	return e, nil
}

// loose is a number that may stand in quotes.
type loose string

func (l *loose) UnmarshalJSON(b []byte) error {
	*l = loose(strings.Trim(string(b), `"`))
	return nil
}

func (l loose) number() (int64, error) {
	n, err := strconv.ParseInt(string(l), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%.40q is no offset or length", string(l))
	}
	return n, nil
}

// SURT returns the key of a URL in an index, as warcio makes it: the labels of the host reversed (those of an
// IPv4 address too), path and query in lower case, the parameters sorted, "www." gone.
func SURT(url string) string {
	if !strings.HasPrefix(url, "http:") && !strings.HasPrefix(url, "https:") {
		return url
	}
	url = withoutWWW(url)
	u, _, err := site.Parse(strings.ToLower(url))
	if err != nil {
		return url
	}
	host := u.Hostname()
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	key := strings.Join(labels, ",") + strings.TrimPrefix(u.Host(), host) + ")" + u.Path()
	if q, _ := u.Query(); q != "" {
		params := strings.Split(q, "&")
		slices.Sort(params)
		key += "?" + strings.Join(params, "&")
	}
	return key
}

// withoutWWW drops "www.", "www2." and the like from the beginning of the host.
func withoutWWW(url string) string {
	scheme, host, ok := strings.Cut(url, "://")
	rest, www := strings.CutPrefix(host, "www")
	if !ok || !www {
		return url
	}
	if rest = strings.TrimLeft(rest, "0123456789"); strings.HasPrefix(rest, ".") {
		return scheme + "://" + rest[1:]
	}
	return url
}
