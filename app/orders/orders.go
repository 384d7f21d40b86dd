// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mirrord/access"
	"mirrord/app"
	"mirrord/control"
	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/status"
)

// Facts keeps orders; store.OrderFacts has it. Number 0 has the limits. Its methods may be called from
// several goroutines.
type Facts interface {
	NextOrder() (uint64, error)
	SaveOrder(n uint64, value []byte) error // nil removes it
	Orders() (map[uint64][]byte, error)
}

// Options are what orders need.
type Options struct {
	App     *app.App // its State is where the folder orders lies; its Hosts are shared; required
	Facts   Facts    // required
	Free    func() (int64, error)
	Own     []netip.Prefix // the networks of this machine
	Workers int            // runs at a time; default 2
	// what mirrors and orders may take on the disk, and what mirrors take; nil: no limit
	Room    func() (most, taken int64, err error)
	Silence time.Duration // that a site may keep before it answers; 0: as in a job
	Now     func() time.Time
	Log     *slog.Logger
	// Mail sends one message; nil: mail cannot be ordered
	Mail func(ctx context.Context, to, subject, text string) error
	// Reload puts a new job file in force
	Reload func() error
	Node   string // this node of a cluster; "": there is none
	// Ask asks the other nodes, where Say answers. nil: there are none
	Ask func(ctx context.Context, path string) (map[string]SaidOrders, []status.NodeSaid)
}

// Orders are all orders of a daemon. It is safe for concurrent use.
type Orders struct {
	o     Options
	app   *app.App
	wake  chan struct{} // holds one: there may be something to do
	group sync.WaitGroup

	mu      sync.Mutex // guards what follows
	all     queue
	limits  Limits
	active  map[uint64]context.CancelCauseFunc // of what is under way
	changed chan struct{}                      // closed when something changes
}

// Errors of orders.
var (
	ErrNone = fmt.Errorf("there is no such order: %w", control.ErrNotFound)
	errWhen = fmt.Errorf("the order does not stand so any more; look at it again: %w", control.ErrConflict)

	errCancelled = errors.New("the order was cancelled")
	errRequests  = errors.New("it has made as many requests as it may in a day")
)

// New takes over the orders of the process before. It starts nothing: Run does.
func New(o Options) (*Orders, error) {
	o.Workers = cmp.Or(o.Workers, 2)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Orders{
		o:       o,
		wake:    make(chan struct{}, 1),
		all:     queue{},
		limits:  DefaultLimits(),
		active:  map[uint64]context.CancelCauseFunc{},
		changed: make(chan struct{}),
	}
	a := *o.App
	inner := a.Network
	if inner == nil {
		inner = fetch.System()
	}
	a.Network, a.Warn, a.Note = outside{inner, o.Own}, nil, nil
	s.app = &a
	kept, err := o.Facts.Orders()
	if err != nil {
		return nil, fmt.Errorf("orders: %w", err)
	}
	for n, value := range kept {
		var x Ordered
		into := any(&x)
		if n == 0 {
			into = &s.limits
		}
		if err := json.Unmarshal(value, into); err != nil {
			o.Log.Error("an order cannot be read", "order", n, "err", err)
			continue
		}
		if x.State == Runs {
			x.State = Waits
		}
		if n > 0 {
			x.Node = o.Node
			s.all[n] = &x
		}
	}
	return s, nil
}

