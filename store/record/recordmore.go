// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"math"

	"mirrord/internal/binread"
	"mirrord/internal/volatile"
)

// more is the second byte of flags.
func (r *Resource) more() (f byte) {
	if r.NoETag {
		f |= rmNoETag
	}
	if r.NoDate {
		f |= rmNoDate
	}
	if r.Recent != 0 || r.Observed != 0 {
		f |= rmObserved
	}
	if r.Volatile != (volatile.Rule{}) {
		f |= rmVolatile
	}
	if r.Expires != 0 {
		f |= rmExpires
	}
	if r.Source != "" {
		f |= rmSource
	}
	if r.Like != 0 {
		f |= rmLike
	}
	if !r.Head.IsZero() || !r.LastHead.IsZero() || r.HeadSum != 0 || r.fourth() != 0 {
		f |= rmThird
	}
	return f
}

// fourth is the fourth byte of flags.
func (r *Resource) fourth() (f byte) {
	if r.docOf() > 0 {
		f |= rqDoc
	}
	if r.Fragment != "" && r.Target != 0 {
		f |= rqFragment
	}
	if r.Cut != 0 {
		f |= rqCut
	}
	if r.Name != "" {
		f |= rqName
	}
	return f
}

// docOf is the number of the document within its frame.
func (r *Resource) docOf() uint32 {
	if r.Body != PackBody {
		return 0
	}
	return r.At.Doc
}

func (r *Resource) appendMore(b []byte, more byte) []byte {
	if more&rmObserved != 0 {
		b = binary.AppendUvarint(b, uint64(r.Recent))
		b = binary.AppendUvarint(b, uint64(r.Observed))
	}
	if more&rmVolatile != 0 {
		n := len(r.Volatile.Templates)
		for n > 0 && r.Volatile.Templates[n-1] == 0 {
			n--
		}
		b = append(b, byte(n), r.Volatile.Seen, r.Volatile.Held)
		for _, t := range r.Volatile.Templates[:n] {
			b = binary.LittleEndian.AppendUint64(b, t)
		}
	}
	if more&rmExpires != 0 {
		b = binary.AppendUvarint(b, uint64(r.Expires))
	}
	if more&rmSource != 0 {
		b = binread.AppendString(b, r.Source)
	}
	if more&rmLike != 0 {
		v := uint64(r.Like) << 1
		if r.SameText {
			v |= 1
		}
		b = binary.AppendUvarint(b, v)
	}
	if more&rmThird == 0 {
		return b
	}
	third, at, file := byte(0), len(b), max(r.Head.File, r.LastHead.File)
	places := [...]HeadPlace{r.Head, r.LastHead}
	for _, p := range places {
		if (!p.IsZero() && p.File != file) || file >= rtFiles {
			file = rtFiles
		}
	}
	b = append(b, 0)
	for i, p := range places {
		if p.IsZero() {
			continue
		}
		third |= rtHead << i
		if file == rtFiles {
			b = binary.AppendUvarint(b, uint64(p.File))
		}
		b = binary.AppendUvarint(b, uint64(p.Off))
	}
	if r.HeadSum != 0 {
		third |= rtHeadSum
		b = binary.LittleEndian.AppendUint64(b, r.HeadSum)
	}
	if fourth := r.fourth(); fourth != 0 {
		third |= rtFourth
		b = append(b, fourth)
		if fourth&rqDoc != 0 {
			b = binary.AppendUvarint(b, uint64(r.At.Doc))
		}
		if fourth&rqFragment != 0 {
			b = binread.AppendString(b, r.Fragment)
		}
		if fourth&rqCut != 0 {
			b = binary.AppendUvarint(b, uint64(r.Cut))
		}
		if fourth&rqName != 0 {
			b = binread.AppendString(b, r.Name)
		}
	}
	b[at] = third | byte(file<<rtShift)
	return b
}

// decodeMore reports whether it knows all of what follows.
func (r *Resource) decodeMore(d *binread.Reader) bool {
	more := d.Byte()
	r.NoETag, r.NoDate = more&rmNoETag != 0, more&rmNoDate != 0
	if more&rmObserved != 0 {
		r.Recent, r.Observed = uint16(d.Uvarint()), int(d.Uvarint())
	}
	if more&rmVolatile != 0 {
		n := int(d.Byte())
		r.Volatile.Seen, r.Volatile.Held = d.Byte(), d.Byte()
		if n > len(r.Volatile.Templates) {
			d.Bad = true
			return true
		}
		for i := range n {
			if v := d.Take(8); v != nil {
				r.Volatile.Templates[i] = binary.LittleEndian.Uint64(v)
			}
		}
	}
	if more&rmExpires != 0 {
		r.Expires = int64(d.Uvarint())
	}
	if more&rmSource != 0 {
		r.Source = d.Text()
	}
	if more&rmLike != 0 {
		v := d.Uvarint()
		if v>>1 == 0 || v>>1 > math.MaxUint32 {
			d.Bad = true // appendMore writes this field for a page that is like another one only
			return true
		}
		r.Like, r.SameText = uint32(v>>1), v&1 != 0
	}
	if more&rmThird == 0 {
		return true
	}
	third := d.Byte()
	for i, p := range [...]*HeadPlace{&r.Head, &r.LastHead} {
		if third&(rtHead<<i) == 0 {
			continue
		}
		if p.File = uint32(third >> rtShift); p.File == rtFiles {
			p.File = uint32(d.Uvarint())
		}
		p.Off = int64(d.Uvarint())
	}
	if third&rtHeadSum != 0 {
		if v := d.Take(8); v != nil {
			r.HeadSum = binary.LittleEndian.Uint64(v)
		}
	}
	if third&rtFourth == 0 {
		return true
	}
	fourth := d.Byte()
	if fourth&rqDoc != 0 {
		r.At.Doc = uint32(d.Uvarint())
	}
	if fourth&rqFragment != 0 {
		r.Fragment = d.Text()
	}
	if fourth&rqCut != 0 {
		r.Cut = uint16(d.Uvarint())
	}
	if fourth&rqName != 0 {
		r.Name = d.Text()
	}
	return d.Bad || fourth&rqUnknown == 0
}
