// SPDX-License-Identifier: Apache-2.0

package wacz

import (
	"archive/zip"
	"bytes"
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"strings"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"

	"mirrord/archive/warc"
	"mirrord/internal/lines"
)

// Details is what a file says of itself.
type Details struct {
	Title       string
	Description string
	Software    string
	Created     time.Time
	MainURL     string    // the page to begin with; "" for none
	MainDate    time.Time // of its capture

	Sign crypto.Signer // signs the file; nil: it is not signed
}

// Listed is a page in the list of pages.
type Listed struct {
	ID    string // unique in the file
	URL   string
	Date  time.Time // of its capture
	Title string
	Text  string // what it says
}

// Writer writes a file. Its methods are called one after the other; after an error the file cannot be used.
type Writer struct {
	about Package
	zip   *zip.Writer
	data  *warc.Writer
	part  *part // that is being written

	index, pages lines.Lines
	many         int // manyLines, less in tests
	sign         crypto.Signer
}

// Package is datapackage.json.
type Package struct {
	Profile   string      `json:"profile"`
	Resources []Described `json:"resources"`
	Version   string      `json:"wacz_version"`
	Title     string      `json:"title,omitempty"`
	Text      string      `json:"description,omitempty"`
	Created   string      `json:"created,omitempty"`
	Software  string      `json:"software,omitempty"`
	MainURL   string      `json:"mainPageUrl,omitempty"`
	MainDate  string      `json:"mainPageDate,omitempty"`

	created time.Time
}

// Described is a file inside of the ZIP.
type Described struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"` // "sha256:" and hexadecimal digits
	Bytes int64  `json:"bytes"`
}

// NewWriter begins a file. The lines that are gathered for its end go to scratch files when they are large.
func NewWriter(w io.Writer, a Details, scratch func() (lines.Scratch, error)) (*Writer, error) {
	b := &Writer{
		zip:   zip.NewWriter(w),
		many:  manyLines,
		sign:  a.Sign,
		index: lines.Lines{Room: scratch, Compare: bytes.Compare, Limit: lines.Held},
		pages: lines.Lines{Room: scratch, Limit: lines.Held},
		about: Package{
			Profile:  "data-package",
			Version:  version,
			Title:    a.Title,
			Text:     a.Description,
			Created:  stamp(a.Created),
			Software: a.Software,
			MainURL:  a.MainURL,
			created:  a.Created,
		},
	}
	if a.MainURL != "" {
		b.about.MainDate = stamp(a.MainDate)
	}
	b.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, listLevel)
	})
	err := b.begin(dataName, zip.Store)
	b.data = warc.NewWriter(b.part)
	return b, err
}

// listLevel is the level of deflate for lists, which are written at the end, when all else waits.
const listLevel = 3

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// part is a file inside of the ZIP that is being written.
type part struct {
	Described
	w   io.Writer
	sum hash.Hash
}

func (p *part) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.sum.Write(b[:n])
	p.Bytes += int64(n)
	return n, err
}

// begin ends the part before and begins another one.
func (b *Writer) begin(name string, method uint16) error {
	b.end()
	w, err := b.zip.CreateHeader(&zip.FileHeader{
		Name:     name,
		Method:   method,
		Modified: b.about.created.UTC(),
	})
	b.part = &part{Described: Described{Name: path.Base(name), Path: name}, w: w, sum: sha256.New()}
	return err
}

func (b *Writer) end() {
	if b.part != nil {
		b.part.Hash = "sha256:" + hex.EncodeToString(b.part.sum.Sum(nil))
		b.about.Resources = append(b.about.Resources, b.part.Described)
	}
	b.part = nil
}

// Data writes the records. Each one that can be replayed needs a line in the index.
func (b *Writer) Data() *warc.Writer { return b.data }

// Index adds a line for a record, which lies at its place.
func (b *Writer) Index(e warc.Entry) error {
	e.File = path.Base(dataName)
	return b.index.Add(e.Append(nil))
}

// mostText is how many bytes of what a page says are in the list.
const mostText = 128 << 10

// List adds a page to the list.
func (b *Writer) List(p Listed) error {
	text := strings.ToValidUTF8(p.Text[:min(len(p.Text), mostText)], "")
	line, err := marshal(struct {
		ID    string `json:"id"`
		URL   string `json:"url"`
		Date  string `json:"ts"`
		Title string `json:"title,omitempty"`
		Text  string `json:"text,omitempty"`
	}{p.ID, p.URL, stamp(p.Date), p.Title, text})
	if err != nil {
		return err
	}
	return b.pages.Add(line)
}

