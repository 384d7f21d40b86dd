// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// records reads heads and places of all records, and what of them is to be checked later.
func records(in interface {
	Next() (*Record, error)
	End() (int64, error)
}) (all []string, partial [][2]int64, err error) {
	for {
		rec, err := in.Next()
		if err == io.EOF {
			return all, partial, nil
		}
		if err != nil {
			return all, partial, err
		}
		line := fmt.Sprintf("%d at %d: %s %s, %d bytes", rec.Number, rec.Offset, rec.Type(), rec.URL(), rec.Length)
		if rec.Shared {
			line += ", shared"
		}
		m, err := rec.Message()
		if err != nil {
			return all, partial, err
		}
		if m != nil {
			line += ", " + m.Start
		}
		if !rec.Partial {
			if err := rec.Verify(); err != nil {
				return all, partial, err
			}
		}
		end, err := in.End()
		if err != nil {
			return all, partial, err
		}
		if rec.Partial {
			partial = append(partial, [2]int64{rec.Offset, end})
		}
		all = append(all, fmt.Sprintf("%s, to %d", line, end))
	}
}

// skimmedAs compares what a skimmer and a reader find in a file. Where both find records, these are the same,
// and those that are skimmed can be opened and checked.
func skimmedAs(t *testing.T, file []byte) (partial int) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		return 0
	}
	defer r.Close()
	want, _, werr := records(r)
	packed, err := CompressionOf(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	s := packed.NewSkimmer(bytes.NewReader(file), int64(len(file)))
	if s == nil {
		return 0
	}
	defer s.Close()
	got, late, err := records(s)
	for _, at := range late {
		if err != nil {
			break
		}
		var rec *Record
		var r *Reader
		if rec, r, err = packed.OpenRecord(NewMemory(), bytes.NewReader(file), at[0], at[1], true); err == nil {
			_, merr := rec.Message()
			rest, cerr := io.ReadAll(rec)
			if err := errors.Join(merr, cerr); err != nil {
				t.Errorf("a record that was checked: %v", err)
			}
			named := rec.Header.Get("WARC-Payload-Digest") != ""
			if (rec.BodySum != nil) != named || (named && *rec.BodySum != sha256.Sum256(rest)) {
				t.Errorf("the sum of the body is %x", rec.BodySum)
			}
			r.Close()
		}
	}
	if (err == nil) != (werr == nil) {
		t.Fatalf("skimmed: %v, read: %v", err, werr)
	}
	if err == nil && strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("skimmed\n%s\nread\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return len(late)
}

// skimFile is a file of records of all kinds and sizes, each a member, and how many of them can be skimmed.
func skimFile(t testing.TB) (file []byte, large int) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 24 {
		body := strings.Repeat(fmt.Sprintf("<p>Page %d says \x1f\x8b\x08.", i), rng.IntN(2000))
		if i%5 == 0 { // what gzip does not make smaller
			noise := make([]byte, 20_000+rng.IntN(60_000))
			for j := range noise {
				noise[j] = byte(rng.Uint32())
			}
			body = string(noise)
		}
		field := strings.Repeat("x", []int{0, 2 * skimFirst}[i/4%2]) // heads that the first bytes have not
		block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Long: " + field + "\r\n\r\n" + body
		kind := []string{"response", "response", "resource", "metadata"}[i%4]
		fields := fmt.Sprintf("WARC-Type: %s\r\nWARC-Target-URI: http://h.test/%d\r\n"+
			"WARC-Date: 2024-05-01T10:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n", kind, i)
		if i%8 == 4 {
			fields += fmt.Sprintf("WARC-Payload-Digest: sha-256:%x\r\n", sha256.Sum256([]byte(body)))
		}
		if kind == "response" && len(block) > skimFirst {
			large++
		}
		file = append(file, gzipped(t, foreign(fields, block))...)
	}
	return file, large
}

// A file that is skimmed has the records that it has when it is read, wherever a member is damaged.
func TestSkim(t *testing.T) {
	file, large := skimFile(t)
	if n := skimmedAs(t, file); n != large {
		t.Errorf("%d records are skimmed, not %d", n, large)
	}
	if n := skimmedAs(t, bytes.Repeat(file, 24)); n != 24*large { // more than the window holds
		t.Errorf("%d records of many are skimmed, not %d", n, 24*large)
	}
	for n := range 15 {
		bad := bytes.Clone(file)
		bad[(n*27919)%len(bad)] ^= 1 << (n % 8)
		skimmedAs(t, bad)
		skimmedAs(t, file[:len(file)-n*1317])
	}
	block := "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("a body ", 3000)
	response := "WARC-Type: response\r\nWARC-Target-URI: http://h.test/\r\nWARC-Date: 2024-05-01T10:00:00Z\r\n"
	one := foreign(response, block)
	short := strings.Replace(one, "Content-Length: 21", "Content-Length: 11", 1)
	for name, file := range map[string][]byte{
		"two in one":      append(gzipped(t, one+one), gzipped(t, one)...),
		"two at the end":  append(gzipped(t, one), gzipped(t, one+one)...),
		"no empty lines":  append(gzipped(t, strings.TrimRight(one, "\r\n")), gzipped(t, one)...),
		"one empty line":  append(gzipped(t, one[:len(one)-2]), gzipped(t, one)...),
		"shorter block":   append(gzipped(t, short), gzipped(t, one)...),
		"what follows":    append(gzipped(t, one), "and no record"...),
		"other ends":      append(gzipped(t, one[:len(one)-4]+"abcd"), gzipped(t, one)...),
		"nothing of HTTP": gzipped(t, foreign(response, strings.Repeat("no head", 3000))),
	} {
		t.Run(name, func(t *testing.T) { skimmedAs(t, file) })
	}
}

// FuzzSkim holds the skimmer against the reader.
func FuzzSkim(f *testing.F) {
	file, _ := skimFile(f)
	f.Add(file[:20_000])
	block := "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("a body ", 1000)
	one := foreign("WARC-Type: response\r\nWARC-Target-URI: http://h.test/\r\n", block)
	f.Add(append(gzipped(f, one, one), gzipped(f, one+one)...))
	f.Fuzz(func(t *testing.T, file []byte) { skimmedAs(t, file) })
}
