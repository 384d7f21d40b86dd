// SPDX-License-Identifier: Apache-2.0

package places

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	perClient = 4                // descriptors: the connection, and the files that are read for an answer
	fillAfter = 10 * time.Second // since some were given away
)

// Reserved is a listener for which descriptors are kept back: when the process has none left, its clients are
// served all the same.
type Reserved struct {
	net.Listener
	most  int
	spare []*os.File // used by Accept alone
	given time.Time  // when some were given away last
}

// Reserve keeps descriptors back for a listener.
func Reserve(l net.Listener, most int) *Reserved {
	r := &Reserved{Listener: l, most: most}
	r.fill()
	return r
}

func (r *Reserved) fill() {
	for len(r.spare) < r.most {
		f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return
		}
		r.spare = append(r.spare, f)
	}
}

// Accept returns the next connection. When there is no descriptor for it, some of those that are kept back
// are given away.
func (r *Reserved) Accept() (net.Conn, error) {
	for {
		c, err := r.Listener.Accept()
		if err == nil {
			if time.Since(r.given) > fillAfter {
				r.fill()
			}
			return c, nil
		}
		none := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
		if !none || len(r.spare) == 0 {
			return nil, err
		}
		keep := max(len(r.spare)-perClient, 0)
		for _, f := range r.spare[keep:] {
			f.Close()
		}
		r.spare, r.given = r.spare[:keep], time.Now()
	}
}
