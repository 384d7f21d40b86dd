// SPDX-License-Identifier: Apache-2.0

package wacz

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/zeebo/xxh3"

	"mirrord/archive/warc"
	"mirrord/internal/inorder"
)

// ErrNotWACZ says that a file is no WACZ that can be read.
var ErrNotWACZ = errors.New("not a WACZ file")

// maxDescription is how many bytes of datapackage.json are read.
const maxDescription = 64 << 20

// Reader is a file that is open for reading.
type Reader struct {
	About Package
	zip   *zip.Reader
	bytes io.ReaderAt // of the file

	signer string         // see Signer
	roots  *x509.CertPool // in tests
}

// Signer is who signed the file, once Compare has found that the signature fits; "" for no signature.
func (c *Reader) Signer() string { return c.signer }

// Open opens a file: its directory and description are read, and nothing else.
func Open(r io.ReaderAt, size int64) (*Reader, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotWACZ, err)
	}
	c := &Reader{zip: z, bytes: r}
	text, err := c.read(packageName, maxDescription)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &c.About); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNotWACZ, packageName, err)
	}
	if len(c.Records()) == 0 {
		return nil, fmt.Errorf("%w: it has no records below archive/", ErrNotWACZ)
	}
	return c, nil
}

// IsWACZ reports whether a ZIP file is a WACZ. It reads the directory.
func IsWACZ(r io.ReaderAt, size int64) bool {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return false
	}
	c := &Reader{zip: z}
	return (c.file(packageName) != nil) && len(c.Records()) > 0
}

