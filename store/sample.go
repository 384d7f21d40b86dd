// SPDX-License-Identifier: Apache-2.0

package store

import (
	"io"

	"mirrord/site"
)

// Sampling says which stored bodies a check reads, and how fast. The zero value reads all, as fast as it can.
type Sampling struct {
	Pick func(url string) bool // the resources whose bodies are read; nil: all
	// Spend is called before n bytes are read, and may wait; an error ends the check. nil: nothing waits
	Spend func(n int64) error
}

// picks reports whether the bodies of a resource are read.
func (o *Sampling) picks(u site.URL) bool { return (o.Pick == nil) || o.Pick(u.String()) }

// spend says that bytes are about to be read.
func (v *verifier) spend(n int64) {
	if (v.sampling.Spend != nil) && (v.late == nil) && v.deep {
		v.late = v.sampling.Spend(n)
	}
}

// ended returns why the check has to end, nil when it continues.
func (v *verifier) ended() error {
	if v.late != nil {
		return v.late
	}
	return v.ctx.Err()
}

// pacedReader paces the reading of a large body.
type pacedReader struct {
	r io.Reader
	v *verifier
}

func (p pacedReader) Read(b []byte) (int, error) {
	if p.v.spend(int64(len(b))); p.v.late != nil {
		return 0, p.v.late
	}
	return p.r.Read(b)
}
