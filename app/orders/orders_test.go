// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/runs"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

// An order is previewed, run, packed and mailed, and its archives go when they expire.
func TestOrder(t *testing.T) {
	s := newShop(t, nil)
	s.fast()
	w := quick("site.example/docs/")
	w.Forms, w.Mail = []string{"phm", "tar.zst", "zim", "wacz"}, "ann@example.org"
	x := s.draft(ann, w)
	if x.Want.URL != "https://site.example/docs/" {
		t.Errorf("it is for %s", x.Want.URL)
	}
	// the site speaks plain HTTP only
	if x.Why == "" {
		t.Error("a site without TLS has no problem")
	}
	w.URL = "http://site.example/docs/"
	x = s.draft(ann, w)
	if p := x.Look; p == nil || p.Problem != "" || !p.Whole || p.Least != 7 {
		t.Fatalf("the preview: %+v", p)
	}
	if err := s.PlaceOrder(x.OrderID, ann, false); err != nil {
		t.Fatal(err)
	}
	x = s.until(x.OrderID, Done)
	if r := x.Result; r.Verdict != "complete" || r.Files != 7 || len(r.Archives) != 4 {
		t.Errorf("%+v", r)
	}
	for _, a := range x.Result.Archives {
		f, err := s.archive(t.Context(), &x, a.Name)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, f); err != nil || n != a.Bytes || n == 0 {
			t.Errorf("%s: %d bytes of %d, %v", a.Name, n, a.Bytes, err)
		}
		f.Close()
	}
	for _, name := range []string{"../state/mirror.db", "x", ""} {
		if _, err := s.archive(t.Context(), &x, name); !errors.Is(err, control.ErrNotFound) {
			t.Errorf("%q can be had: %v", name, err)
		}
	}
	dir, err := s.folder(x.OrderID)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if x, _ = s.Get(x.OrderID); x.Mailed != "" {
			break
		}
		time.Sleep(time.Millisecond) // mail goes after the state changed
	}
	if _, err := os.Stat(filepath.Join(dir, stateDir)); err == nil {
		t.Error("the state of the run stays")
	}
	s.mu.Lock()
	mail := strings.Join(s.mail, "")
	s.mu.Unlock()
	linked := strings.Contains(mail, "https://mirrors.example/orders/2")
	if !linked || !strings.HasPrefix(mail, "ann@example.org: ") {
		t.Errorf("mail: %s", mail)
	}
	s.later(8 * 24 * time.Hour)
	for x.State != Expired {
		if x, err = s.Get(x.OrderID); err != nil || x.State == Expired {
			break
		}
		time.Sleep(time.Millisecond) // the worker looks at the clock in its turn
	}
	for end := time.Now().Add(time.Minute); err == nil; _, err = os.Stat(dir) {
		if time.Now().After(end) {
			t.Fatal("archives stay after they expired")
		}
		time.Sleep(time.Millisecond) // the folder goes after the state changed
	}
}

// An error of an address is reported, with the address that was meant.
func TestAddresses(t *testing.T) {
	for typed, want := range map[string]string{
		"www.example.org/docs/":   "https://www.example.org/docs/",
		" http://example.org ":    "http://example.org/",
		"HTTPS://Example.ORG/a":   "https://example.org/a",
		"htp://example.org/":      "did you mean https://example.org/",
		"http:/example.org/":      "",
		"https//example.org/":     "did you mean https://example.org/",
		"www,example.org":         "did you mean https://www.example.org/",
		"exam ple.org":            "did you mean https://example.org/",
		"ftp://example.org/":      "only http and https",
		"javascript:alert(1)":     "is no web address",
		"wikipedia":               "did you mean https://wikipedia.org/",
		"":                        "give the address",
		strings.Repeat("x", 3000): "at most 2000",
	} {
		got, err := ReadAddress(typed)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%.40q: %s, want %s", typed, got, want)
		}
	}
}

