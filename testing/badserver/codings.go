// SPDX-License-Identifier: Apache-2.0

package badserver

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	_ "embed"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Encode returns b in a content coding: gzip, br, zstd, deflate (zlib) or deflate-raw.
func Encode(coding string, b []byte) []byte {
	var out bytes.Buffer
	w := encoder(coding, &out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func encoder(coding string, out io.Writer) io.WriteCloser {
	switch coding {
	case "gzip":
		return gzip.NewWriter(out)
	case "br":
		return brotli.NewWriterLevel(out, 5)
	case "zstd":
		w, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err) // the options are constants
		}
		return w
	case "deflate":
		return zlib.NewWriter(out)
	case "deflate-raw":
		w, err := flate.NewWriter(out, flate.DefaultCompression)
		if err != nil {
			panic(err) // the level is a constant
		}
		return w
	}
	panic("badserver: no coding " + coding)
}

// brotliBomb is what brotli's quality 9 makes of 256 MiB of zeros.
//
//go:embed testdata/zeros-256MiB.br
var brotliBomb []byte

// bomb returns 256 MB of zeros in a coding, made on first use. Those of the deflate family repeat one block
// and have no valid checksum at their end, which no client should live to see.
func bomb(coding string) func() []byte {
	const parts = 256
	return sync.OnceValue(func() []byte {
		zeros := make([]byte, 1<<20)
		switch coding {
		case "zstd": // a body may be many frames
			return bytes.Repeat(Encode(coding, zeros), parts)
		case "br":
			return brotliBomb
		}
		var out bytes.Buffer
		w := encoder(coding, &out).(interface {
			io.WriteCloser
			Flush() error
		})
		w.Flush()
		w.Write(zeros)
		w.Flush()
		head := out.Len()
		w.Write(zeros)
		w.Flush()
		block := bytes.Clone(out.Bytes()[head:])
		out.Write(bytes.Repeat(block, parts-2))
		return out.Bytes()
	})
}

func label(coding string) string {
	return "Content-Encoding: " + strings.TrimSuffix(coding, "-raw")
}

func addCodings(m map[string]Handler) {
	long := Long()
	for _, coding := range []string{"gzip", "br", "zstd", "deflate", "deflate-raw"} {
		whole := sync.OnceValue(func() []byte { return Encode(coding, long) })
		send := func(edit func([]byte) []byte) Handler {
			return func(c *Conn, _ *http.Request) bool {
				c.Answer("200 OK", edit(bytes.Clone(whole())), html, label(coding))
				return true
			}
		}
		m["/"+coding] = send(func(b []byte) []byte { return b })
		m["/"+coding+"-cut"] = send(func(b []byte) []byte { return b[:len(b)/2] })
		m["/"+coding+"-cut-end"] = send(func(b []byte) []byte { return b[:len(b)-1] })
		m["/"+coding+"-corrupt"] = send(func(b []byte) []byte {
			for i := len(b) / 2; i < len(b)/2+40 && i < len(b); i++ {
				b[i] ^= 0x55
			}
			return b
		})
		m["/"+coding+"-empty"] = send(func([]byte) []byte { return nil })
		zeros := bomb(coding)
		m["/"+coding+"-bomb"] = func(c *Conn, _ *http.Request) bool {
			c.Answer("200 OK", zeros(), html, label(coding))
			return true
		}
		m["/"+coding+"-lie"] = answer("200 OK", Page, html, label(coding)) // says coded, is plain
		m["/"+coding+"-no-last-chunk"] = func(c *Conn, _ *http.Request) bool {
			c.Text("HTTP/1.1 200 OK\r\n%s\r\n%s\r\nTransfer-Encoding: chunked\r\n\r\n", html, label(coding))
			c.Text("%x\r\n%s\r\n", len(whole()), whole())
			return false
		}
	}
	page := []byte(Page)
	gz := Encode("gzip", page)
	wrongSum := bytes.Clone(gz)
	wrongSum[len(wrongSum)-8] ^= 1
	m["/gzip-checksum"] = answer("200 OK", string(wrongSum), html, label("gzip"))
	m["/gzip-padded"] = answer("200 OK", string(gz)+strings.Repeat("\x00", 512), html, label("gzip"))
	m["/gzip-members"] = answer("200 OK", string(Encode("gzip", page[:30]))+string(Encode("gzip", page[30:])),
		html, label("gzip"))
	m["/gzip-over-br"] = answer("200 OK", string(Encode("gzip", Encode("br", page))), html,
		"Content-Encoding: br, gzip")
	m["/coding-unknown"] = answer("200 OK", Page, html, "Content-Encoding: sdch")
	m["/coding-many"] = answer("200 OK", string(gz), html,
		"Content-Encoding: gzip, gzip, gzip, gzip, gzip, gzip")
	m["/coding-identity"] = answer("200 OK", Page, html, "Content-Encoding: identity")
	m["/coding-x-gzip"] = answer("200 OK", string(gz), html, "Content-Encoding: X-GZip")
	inner := string(Encode("gzip", bytes.Repeat([]byte("a tar archive\n"), 100)))
	m["/files/a.tar.gz"] = answer("200 OK", inner, "Content-Type: application/x-tar", label("gzip"))
	m["/files/b.tgz"] = answer("200 OK", inner, "Content-Type: application/x-gzip", "Content-Encoding: x-gzip")
	m["/files/twice.tar.gz"] = answer("200 OK", string(Encode("gzip", []byte(inner))),
		"Content-Type: application/gzip", label("gzip"))
	m["/files/plain.tar.gz"] = answer("200 OK", inner, "Content-Type: application/gzip")
}

// Long is the body of the paths that are named for a coding: long enough for more than one block of each.
func Long() []byte { return File()[:150000] }

// GzipFile is the body that the /files paths stand for.
func GzipFile() []byte { return Encode("gzip", bytes.Repeat([]byte("a tar archive\n"), 100)) }
