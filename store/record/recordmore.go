// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"math"
	"slices"

	"mirrord/internal/binread"
	"mirrord/internal/volatile"
	"mirrord/site"
)

const recordVersion = 1

// recordFixed is how many bytes a value takes beside its texts, as a rule.
const recordFixed = 128

// Append writes the value of r.
func (r *Resource) Append(b []byte) []byte {
	c := coder{out: append(slices.Grow(b, recordFixed+len(r.Path)), recordVersion)}
	r.code(&c)
	return c.out
}

// Decode reads a value; u is the URL of its key.
func (r *Resource) Decode(u site.URL, b []byte) error {
	c := coder{Reader: binread.Sharing(b), reads: true}
	*r = Resource{URL: u}
	if v := c.Byte(); v < recordVersion {
		return fmt.Errorf("record of %s: %w: format %d", u, ErrValue, v)
	} else if v > recordVersion {
		return fmt.Errorf("record of %s: format %d: %w", u, v, ErrNewerFormat)
	}
	switch newer := r.code(&c); {
	case newer:
		return fmt.Errorf("record of %s: %w", u, ErrNewerFormat)
	case c.Bad:
		return fmt.Errorf("record of %s: %w: short value", u, ErrValue)
	case r.Body != PackBody:
		r.At = Place{}
	}
	return nil
}

// rare says which of the values that most records lack a record has.
type rare struct {
	observed, volatile, expires, source, like bool
	head, lastHead, headSum                   bool
	doc, fragment, cut, name                  bool
}

func (r *Resource) rare() rare {
	return rare{
		observed: r.Recent != 0 || r.Observed != 0,
		volatile: r.Volatile != volatile.Rule{},
		expires:  r.Expires != 0,
		source:   r.Source != "",
		like:     r.Like != 0,
		head:     !r.Head.IsZero(),
		lastHead: !r.LastHead.IsZero(),
		headSum:  r.HeadSum != 0,
		doc:      r.Body == PackBody && r.At.Doc > 0,
		fragment: r.Fragment != "" && r.Target != 0,
		cut:      r.Cut != 0,
		name:     r.Name != "",
	}
}

// code writes a value, or reads it. newer says that it has something that this program does not know.
func (r *Resource) code(c *coder) (newer bool) {
	x, evidence := r.rare(), r.Evidence != [2]uint64{}
	more := r.NoETag || r.NoDate || x != rare{} // a second byte of flags follows the evidence
	path := r.Path
	isURL := path != "" && path == urlPath(r.URL) // without its leading slash
	if isURL {
		path = ""
	}
	c.flags(0, &r.InSet, &r.Requis, &isURL, &r.NoFollow, &r.ShapeNew, &r.Listing, &evidence, &more)
	octets(c, &r.Outcome)
	octets(c, &r.Body)
	octets(c, &r.Format)
	numbers(c, &r.ID)
	numbers(c, &r.Status)
	numbers(c, &r.Checked)
	numbers(c, &r.Run, &r.Failures, &r.Gone)
	numbers(c, &r.Target, &r.Referrer)
	numbers(c, &r.Depth, &r.Changed, &r.Moved)
	c.texts(&r.Reason, &path)
	if c.reads {
		if r.Path = path; isURL {
			r.Path = urlPath(r.URL)
		}
	}
	if evidence {
		c.hashes(&r.Evidence[0], &r.Evidence[1])
	}
	if more {
		newer = r.codeRare(c, &x)
	}
	if newer || r.Body == NoBody {
		return newer
	}
	if c.reads {
		copy(r.Digest[:], c.Take(len(r.Digest)))
	} else {
		c.out = append(c.out, r.Digest[:]...)
	}
	numbers(c, &r.Fetched, &r.Modified, &r.Size)
	numbers(c, &r.Shape)
	c.texts(&r.MIME, &r.Charset, &r.ETag, &r.LastModified)
	if r.Body == PackBody {
		r.At.code(c)
	}
	return false
}

// codeRare is code for what most records lack.
func (r *Resource) codeRare(c *coder, x *rare) (newer bool) {
	fourth := x.doc || x.fragment || x.cut || x.name
	third := x.head || x.lastHead || x.headSum || fourth
	c.flags(0, &r.NoETag, &r.NoDate, &x.observed, &x.volatile, &x.expires, &x.source, &x.like, &third)
	if x.observed {
		numbers(c, &r.Recent)
		numbers(c, &r.Observed)
	}
	if x.volatile {
		r.codeVolatile(c)
	}
	if x.expires {
		numbers(c, &r.Expires)
	}
	if x.source {
		c.texts(&r.Source)
	}
	if x.like {
		like := withBit(uint64(r.Like), r.SameText)
		if numbers(c, &like); like>>1 == 0 || like>>1 > math.MaxUint32 {
			c.Fail() // it is written for a page that is like another one only
		}
		if c.reads {
			r.Like, r.SameText = uint32(like>>1), like&1 != 0
		}
	}
	if !third {
		return false
	}
	r.codeHeads(c, x, &fourth)
	if !fourth {
		return false
	}
	if c.flags(0, &x.doc, &x.fragment, &x.cut, &x.name) != 0 {
		return true
	}
	if x.doc {
		numbers(c, &r.At.Doc)
	}
	if x.fragment {
		c.texts(&r.Fragment)
	}
	if x.cut {
		numbers(c, &r.Cut)
	}
	if x.name {
		c.texts(&r.Name)
	}
	return false
}

// noFile is the number of the file of heads, in four bits, that says that the numbers follow: it is too large
// for these, or the heads lie in two files.
const noFile = 15

func (r *Resource) codeHeads(c *coder, x *rare, fourth *bool) {
	file := max(r.Head.File, r.LastHead.File)
	if file > noFile || (x.head && x.lastHead && r.Head.File != r.LastHead.File) {
		file = noFile
	}
	file = uint32(c.flags(byte(file), &x.head, &x.lastHead, &x.headSum, fourth))
	for i, p := range [...]*HeadPlace{&r.Head, &r.LastHead} {
		if has := [...]bool{x.head, x.lastHead}; !has[i] {
			continue
		}
		if c.reads {
			p.File = file
		}
		if file == noFile {
			numbers(c, &p.File)
		}
		numbers(c, &p.Off)
	}
	if x.headSum {
		c.hashes(&r.HeadSum)
	}
}

func (r *Resource) codeVolatile(c *coder) {
	v := &r.Volatile
	n := byte(len(v.Templates))
	for n > 0 && v.Templates[n-1] == 0 {
		n--
	}
	if octets(c, &n, &v.Seen, &v.Held); int(n) > len(v.Templates) {
		c.Fail()
		return
	}
	for i := range n {
		c.hashes(&v.Templates[i])
	}
}

// withBit is a number with a bit below it.
func withBit(n uint64, bit bool) uint64 {
	if n <<= 1; bit {
		n |= 1
	}
	return n
}

// DecodeKeyed reads the value of a key of the resources.
func (r *Resource) DecodeKeyed(key, value []byte) error {
	u, err := URLOfKey(key)
	if err != nil {
		return fmt.Errorf("resources: %w", err)
	}
	return r.Decode(u, value)
}
