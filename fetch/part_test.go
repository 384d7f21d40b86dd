// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mirrord/fetch/reach"
	"mirrord/testing/badserver"
)

func partOf(validator string) *Part { return &Part{Validator: validator, Length: -1, Status: 200} }

// The data stored with a cut body is enough to have the whole body as if it had never been cut: the 206
// says nothing but what it must.
func TestPartMakesTheHeadWhole(t *testing.T) {
	file := badserver.File()
	sent := time.Now().Add(-time.Hour)
	tests := []struct {
		name      string
		validator [2]string // field of both answers
		fields    http.Header
		mime      string
	}{
		{"tag", [2]string{"Etag", `"v1"`}, http.Header{"Content-Type": {"application/x-iso9660-image"}},
			"application/x-iso9660-image"},
		{"date", [2]string{"Last-Modified", sent.UTC().Format(http.TimeFormat)},
			http.Header{"Content-Type": {"text/csv; charset=latin1"}}, "text/csv"},
		{"labelled", [2]string{"Etag", `"v1"`}, http.Header{
			"Content-Type":     {"application/x-gzip"},
			"Content-Encoding": {"gzip"},
		}, "application/gzip"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cut := true
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h := w.Header()
				h.Set(tt.validator[0], tt.validator[1])
				h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
				if cut {
					for k, v := range tt.fields {
						h[k] = v
					}
					h.Set("X-Robots-Tag", "nofollow")
					h.Set("Content-Length", strconv.Itoa(len(file)))
					w.Write(file[:500000])
					panic(http.ErrAbortHandler)
				}
				if got := r.Header.Get("If-Range"); got != tt.validator[1] {
					t.Errorf("If-Range %q", got)
				}
				var from int
				fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
				h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(file)-1, len(file)))
				h["Content-Type"] = nil // net/http would sniff one
				h.Set("Cache-Control", "max-age=7")
				w.WriteHeader(206)
				w.Write(file[from:])
			}))
			defer srv.Close()
			var m memory
			c := newClient(t, Options{Reach: reach.Policy{All: true}, Retries: -1})
			_, err := c.Do(context.Background(), Request{URL: mustURL(t, srv.URL+"/file")}, &m)
			if err == nil || len(m.begun) != 1 {
				t.Fatalf("%v, begun %d times", err, len(m.begun))
			}
			p, ok := m.begun[0].Part()
			if !ok || p.Length != int64(len(file)) {
				t.Fatalf("part %+v, %v", p, ok)
			}
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			p = Part{}
			if err := json.Unmarshal(text, &p); err != nil {
				t.Fatal(err)
			}
			cut = false
			at := int64(m.Len())
			res, err := c.Do(context.Background(), Request{URL: mustURL(t, srv.URL+"/file"), Part: &p, Offset: at}, &m)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(m.Bytes(), file) || !res.Kept || res.Body != int64(len(file)) || res.Length != res.Body ||
				res.Offset != at {
				t.Errorf("%d bytes, body %d, length %d, offset %d", m.Len(), res.Body, res.Length, res.Offset)
			}
			if res.Status != 200 || res.MIME != tt.mime || res.Wire != int64(len(file))-at {
				t.Errorf("status %d, type %q, wire %d", res.Status, res.MIME, res.Wire)
			}
			if !slices.Equal(res.RobotsTags(), []string{"nofollow"}) ||
				res.Header.Get("Cache-Control") != "max-age=7" {
				t.Errorf("fields %v", res.Header)
			}
		})
	}
}