// marshal returns JSON and the end of a line.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Close writes pages, index and description, and ends the file.
func (b *Writer) Close() error {
	return errors.Join(b.close(), b.Abort())
}

// Abort lets go of what was gathered, in place of Close. The file has no end then.
func (b *Writer) Abort() error { return errors.Join(b.index.Close(), b.pages.Close()) }

func (b *Writer) close() error {
	if err := b.begin(pagesName, zip.Deflate); err != nil {
		return err
	}
	head := `{"format": "json-pages-1.0", "id": "pages", "title": "All pages", "hasText": true}` + "\n"
	if _, err := io.WriteString(b.part, head); err != nil {
		return err
	}
	if err := b.pages.Each(b.write); err != nil {
		return err
	}
	if err := b.writeIndex(); err != nil {
		return err
	}
	b.end()
	about, err := json.MarshalIndent(b.about, "", "  ")
	if err != nil {
		return err
	}
	if err := b.begin(packageName, zip.Deflate); err != nil {
		return err
	}
	if err := b.write(about); err != nil {
		return err
	}
	b.end()
	digest := packageDigest{Path: packageName, Hash: b.about.Resources[len(b.about.Resources)-1].Hash}
	if b.sign != nil {
		if digest.Signed, err = sign(b.sign, digest.Hash, b.about.Software, b.about.created); err != nil {
			return err
		}
	}
	line, err := marshal(digest)
	if err != nil {
		return err
	}
	if err := b.begin(digestName, zip.Deflate); err != nil {
		return err
	}
	return errors.Join(b.write(line), b.zip.Close())
}

// packageDigest is datapackage-digest.json.
type packageDigest struct {
	Path   string     `json:"path"`
	Hash   string     `json:"hash"`
	Signed *Signature `json:"signedData,omitempty"`
}

func (b *Writer) write(p []byte) error {
	_, err := b.part.Write(p)
	return err
}

// An index of more lines than manyLines is written in members of memberLines, of which a reader fetches those
// that it needs.
const (
	manyLines   = 16 << 10
	memberLines = 1024
)

func (b *Writer) writeIndex() error {
	if b.index.Len() <= b.many {
		if err := b.begin(indexName, zip.Deflate); err != nil {
			return err
		}
		return b.index.Each(b.write)
	}
	if err := b.begin(packedIndex, zip.Store); err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(nil, listLevel)
	if err != nil {
		return err
	}
	p := memberWriter{to: b.part, z: z}
	fmt.Fprintf(&p.idx, "!meta 0 {\"format\": \"cdxj-gzip-1.0\", \"filename\": %q}\n", path.Base(packedIndex))
	if err := b.index.Each(p.add); err != nil {
		return err
	}
	if err := p.flush(); err != nil {
		return err
	}
	if err := b.begin(indexOfThat, zip.Deflate); err != nil {
		return err
	}
	return b.write(p.idx.Bytes())
}

// memberWriter writes lines in gzip members, and the index of those.
type memberWriter struct {
	to    *part
	z     *gzip.Writer
	first []byte // key and time of the first line of the member
	lines int
	text  bytes.Buffer
	idx   bytes.Buffer
}

func (m *memberWriter) add(line []byte) error {
	if m.lines == 0 {
		key, _, _ := bytes.Cut(line, []byte(" {"))
		m.first = append(m.first[:0], key...)
	}
	m.text.Write(line)
	if m.lines++; m.lines < memberLines {
		return nil
	}
	return m.flush()
}

func (m *memberWriter) flush() error {
	if m.lines == 0 {
		return nil
	}
	var member bytes.Buffer
	m.z.Reset(&member)
	if _, err := m.text.WriteTo(m.z); err != nil {
		return err
	}
	if err := m.z.Close(); err != nil {
		return err
	}
	fmt.Fprintf(&m.idx, "%s {\"offset\": %d, \"length\": %d, \"digest\": \"sha256:%x\"}\n", m.first, m.to.Bytes,
		member.Len(), sha256.Sum256(member.Bytes()))
	m.lines = 0
	m.text.Reset()
	_, err := m.to.Write(member.Bytes())
	return err
}
