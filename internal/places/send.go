// SPDX-License-Identifier: Apache-2.0

package places

import (
	"context"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// The least rate of a reader: a piece each minute, which is 1 KiB a second.
const (
	piece     = 64 << 10
	pieceTime = time.Minute
)

const (
	inMemory = 256 << 10 // bytes of what a reader has not taken yet that are in memory
	mostDisk = 1 << 30   // and in a file
)

// Send sends what write writes, which is called at once. What the reader has not taken yet is put aside, in
// memory and a temporary file. When that is full, the place is given away until the reader has it all. A
// reader who takes less than the least rate is disconnected.
//
// begun reports whether anything was written: the answer cannot become another one then.
func (x *Seat) Send(
	ctx context.Context, w http.ResponseWriter, write func(io.Writer) error,
) (begun bool, err error) {
	return x.send(ctx, w, inMemory+mostDisk, write)
}

func (x *Seat) send(
	ctx context.Context, w http.ResponseWriter, limit int64, write func(io.Writer) error,
) (begun bool, err error) {
	a := &aside{ctx: ctx, place: x, limit: limit}
	a.changed.L = &a.mu
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{})   // the request was read, and its deadline would end the context
	w.Header().Set("Connection", "close") // the deadline of the last piece stays on it
	defer context.AfterFunc(ctx, func() {
		a.fail(context.Cause(ctx))
		_ = a.until(rc, time.Now()) // it does not wait for the piece under way
	})()
	var sent sync.WaitGroup
	sent.Go(func() { a.send(w) })
	a.end(write(a))
	x.leave()
	sent.Wait()
	if a.file != nil {
		a.file.Close()
	}
	if !a.begun {
		w.Header().Del("Connection")
	}
	return a.begun, a.err
}

// aside is what was written and not read yet. Offsets count from when it was empty last.
type aside struct {
	ctx   context.Context
	place *Seat

	mu      sync.Mutex
	changed sync.Cond
	memory  []byte
	file    *os.File // behind the bytes in memory; nil before it is needed
	limit   int64
	w, r    int64 // written, read
	begun   bool
	done    bool  // nothing more is written
	err     error // that ended it
}

// fail ends it; the first error is the one that counts.
func (a *aside) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
	a.changed.Broadcast()
}

// end says that nothing more is written.
func (a *aside) end(err error) {
	if err != nil {
		a.fail(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = true
	a.changed.Broadcast()
}

// Write puts bytes aside. It waits for the reader when there is no room.
func (a *aside) Write(p []byte) (n int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = a.begun || len(p) > 0
	for n < len(p) && a.err == nil {
		room := int(min(a.limit-a.w, int64(len(p)-n)))
		if room == 0 {
			if err := a.drain(); err != nil {
				return n, err
			}
			continue
		}
		m := a.put(p[n : n+room])
		n += m
		a.w += int64(m)
		if m < room { // the disk has no room: as much as it has had
			a.limit = a.w
		}
		a.changed.Broadcast()
	}
	return n, a.err
}

// put keeps bytes at the offset of the next write, and returns how many fit.
func (a *aside) put(p []byte) (n int) {
	if a.w < inMemory {
		n = min(len(p), inMemory-int(a.w))
		a.memory = append(a.memory[:a.w], p[:n]...)
	}
	if n == len(p) {
		return n
	}
	if a.file == nil {
		f, err := os.CreateTemp("", "mirrord-aside-")
		if err != nil {
			return n
		}
		os.Remove(f.Name()) // it is gone with the process
		a.file = f
	}
	m, _ := a.file.WriteAt(p[n:], a.w+int64(n)-inMemory)
	return n + m
}

// drain waits until everything was read. Others have the place meanwhile.
func (a *aside) drain() error {
	a.place.leave()
	for a.w > 0 && a.err == nil {
		a.changed.Wait()
	}
	if a.err != nil {
		return a.err
	}
	a.mu.Unlock()
	err := a.place.again(a.ctx)
	a.mu.Lock()
	return err
}

// take returns bytes that are next to be read; none at the end.
func (a *aside) take(buf []byte) (n int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.r == a.w && !a.done && a.err == nil {
		a.changed.Wait()
	}
	if a.err != nil || a.r == a.w {
		return 0, a.err
	}
	buf = buf[:min(int64(len(buf)), a.w-a.r)]
	if a.r < inMemory {
		n = copy(buf, a.memory[a.r:min(a.w, inMemory)])
	} else if n, err = a.file.ReadAt(buf, a.r-inMemory); n == len(buf) {
		err = nil
	}
	if a.r += int64(n); a.r == a.w { // all of it was read
		a.r, a.w = 0, 0
		if a.file != nil {
			_ = a.file.Truncate(0)
		}
		a.changed.Broadcast()
	}
	return n, err
}

// send sends until nothing more is written.
func (a *aside) send(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	buf := make([]byte, piece)
	for {
		n, err := a.take(buf)
		if n == 0 && err == nil {
			return
		}
		if err == nil {
			err = a.until(rc, time.Now().Add(pieceTime))
		}
		if err == nil {
			_, err = w.Write(buf[:n])
		}
		if err != nil {
			a.fail(err)
			return
		}
	}
}

// until sets the time until which a piece is sent, and returns what has ended the sending. That of a client
// who has left is not made later.
func (a *aside) until(rc *http.ResponseController, t time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil || !t.After(time.Now()) {
		_ = rc.SetWriteDeadline(t) // not all connections have one
	}
	return a.err
}