// No order reaches the network of the mirror host: neither by its address nor by a name that leads there.
func TestOwnNetwork(t *testing.T) {
	s := newShop(t, func(o *Options) { o.Own = []netip.Prefix{netip.MustParsePrefix("93.184.216.0/24")} })
	for _, url := range []string{
		"http://127.0.0.1:9181/", "http://localhost/", "http://[::1]/", "http://10.0.0.1/", "http://router/",
		"http://169.254.169.254/latest/", "http://metadata.google.internal/", "http://0x7f.1/",
		"http://[::ffff:10.0.0.1]/",
	} {
		if _, err := s.Draft(ann, want(url)); err == nil || !strings.Contains(err.Error(), "private network") {
			t.Errorf("%s: %v", url, err)
		}
	}
	x := s.draft(ann, want("http://inside.example/docs/"))
	if !strings.Contains(x.Why, "inside.example") {
		t.Errorf("a name that resolves to our own network: %q", x.Why)
	}
	err := s.PlaceOrder(x.OrderID, ann, false)
	if err == nil {
		t.Error("it was placed")
	}
	if _, err := s.o.App.Network.Connect(t.Context(), netip.AddrPort{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.app.Network.Connect(t.Context(), netip.MustParseAddrPort("93.184.216.9:80")); err == nil {
		t.Error("a connection to our own network was made")
	}
}

// Quotas refuse with the reason; an operator may allow more; a full disk refuses all.
func TestQuota(t *testing.T) {
	s := newShop(t, nil)
	place := func(who User, w Wish, ask bool) (Ordered, error) {
		t.Helper()
		x := s.draft(who, w)
		err := s.PlaceOrder(x.OrderID, who, ask)
		x, _ = s.Get(x.OrderID)
		return x, err
	}
	s.fast()
	large := quick("http://site.example/docs/")
	large.Start = s.o.Now().Add(time.Hour)
	large.Files = 3000
	_, err := place(ann, large, false)
	if err == nil || !strings.Contains(err.Error(), "you have 2000 left of 2000") {
		t.Errorf("3000 files: %v", err)
	}
	x, err := place(ann, large, true)
	if err != nil || x.State != Asks || x.Why == "" {
		t.Errorf("%s %q, %v", x.State, x.Why, err)
	}
	if err := s.Judge(x.OrderID, "opal", false, "too much"); err != nil {
		t.Fatal(err)
	}
	if x, _ = s.Get(x.OrderID); x.State != Refused || x.Judged != "opal" {
		t.Errorf("%+v", x)
	}
	for i := range 3 {
		w := large
		w.Files = int64(100 + i)
		if x, err = place(ann, w, false); err != nil || x.State != Waits {
			t.Errorf("order %d: %s, %v", i, x.State, err)
		}
	}
	w := large
	w.Files = 50
	if _, err := place(ann, w, false); err == nil || !strings.Contains(err.Error(), "3 orders within a day") {
		t.Errorf("a fourth order: %v", err)
	}
	opal := User{Name: "ann", Operator: true} // what she had before she became one does not count
	if n, m := s.Suggest(ann).Files, s.Suggest(opal).Files; n != 2000-100-101-102 || m != 2000 {
		t.Errorf("suggested are %d files, to an operator %d", n, m)
	}
	if p := s.Place(x.OrderID); p.Ahead != 2 {
		t.Errorf("its place: %+v", p)
	}
	if _, err := place(User{Name: "opal", Operator: true}, large, false); err != nil {
		t.Errorf("an operator: %v", err)
	}
	s.mu.Lock()
	s.free = 2 << 30
	s.mu.Unlock()
	if _, err := place(User{Name: "opal", Operator: true}, w, false); err == nil ||
		!strings.Contains(err.Error(), "nearly full") {
		t.Errorf("a full disk: %v", err)
	}
}

// The requests of a user's runs at the same time are one quota.
func TestRequestsOfRuns(t *testing.T) {
	s := newShop(t, nil)
	s.fast()
	var runs []making
	for _, files := range []int64{50, 60} {
		w := quick("http://site.example/docs/")
		w.Files = files
		runs = append(runs, making{s.Orders, s.draft(ann, w)})
	}
	defer s.hold()()
	for i := range runs {
		runs[i].Ordered = s.until(s.placed(runs[i].Ordered, ann).OrderID, Runs)
	}
	runs[0].noteRequests(9000)
	runs[0].noteRequests(8000) // comes late
	for i, want := range []int64{10_000, 1000} {
		if n := runs[i].mayRequest(); n != want {
			t.Errorf("run %d may make %d requests, want %d", i, n, want)
		}
	}
	for made, want := range map[int64]error{999: nil, 1000: errRequests} {
		ctx, end := context.WithCancelCause(t.Context())
		var notes sync.WaitGroup
		runs[1].watch(end, &notes)(status.Progress{Requests: made})
		notes.Wait()
		if got := context.Cause(ctx); got != want {
			t.Errorf("after %d requests: %v", made, got)
		}
		end(nil)
	}
	if x, _ := s.Get(runs[1].OrderID); x.Result.Requests != 1000 {
		t.Errorf("%d are noted", x.Result.Requests)
	}
}

// An order counts in what the mirrors of the host may take, with what other orders may still take.
func TestOrderRoom(t *testing.T) {
	var most atomic.Int64
	s := newShop(t, func(o *Options) {
		o.Room = func() (int64, int64, error) { return most.Load(), 3e9, nil }
	})
	s.fast()
	opal := User{Name: "opal", Operator: true}
	w := quick("http://site.example/docs/")
	w.Start, w.Size = s.o.Now().Add(time.Hour), 500e6
	place := func(files int64) error {
		t.Helper()
		w.Files = files
		return s.PlaceOrder(s.draft(opal, w).OrderID, opal, false)
	}
	most.Store(3_900_000_000)
	if err := place(10); err == nil || !strings.Contains(err.Error(), "mirrors of this host may take") {
		t.Errorf("an order beyond the room: %v", err)
	}
	most.Store(4_900_000_000)
	if err := place(11); err != nil {
		t.Errorf("an order within the room: %v", err)
	}
	if err := place(12); err == nil || !strings.Contains(err.Error(), "4.0 GB are taken") {
		t.Errorf("another order: %v", err)
	}
	most.Store(0)
	if err := place(13); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

// The same order twice is one run; it is cancelled, and continues after a stop of the daemon.
func TestSameAndAgain(t *testing.T) {
	s := newShop(t, nil)
	s.fast()
	opal := User{Name: "opal", Operator: true}
	x, y := s.draft(ann, quick("http://site.example/docs/")), s.draft(opal, quick("http://site.example/docs/"))
	open := s.hold()
	defer open()
	x, y = s.placed(x, ann), s.placed(y, opal)
	if y.Same != x.Number {
		t.Errorf("the second is %+v", y)
	}
	if err := s.Cancel(x.OrderID); !errors.Is(err, control.ErrConflict) {
		t.Errorf("an order that others share was cancelled: %v", err)
	}
	s.until(x.OrderID, Runs)
	s.stop()
	open()
	s.start()
	if got := s.until(y.OrderID, Done); len(got.Result.Archives) != 1 || got.Result.Files != 7 {
		t.Errorf("%+v", got.Result)
	}
	y, _ = s.Get(y.OrderID)
	if f, err := s.archive(t.Context(), &y, "site.example.phm"); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
	err := s.Cancel(y.OrderID)
	const why = "cannot be cancelled: its state is now “ready”"
	if !errors.Is(err, control.ErrConflict) || !strings.HasSuffix(err.Error(), why) {
		t.Errorf("an order that is done was cancelled: %v", err)
	}
	if err := s.KeepFresh(x.OrderID, false, "@daily", "22:00-06:00"); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Get(x.OrderID); got.Keep.State != Asks {
		t.Errorf("%+v", got.Keep)
	}
	did := make(chan error, 4)
	for range cap(did) { // operators who approve it at the same time
		go func() { did <- s.Judge(x.OrderID, "opal", true, "") }()
	}
	for n := range cap(did) {
		if err := <-did; err != nil && !errors.Is(err, control.ErrConflict) {
			t.Fatal(n, err)
		}
	}
	got, _ := s.Get(x.OrderID)
	j, err := s.o.App.FindJob(got.Keep.Job)
	if err != nil || j.Schedule != "@daily" || j.Limits.MaxFiles != 100 || j.Window != "22:00-06:00" {
		t.Errorf("%+v: %+v, %v", got.Keep, j, err)
	}
	err = s.KeepFresh(y.OrderID, true, "@weekly", "")
	if err == nil || !strings.Contains(err.Error(), "same url") {
		t.Errorf("the same job twice: %v", err)
	}
	if got, _ := s.Get(y.OrderID); got.Keep.State != Failed || strings.Contains(got.Keep.Why, "/tmp/") {
		t.Errorf("%+v", got.Keep)
	}
}

// An order under way can be cancelled; nothing of it stays. Mail that is refused is shown.
func TestCancelAndMail(t *testing.T) {
	s := newShop(t, nil)
	s.fast()
	x := s.draft(ann, quick("http://site.example/docs/"))
	open := s.hold()
	defer open()
	s.placed(x, ann)
	s.until(x.OrderID, Runs)
	if err := s.Cancel(x.OrderID); err != nil {
		t.Fatal(err)
	}
	s.until(x.OrderID, Cancelled)
	dir, err := s.folder(x.OrderID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("its files stay")
	}
	open()
	w := quick("http://site.example/docs/")
	w.Mail = "refused@example.org"
	x = s.draft(ann, w)
	if err := s.PlaceOrder(x.OrderID, ann, false); err != nil {
		t.Fatal(err)
	}
	for x.Mailed == "" {
		if x, _ = s.Get(x.OrderID); x.Mailed != "" {
			break
		}
		time.Sleep(time.Millisecond) // mail goes after the state changed
	}
	if !strings.Contains(x.Mailed, "550 no such user") {
		t.Errorf("mail: %s", x.Mailed)
	}
}

// A draft can be cancelled as soon as it is one, though what made its preview has not returned yet.
func TestCancelOfADraft(t *testing.T) {
	s := newShop(t, nil)
	x := s.draft(ann, want("http://site.example/docs/"))
	s.begins(x.OrderID, Claim{}, func(error) {})
	if err := s.Cancel(x.OrderID); err != nil {
		t.Fatal(err)
	}
	if x, err := s.Get(x.OrderID); err != nil || x.State != Cancelled {
		t.Errorf("it is %s, %v", x.State, err)
	}
}

// Where an address leads, and that robots.txt forbids it, is said before anything is placed.
func TestPreviewProblems(t *testing.T) {
	s := newShop(t, nil)
	x := s.draft(ann, want("http://site.example/away/"))
	if x.Leads != "http://other.example/" || !strings.Contains(x.Why, "which is not mirrored") {
		t.Errorf("%q, redirects to %q", x.Why, x.Leads)
	}
	x = s.draft(ann, want("site.example/docs/")) // the server speaks no TLS
	if !strings.HasSuffix(x.Why, "order it with http:// before its name") {
		t.Errorf("no https: %q", x.Why)
	}
	refused := &runs.Preview{URL: "http://intranet.example/", Problem: "fetch: address not allowed: do this"}
	if got := problem(refused); strings.Contains(got, "do this") || !strings.Contains(got, "cannot be ordered") {
		t.Errorf("a private address: %q", got)
	}
	x = s.draft(ann, want("http://site.example/private/"))
	if !strings.Contains(x.Why, "Disallow: /private/") {
		t.Errorf("robots.txt: %q", x.Why)
	}
}