func TestNoPart(t *testing.T) {
	for name, h := range map[string]Head{
		"weak tag":        {Header: http.Header{"Etag": {`W/"v"`}}},
		"no validator":    {Header: http.Header{"Content-Type": {"image/png"}}},
		"coded":           {Header: http.Header{"Etag": {`"v"`}, "Content-Encoding": {"br"}}, Coding: "br"},
		"knows no ranges": {Header: http.Header{"Etag": {`"v"`}, "Accept-Ranges": {"none"}}},
		"modified just now": {Header: http.Header{
			"Last-Modified": {"Mon, 02 Jan 2006 15:04:05 GMT"},
			"Date":          {"Mon, 02 Jan 2006 15:04:30 GMT"},
		}},
		"too much header": {Header: http.Header{"Etag": {`"v"`}, "Link": {strings.Repeat("x", mostPartHeader)}}},
	} {
		if p, ok := h.Part(); ok {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A server may send less than was requested (RFC 9110 §14.2). A client that treats that as the end would
// keep a truncated file as good.
func TestContinuationThatIsNotTheRest(t *testing.T) {
	file := badserver.File()
	for name, rangeField := range map[string]func(from int) (field string, to int){
		"less, length unknown": func(from int) (string, int) {
			return fmt.Sprintf("bytes %d-%d/*", from, from+999), from + 1000
		},
		"less, length said": func(from int) (string, int) {
			return fmt.Sprintf("bytes %d-%d/%d", from, from+999, len(file)), from + 1000
		},
		"another date": func(from int) (string, int) {
			return fmt.Sprintf("bytes %d-%d/%d", from, len(file)-1, len(file)), len(file)
		},
		"another length, by part": func(from int) (string, int) {
			return fmt.Sprintf("bytes %d-%d/%d", from, len(file)-2, len(file)-1), len(file) - 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, known := range []int64{-1, int64(len(file))} {
				if known < 0 && name == "another length, by part" {
					continue
				}
				ranged := 0
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
					var from int
					if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err != nil {
						w.Write(file)
						return
					}
					ranged++
					field, to := rangeField(from)
					w.Header().Set("Content-Range", field)
					w.WriteHeader(206)
					w.Write(file[from:to])
				}))
				p := &Part{Validator: "Mon, 02 Jan 2006 15:04:05 GMT", Length: known, Status: 200}
				if name == "another date" {
					p.Validator = "Mon, 02 Jan 2006 15:04:04 GMT"
				}
				var m memory
				m.Write(file[:5000])
				c := newClient(t, Options{Reach: reach.Policy{All: true}, Retries: -1})
				res, err := c.Do(context.Background(), Request{URL: mustURL(t, srv.URL+"/"), Part: p, Offset: 5000}, &m)
				srv.Close()
				if err != nil || !res.Kept || !bytes.Equal(m.Bytes(), file) || ranged != 1 || m.begun[0].Offset != 0 {
					t.Errorf("length known %d: %v, %d bytes after %d ranges, begun at %d", known, err, m.Len(), ranged,
						m.begun[0].Offset)
				}
			}
		})
	}
}

// A stored part may hold anything.
func TestUnusablePart(t *testing.T) {
	s := badserver.Start(t)
	for _, p := range []*Part{
		nil, {}, {Validator: "\"v1\"\r\nX: y", Status: 200}, {Validator: `"v1"`, Status: 404},
	} {
		var m memory
		m.WriteString("abc")
		c := newClient(t, Options{Reach: reach.Policy{All: true}})
		res, err := c.Do(context.Background(), Request{
			URL:    mustURL(t, s.URL+"/range?breaks=0"),
			Part:   p,
			Offset: 3,
		}, &m)
		if err != nil || !res.Kept || !bytes.Equal(m.Bytes(), badserver.File()) {
			t.Errorf("%+v: %v, %d bytes", p, err, m.Len())
		}
	}
}

// A server may answer a Range with a part of it (RFC 9110 §15.3.7): the rest is requested portion by portion,
// as often as it takes, and only when the portions are worth a request.
func TestRestInPortions(t *testing.T) {
	file := bytes.Repeat(badserver.File(), 6)
	for portion, want := range map[int]bool{leastPortion: true, leastPortion / 64: false} {
		requests := 0
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			h := w.Header()
			h.Set("Etag", `"v1"`)
			from := 0
			if fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); from > 0 {
				to := min(len(file), from+portion)
				h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(file)))
				h.Set("Content-Length", strconv.Itoa(to-from))
				w.WriteHeader(206)
				w.Write(file[from:to])
				return
			}
			h.Set("Content-Length", strconv.Itoa(len(file)))
			w.Write(file[:500000])
			panic(http.ErrAbortHandler)
		}))
		var m memory
		c := newClient(t, Options{Reach: reach.Policy{All: true}, Retries: 2})
		res, err := c.Do(context.Background(), Request{URL: mustURL(t, srv.URL+"/file")}, &m)
		if got := (err == nil) && res.Kept && bytes.Equal(m.Bytes(), file); got != want {
			t.Errorf("portions of %d: %v, %v", portion, got, err)
		}
		if !want && requests > 4 {
			t.Errorf("portions of %d: %d requests", portion, requests)
		}
		srv.Close()
	}
}
