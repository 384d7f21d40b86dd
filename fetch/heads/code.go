// SPDX-License-Identifier: Apache-2.0

package heads

import (
	"encoding/binary"
	"fmt"
	"strings"

	"mirrord/internal/binread"
)

// The flags of a coded head.
const (
	flagNormalised = 1 << iota
	flagStatus
	flagFields
	flagUnknown
)

// Append codes a head over a base; nil is the empty head.
func (h *Head) Append(b []byte, base *Head) []byte {
	if base == nil {
		base = new(Head)
	}
	flags := byte(0)
	if h.Normalised {
		flags |= flagNormalised
	}
	if h.Status != base.Status {
		flags |= flagStatus
	}
	named := h.NamedAs(base)
	if !named {
		flags |= flagFields
	}
	b = append(b, flags)
	if h.Status != base.Status {
		b = binread.AppendString(b, h.Status)
	}
	var c coder
	if !named {
		return c.fields(b, h, base)
	}
	bits := len(b)
	b = append(b, make([]byte, (len(base.Fields)+7)/8)...)
	for i, f := range h.Fields {
		if f.Value != base.Fields[i].Value {
			b[bits+i/8] |= 1 << (i % 8)
			b = c.value(b, f.Value, base.Fields[i].Value)
		}
	}
	return b
}

// NamedAs reports whether the heads have the same names in the same order and spelling.
func (h *Head) NamedAs(base *Head) bool {
	if len(h.Fields) != len(base.Fields) {
		return false
	}
	for i, f := range h.Fields {
		if f.Name != base.Fields[i].Name {
			return false
		}
	}
	return true
}

// likenessFields bounds the fields of a head that are looked up by name.
const likenessFields = 64

// Likeness is how many bytes of the head's names and values a base has too: a cheap guess of which one of
// several is the best to code it over.
func (h *Head) Likeness(base *Head) (n int) {
	named := h.NamedAs(base)
	if !named && max(len(h.Fields), len(base.Fields)) > likenessFields {
		return 0
	}
	expected := 0
	for _, f := range h.Fields {
		i := expected
		if !named {
			if i = indexFrom(base.Fields, f.Name, expected); i < 0 {
				continue
			}
		}
		expected = i + 1
		n += len(f.Name)
		if f.Value == base.Fields[i].Value {
			n += len(f.Value)
		}
	}
	return n
}

// fields codes the fields of a head that has other names than its base.
func (c *coder) fields(b []byte, h, base *Head) []byte {
	b = binary.AppendUvarint(b, uint64(len(h.Fields)))
	expected := 0
	for _, f := range h.Fields {
		i := indexFrom(base.Fields, f.Name, expected)
		if i < 0 {
			b = append(b, 0)
			b = binread.AppendString(b, f.Name)
			b = c.value(b, f.Value, "")
			continue
		}
		ref := 1 + 2*zigzag(int64(i-expected))
		if expected = i + 1; f.Value == base.Fields[i].Value {
			b = binary.AppendUvarint(b, ref+1)
			continue
		}
		b = binary.AppendUvarint(b, ref)
		b = c.value(b, f.Value, base.Fields[i].Value)
	}
	return b
}

// indexFrom finds the field of a name, at best from an index on, -1 without one.
func indexFrom(fields []Field, name string, from int) int {
	for n := range fields {
		if i := (from + n) % len(fields); fields[i].Name == name {
			return i
		}
	}
	return -1
}

// Decode reads a head that was coded over base. What comes from a file may be damaged: no more memory is
// taken than MaxSize allows.
func Decode(b []byte, base *Head) (*Head, error) {
	if base == nil {
		base = new(Head)
	}
	d := reader{Reader: binread.Reader{Rest: b}, src: string(b), room: MaxSize}
	flags := d.Byte()
	if flags >= flagUnknown {
		return nil, fmt.Errorf("coded head: flags %#x: %w", flags, errMalformed)
	}
	h := &Head{Status: base.Status, Normalised: flags&flagNormalised != 0}
	if flags&flagStatus != 0 {
		h.Status = d.string()
	}
	d.room -= len(h.Status)
	if flags&flagFields != 0 {
		d.fields(h, base)
	} else {
		h.Fields = make([]Field, len(base.Fields))
		bits := d.Take((len(base.Fields) + 7) / 8)
		for i, f := range base.Fields {
			if d.Bad {
				break
			}
			if bits[i/8]&(1<<(i%8)) != 0 {
				f.Value = d.value(f.Value)
			}
			h.Fields[i] = f
			d.room -= len(f.Name) + len(f.Value)
		}
	}
	if d.Bad || d.room < 0 || len(d.Rest) > 0 {
		return nil, fmt.Errorf("coded head: %w", errMalformed)
	}
	return h, nil
}

// fields reads a list of fields.
func (d *reader) fields(h, base *Head) {
	n := d.Uvarint()
	if n > uint64(len(d.Rest)) { // each takes a byte at least
		d.Bad = true
		return
	}
	h.Fields = make([]Field, 0, n)
	expected := 0
	for ; n > 0 && !d.Bad && d.room >= 0; n-- {
		var f Field
		if ref := d.Uvarint(); ref == 0 {
			f.Name = d.string()
			f.Value = d.value("")
		} else {
			i := int64(expected) + unzigzag((ref-1)/2)
			if i < 0 || i >= int64(len(base.Fields)) {
				d.Bad = true
				return
			}
			f, expected = base.Fields[i], int(i)+1
			if ref%2 == 1 {
				f.Value = d.value(f.Value)
			}
		}
		h.Fields = append(h.Fields, f)
		d.room -= len(f.Name) + len(f.Value)
	}
}

func zigzag(n int64) uint64   { return uint64(n<<1) ^ uint64(n>>63) }
func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// reader decodes; after a short read bad is set and all values are zero.
type reader struct {
	binread.Reader
	src   string // all of it: decoded text shares it
	room  int    // bytes that the head may still have
	moved int64  // by how many seconds the last date that was told differs from the base's
	text  strings.Builder
}

func (d *reader) string() string {
	n := d.Uvarint()
	if n > uint64(len(d.Rest)) {
		d.Fail()
		return ""
	}
	return d.chars(int(n))
}

func (d *reader) chars(n int) string {
	at := len(d.src) - len(d.Rest)
	if d.Take(n); d.Bad {
		return ""
	}
	return d.src[at : at+n]
}