func (c *Reader) file(name string) *zip.File {
	i := slices.IndexFunc(c.zip.File, func(f *zip.File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return c.zip.File[i]
}

// read reads a small file.
func (c *Reader) read(name string, limit int64) ([]byte, error) {
	f := c.file(name)
	if f == nil {
		return nil, fmt.Errorf("%w: %s is missing", ErrNotWACZ, name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrNotWACZ, name, limit)
	}
	return b, nil
}

// Records lists the files of records.
func (c *Reader) Records() []*zip.File {
	return slices.DeleteFunc(slices.Clone(c.zip.File), func(f *zip.File) bool {
		known := slices.ContainsFunc([]string{".warc", ".warc.gz", ".warc.zst"}, func(end string) bool {
			return strings.HasSuffix(f.Name, end)
		})
		return !known || !strings.HasPrefix(f.Name, "archive/")
	})
}

// HasIndex reports whether there is an index.
func (c *Reader) HasIndex() bool { return slices.ContainsFunc(c.zip.File, isIndex) }

func isIndex(f *zip.File) bool {
	return strings.HasPrefix(f.Name, "indexes/") && !strings.HasSuffix(f.Name, ".idx") &&
		!strings.HasSuffix(f.Name, "/")
}

// Index calls f for the lines of the index.
func (c *Reader) Index(f func(warc.Entry) error) error {
	for _, file := range c.zip.File {
		name := file.Name
		if !isIndex(file) {
			continue
		}
		if err := eachLine(file, func(line string) error {
			e, err := warc.ParseEntry(line)
			if err != nil {
				return err
			}
			return f(e)
		}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// maxLine is how many bytes a line of an index has at most.
const maxLine = 1 << 20

func eachLine(file *zip.File, f func(line string) error) error {
	z, err := file.Open()
	if err != nil {
		return err
	}
	defer z.Close()
	r := io.Reader(z)
	if strings.HasSuffix(file.Name, ".gz") {
		if r, err = gzip.NewReader(z); err != nil {
			return err
		}
	}
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		if err := f(s.Text()); err != nil {
			return err
		}
	}
	return s.Err()
}

// Verify reads the whole file: sizes and digests of what datapackage.json lists, the pages, every record, and
// that the index points to the records. wrong gets the errors, with the name of the file inside.
func (c *Reader) Verify(crew inorder.Crew, wrong func(name string, err error)) warc.Surveyed {
	type problem struct {
		name string
		err  error
	}
	compared := make(chan []problem, 1)
	compare := func() {
		var found []problem
		c.Compare(math.MaxInt64, func(name string, err error) { found = append(found, problem{name, err}) })
		compared <- found
	}
	if crew.Go != nil {
		crew.Go(compare)
	} else {
		compare()
	}
	var all warc.Surveyed
	var records Pointers
	var found []problem
	for _, f := range c.Records() {
		all.Add(c.survey(crew, f, &records, func(err error) { found = append(found, problem{f.Name, err}) }))
	}
	for _, p := range append(<-compared, found...) {
		wrong(p.name, p.err)
	}
	if _, err := c.Pages(); err != nil {
		wrong(pagesName, err)
	}
	if err := c.Leads(records); err != nil {
		wrong("indexes/", err)
	}
	return all
}

// survey reads a file of records: by the crew when its bytes lie there as they are, and are compared with a
// digest besides.
func (c *Reader) survey(
	crew inorder.Crew, f *zip.File, records *Pointers, wrong func(error),
) warc.Surveyed {
	listed := slices.ContainsFunc(c.About.Resources, func(d Described) bool { return d.Path == f.Name })
	if at, err := f.DataOffset(); err == nil && f.Method == zip.Store && listed {
		part, size := *records, int64(f.UncompressedSize64)
		add := part.Of(f.Name)
		if t, ok := warc.SurveyParts(io.NewSectionReader(c.bytes, at, size), size, crew, func(e warc.Entry) error {
			add(e)
			return nil
		}); ok {
			*records = part
			return t
		}
	}
	r, err := f.Open()
	if err != nil {
		wrong(err)
		return warc.Surveyed{}
	}
	add := records.Of(f.Name)
	t, err := warc.Survey(r, func(e warc.Entry) error {
		add(e)
		return nil
	}, wrong)
	if err = errors.Join(err, r.Close()); err != nil {
		wrong(err)
	}
	return t
}

// Compare reads the files that datapackage.json lists and compares them with the sizes and digests there, and
// that file with its own digest. It reads a file once, and at most that many bytes of all. wrong gets the
// errors, with the name of the file inside.
func (c *Reader) Compare(most int64, wrong func(name string, err error)) {
	c.verifyDescription(wrong)
	seen := map[string]bool{}
	for _, d := range c.About.Resources {
		if seen[d.Path] {
			continue
		}
		seen[d.Path] = true
		if err := c.verifyFile(d, &most); err != nil {
			wrong(d.Path, err)
		}
	}
}

// Leads returns an error unless the index points to the records that were found, and to nothing else.
func (c *Reader) Leads(records Pointers) error {
	var lines Pointers
	if err := c.Index(func(e warc.Entry) error {
		lines.Of(e.File)(e)
		return nil
	}); err != nil {
		return err
	}
	if !lines.equal(&records) {
		return fmt.Errorf("index: its %d lines do not lead to the %d records", lines.n, records.n)
	}
	return nil
}

// Pointers is where lines lead, without an order.
type Pointers struct {
	n     int
	sum   uint64 // of files, offsets and URLs
	times uint64 // the same with times, to the second
	short bool   // a time is less precise than that
}

// equal compares them as precisely as both are.
func (p *Pointers) equal(q *Pointers) bool {
	return p.n == q.n && p.sum == q.sum && (p.times == q.times || p.short || q.short)
}

// Of returns what takes in the lines of a file of records.
func (p *Pointers) Of(file string) func(warc.Entry) {
	file = path.Base(file)
	return func(e warc.Entry) {
		p.n++
		place := fmt.Sprintf("%s\n%d\n%s", file, e.Place.Offset, e.URL)
		p.sum += xxh3.HashString(place)
		if len(e.Time) < len(warc.StampForm) {
			p.short = true
			return
		}
		p.times += xxh3.HashString(place + e.Time[:len(warc.StampForm)])
	}
}

// mostPages is how many pages of the list are read.
const mostPages = 1000

// Pages returns the beginning of the list of pages: the chosen ones, if it has such a choice.
func (c *Reader) Pages() (pages []Listed, err error) {
	file := c.file(pagesName)
	if file == nil {
		return nil, nil
	}
	var seeds []Listed
	err = eachLine(file, func(line string) error {
		var p struct {
			URL  string `json:"url"`
			Seed bool   `json:"seed"`
		}
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			return err
		}
		if p.URL != "" && len(pages) < mostPages {
			pages = append(pages, Listed{URL: p.URL})
		}
		if p.Seed && len(seeds) < mostPages {
			seeds = append(seeds, Listed{URL: p.URL})
		}
		return nil
	})
	if len(seeds) > 0 {
		pages = seeds
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", pagesName, err)
	}
	return pages, err
}

func (c *Reader) verifyDescription(wrong func(name string, err error)) {
	text, err := c.read(digestName, maxDescription)
	if errors.Is(err, ErrNotWACZ) {
		return // it is optional
	}
	var digest packageDigest
	if err == nil {
		err = json.Unmarshal(text, &digest)
	}
	var about []byte
	if err == nil {
		about, err = c.read(packageName, maxDescription)
	}
	if err == nil && !sameHash(digest.Hash, sha256.Sum256(about)) {
		err = fmt.Errorf("%s has another digest", packageName)
	}
	if err == nil && digest.Signed != nil {
		c.signer, err = digest.Signed.check(digest.Hash, c.roots)
	}
	if err != nil {
		wrong(digestName, err)
	}
}

// sameHash compares a digest of the description; one of another kind is not compared.
func sameHash(hash string, sum [32]byte) bool {
	digits, ok := strings.CutPrefix(strings.ToLower(hash), "sha256:")
	return !ok || digits == hex.EncodeToString(sum[:])
}

// errUnpacks says that files take more bytes than their archive is worth.
var errUnpacks = errors.New("it has too many bytes for its archive")

// verifyFile compares a file with its description; a size that is missing is not compared. most is how
// many bytes may be read, and how many are left.
func (c *Reader) verifyFile(d Described, most *int64) error {
	f := c.file(d.Path)
	if f == nil {
		return errors.New("it is listed and missing")
	}
	if f.UncompressedSize64 > uint64(*most) {
		return errUnpacks
	}
	*most -= int64(f.UncompressedSize64)
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	h := sha256.New()
	n, err := io.Copy(h, r)
	switch {
	case err != nil:
		return err
	case d.Bytes > 0 && n != d.Bytes:
		return fmt.Errorf("it has %d bytes, not %d", n, d.Bytes)
	case !sameHash(d.Hash, [32]byte(h.Sum(nil))):
		return errors.New("it has another digest")
	}
	return nil
}
