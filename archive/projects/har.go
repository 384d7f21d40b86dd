// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"mirrord/archive/warc"
)

// HAR (HTTP Archive 1.1 and 1.2) is what a browser saw, as JSON: requests and answers, with bodies when they
// were asked for. It is read as a small crawl: answers to GET that have a body, or none by their status.

var errNoHAR = errors.New("no HAR: it has no list of entries")

// LikeHAR reports whether a file begins as a HAR file does.
func LikeHAR(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"log"`))
}

// harEntry is a request with its answer.
type harEntry struct {
	Started string `json:"startedDateTime"`
	Request struct {
		Method string `json:"method"`
		URL    string `json:"url"`
	} `json:"request"`
	Response struct {
		Status  number `json:"status"`
		Text    string `json:"statusText"`
		Headers []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"headers"`
		Redirect string `json:"redirectURL"`
		Content  struct {
			Size     number  `json:"size"`
			MIME     string  `json:"mimeType"`
			Text     *string `json:"text"`
			Encoding string  `json:"encoding"`
		} `json:"content"`
		BodySize number `json:"bodySize"`
	} `json:"response"`
}

// number is one that may be in quotes or have a fraction; 0 for anything else.
type number int

func (n *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err == nil {
		*n = number(f)
	}
	return nil
}

// HAR writes the answers of a HAR file as records. date is that of entries that have none.
func HAR(file io.Reader, date time.Time, to *warc.Writer) (t Taken, err error) {
	if err := writeInfo(to, date, nil); err != nil {
		return t, err
	}
	d := json.NewDecoder(withoutMark(file))
	found := false
	err = members(d, func(name string) error {
		if name != "log" {
			return skipValue(d)
		}
		return members(d, func(name string) error {
			if name != "entries" {
				return skipValue(d)
			}
			found = true
			return within(d, '[', func() error {
				var e harEntry
				if err := d.Decode(&e); err != nil {
					return err
				}
				return e.write(date, to, &t)
			})
		})
	})
	if err != nil {
		return t, &warc.RecordError{Record: t.Answers + t.Lost + t.Other + 1, Offset: d.InputOffset(), Err: err}
	}
	if !found {
		return t, errNoHAR
	}
	return t, nil
}

// withoutMark drops the mark that some programs write before UTF-8.
func withoutMark(file io.Reader) io.Reader {
	const mark = "\xef\xbb\xbf"
	head := make([]byte, len(mark))
	n, _ := io.ReadFull(file, head) // of a shorter file, as much as there is
	return io.MultiReader(strings.NewReader(strings.TrimPrefix(string(head[:n]), mark)), file)
}

// members calls f at the value of each member of an object.
func members(d *json.Decoder, f func(name string) error) error {
	return within(d, '{', func() error {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return errors.Join(errNoHAR, err)
		}
		return f(name)
	})
}

// within calls f for each value of an object or a list.
func within(d *json.Decoder, begin json.Delim, f func() error) error {
	t, err := d.Token()
	if err != nil || t != begin {
		return errors.Join(errNoHAR, err)
	}
	for d.More() {
		if err := f(); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func skipValue(d *json.Decoder) error {
	var v json.RawMessage
	return d.Decode(&v)
}

// write writes the answer of an entry, if it is one.
func (e *harEntry) write(date time.Time, to *warc.Writer, t *Taken) error {
	r := &e.Response
	switch {
	case r.Status < 200 || r.Status > 599 || !strings.HasPrefix(e.Request.URL, "http"):
		t.Other++
		return nil
	case !strings.EqualFold(e.Request.Method, "GET"):
		t.Other++
		return nil
	case r.Content.Text == nil && (r.Content.Size > 0 || r.BodySize > 0) && r.Status < 300:
		t.Lost++
		return nil
	}
	if at := warc.ParseDate(e.Started); !at.IsZero() {
		date = at
	}
	var body []byte
	if r.Content.Text != nil {
		body = []byte(*r.Content.Text)
	}
	isText := !strings.EqualFold(r.Content.Encoding, "base64")
	if !isText {
		var err error
		if body, err = base64.StdEncoding.DecodeString(string(body)); err != nil {
			t.Lost++
			return nil
		}
	}
	t.Answers++
	u, _, _ := strings.Cut(e.Request.URL, "#")
	a := answer{
		url:  u,
		date: date,
		head: e.head(isText && len(body) > 0, bytes.HasPrefix(body, []byte(gzipMagic))),
		body: bytes.NewReader(body),
		size: int64(len(body)),
	}
	return a.write(to)
}

// head is the head of the answer, for a body without codings, or as some proxies leave it, in gzip; a text is
// in UTF-8.
func (e *harEntry) head(isText, isGzip bool) []byte {
	r := &e.Response
	var fields []warc.HeaderField
	add := func(name, value string) { fields = append(fields, warc.HeaderField{Name: name, Value: value}) }
	kind, located := r.Content.MIME, false
	for _, f := range r.Headers {
		switch strings.ToLower(f.Name) {
		case "content-type":
			if kind == "" || strings.Contains(f.Value, "charset") {
				kind = f.Value
			}
			continue
		case "content-encoding":
			if !isGzip {
				continue
			}
		case "transfer-encoding", "content-length":
			continue
		case "location":
			located = true
		}
		if strings.HasPrefix(f.Name, ":") { // HTTP/2 has the status there
			continue
		}
		for value := range strings.SplitSeq(f.Value, "\n") { // of fields that came several times, in Chromium
			add(f.Name, value)
		}
	}
	if !located && r.Redirect != "" {
		add("Location", r.Redirect)
	}
	if isText {
		kind, _, _ = strings.Cut(kind, ";")
		kind = strings.TrimSpace(kind) + "; charset=utf-8"
	}
	if strings.Trim(kind, "; ") != "" {
		add("Content-Type", kind)
	}
	return warc.WriteHead(fmt.Sprintf("HTTP/1.1 %d %s", r.Status, r.Text), fields...)
}