// held takes the lock; what it returns gives it back.
func (s *Orders) held() (free func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

// save keeps an order and tells everybody who looks at it. The caller holds the lock.
func (s *Orders) save(x *Ordered) error {
	v, err := json.Marshal(x)
	if err == nil {
		err = s.o.Facts.SaveOrder(x.Number, v)
	}
	s.tell()
	return err
}

// tell says that something has changed. The caller holds the lock.
func (s *Orders) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Changed is closed when an order changes. It is to be had before the orders are looked at.
func (s *Orders) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Limits are those in force.
func (s *Orders) Limits() Limits {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limits
}

// SetLimits puts others in force.
func (s *Orders) SetLimits(l Limits) error {
	if err := l.check(); err != nil {
		return err
	}
	v, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := s.o.Facts.SaveOrder(0, v); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = l
	return nil
}

// Remaining is what a user may still have today.
func (s *Orders) Left(user string) Remaining {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limits.left(user, s.all, s.o.Now())
}

// Suggest is what a user orders who chooses nothing but an address.
func (s *Orders) Suggest(who User) Wish {
	s.mu.Lock()
	defer s.mu.Unlock()
	files := s.limits.Files
	if !who.Operator {
		files = max(1, s.limits.left(who.Name, s.all, s.o.Now()).Files)
	}
	return Wish{
		Scope: "directory",
		Files: files,
		Size:  s.limits.Size,
		Delay: max(s.limits.Delay.Duration(), 250*time.Millisecond),
		Forms: []string{"phm"},
	}
}

// Mails reports whether mail can be ordered.
func (s *Orders) Mails() bool { return s.o.Mail != nil }

// Get is an order, with the result of the one whose run it shares.
func (s *Orders) Get(n uint64) (Ordered, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.get(n)
}

// Seen is an order of this node, by its number as users write it (Ordered.Ref), if a user may see it:
// operators see all, others their own.
func (s *Orders) Seen(by User, number string) (Ordered, error) {
	number, node, named := strings.Cut(number, "@")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || (named && node != s.o.Node) {
		return Ordered{}, ErrNone
	}
	x, err := s.Get(n)
	if err == nil && x.By != by.Name && !by.Operator {
		return Ordered{}, ErrNone
	}
	return x, err
}

// List are the orders that a user may see, newest first.
func (s *Orders) List(by User) []Ordered {
	user := by.Name
	if by.Operator {
		user = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.of(user)
}

// Place says where an order stands.
func (s *Orders) Place(n uint64) QueuePlace {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.all.place(n, s.o.Now())
	p.Wait /= time.Duration(s.o.Workers)
	p.Wait = max(p.Wait, p.early)
	return p
}

// User is whoever orders.
type User struct {
	Name     string
	Operator bool
	Base     string // where the console was reached
}

// Draft begins an order: it is looked at, and waits to be placed.
func (s *Orders) Draft(who User, w Wish) (Ordered, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	if err := w.check(&s.limits, now); err != nil {
		return Ordered{}, err
	}
	if w.Mail != "" && s.o.Mail == nil {
		return Ordered{}, app.Usagef("mail: this daemon sends no mail")
	}
	if !who.Operator && s.limits.left(who.Name, s.all, now).Looks < 1 {
		return Ordered{}, app.Usagef("you have had %d previews within a day, which is as many as one may",
			s.limits.Looks)
	}
	n, err := s.o.Facts.NextOrder()
	if err != nil {
		return Ordered{}, err
	}
	x := &Ordered{
		Number: n,
		Node:   s.o.Node,
		By:     who.Name,
		Free:   who.Operator,
		At:     now,
		Base:   who.Base,
		Want:   w,
		State:  Looking,
	}
	s.all[n] = x
	return *x, s.save(x)
}

// PlaceOrder places a draft: it runs in its turn. With ask, what the user may not have is put before an
// operator. An order that somebody has placed already, and whose archives are there or will be, is not run
// again.
func (s *Orders) PlaceOrder(n uint64, who User, ask bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.all[n]
	switch {
	case x == nil:
		return ErrNone
	case x.State != Draft:
		return errWhen
	case x.Look != nil && x.Look.Problem != "":
		return app.Usagef("%s", x.Why)
	}
	if err := s.room(&x.Want); err != nil {
		return err
	}
	now := s.o.Now()
	if y := s.all.twin(x, now); y != nil {
		x.Same, x.State, x.Placed, x.Why = y.Number, Waits, now, ""
		x.Expires = now.Add(s.keeps())
		if !y.Expires.IsZero() {
			y.Expires = x.Expires
			if err := s.save(y); err != nil {
				return err
			}
		}
		return s.save(x)
	}
	why := ""
	if !who.Operator {
		if why = s.limits.over(x, s.limits.left(x.By, s.all, now)); why == "" {
			why = x.tooLarge()
		}
		if why == "" && s.limits.Approve {
			why, ask = "each order is approved by an operator", true
		}
	}
	if why != "" && !ask {
		return app.Usagef("%s; an operator can allow more", why)
	}
	x.Placed, x.State, x.Why = now, Waits, ""
	if why != "" {
		x.State, x.Why = Asks, why
	}
	return s.save(x)
}

// room refuses orders when the disk fills up, or what all mirrors may take, before jobs have to stop.
func (s *Orders) room(w *Wish) error {
	if err := s.share(w); err != nil {
		return err
	}
	if s.o.Free == nil {
		return nil
	}
	free, err := s.o.Free()
	if err != nil {
		return err
	}
	floor := 2 * int64(job.Default().Limits.MinFree)
	if need := floor + 2*int64(w.Size); free < need {
		return fmt.Errorf("the disk of the mirror host is nearly full: %s are free, and an order of %s needs %s; "+
			"order less, or come again later: %w", mirror.Bytes(free), w.Size, mirror.Bytes(need), control.ErrConflict)
	}
	return nil
}

// share refuses an order that would take, with the archives of all orders and what others may still take,
// room that the mirrors are limited to.
func (s *Orders) share(w *Wish) error {
	if s.o.Room == nil {
		return nil
	}
	most, taken, err := s.o.Room()
	if err != nil || most <= 0 {
		return err
	}
	taken += s.all.room()
	if need := 2 * int64(w.Size); taken+need > most {
		return fmt.Errorf("the mirrors of this host may take %s (--max-state), and with the orders %s are taken: "+
			"an order of %s needs %s; order less, or come again later: %w", mirror.Bytes(most), mirror.Bytes(taken),
			w.Size, mirror.Bytes(need), control.ErrConflict)
	}
	return nil
}

// keeps is how long archives stay.
func (s *Orders) keeps() time.Duration { return time.Duration(s.limits.Days) * 24 * time.Hour }

// Cancel ends an order, or removes its archives.
func (s *Orders) Cancel(n uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.all[n]
	if x == nil {
		return ErrNone
	}
	if now, _ := s.all.get(n); now.State.Ended() || (x.Same == 0 && s.all.shared(n)) {
		return errWhen
	}
	if end := s.active[n]; end != nil && (x.State == Looking || x.State == Runs) {
		end(errCancelled)
		return nil
	}
	x.State, x.Ended = Cancelled, s.o.Now()
	return s.save(x)
}

// Judge approves an order, or a mirror that is to be kept fresh, or refuses it with a reason.
func (s *Orders) Judge(n uint64, operator string, yes bool, why string) error {
	why = access.Clip(why)
	s.mu.Lock()
	x := s.all[n]
	switch {
	case x == nil:
		s.mu.Unlock()
		return ErrNone
	case x.State == Asks:
		defer s.mu.Unlock()
		x.Judged = operator
		if x.State, x.Why = Waits, ""; !yes {
			x.State, x.Why, x.Ended = Refused, why, s.o.Now()
		}
		return s.save(x)
	case x.Keep.State == Asks && !yes:
		defer s.mu.Unlock()
		x.Keep.State, x.Keep.Why = Refused, why
		return s.save(x)
	case x.Keep.State == Asks:
		s.mu.Unlock()
		_, err := s.makeJob(n)
		return err
	}
	s.mu.Unlock()
	return errWhen
}

// Folder is where the archives of an order lie.
func (s *Orders) folder(n uint64) (string, error) {
	dir, err := s.o.App.State()
	return filepath.Join(dir, "orders", strconv.FormatUint(n, 10)), err
}

// downloadFor is how long a download may take.
const downloadFor = 24 * time.Hour

// SendArchive sends an archive of an order to a user who may see it. Browsers save it and never show it.
func (s *Orders) SendArchive(w http.ResponseWriter, r *http.Request, by User, number, name string) error {
	x, err := s.Seen(by, number)
	if err != nil {
		return err
	}
	path, err := s.archive(x.Number, name)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	// a server that cannot move its deadline sends what it can
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(downloadFor))
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	http.ServeContent(w, r, "", x.Ended, f)
	return nil
}

// archive is the path of an archive of an order.
func (s *Orders) archive(n uint64, name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := s.all.get(n)
	if err != nil {
		return "", err
	}
	named := func(a ArchiveFile) bool { return a.Name == name }
	if x.State != Done || !slices.ContainsFunc(x.Result.Archives, named) {
		return "", ErrNone
	}
	dir, err := s.folder(cmp.Or(x.Same, n))
	return filepath.Join(dir, filesDir, name), err
}
