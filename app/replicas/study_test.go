// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/replica/hosts"
	"mirrord/testing/apptest"
	"mirrord/testing/mirrortest"
)

// Hosts that show another content by the program or language that is requested, two tenants of one content
// network, a typo of a name, and a replica that turns bad after it was tested.
func TestStudyOfOddHosts(t *testing.T) {
	var bad atomic.Bool
	const template = "home products support contact imprint privacy terms of use login basket search results "
	page := func(seed, n int) string {
		return template + mirrortest.Words(uint32(seed*1000+n+1)*2654435761, 90) + template
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, seed := 0, 1
		_, err := fmt.Sscanf(r.URL.Path, "/shelf%d/", &n)
		isPage := err == nil && strings.HasSuffix(r.URL.Path, fmt.Sprintf("/volume%d.html", n*7))
		if !isPage && r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		switch {
		case r.Host == "tenant.example.net":
			seed = 2 // another customer of the same network, with the same names of files
		case r.Host == "agents.example.com" && strings.Contains(r.UserAgent(), "mirrord"):
			n = 0 // what it shows to programs: one page
		case r.Host == "languages.example.com" && r.Header.Get("Accept-Language") == "":
			seed = 3
		case r.Host == "turns.example.com" && bad.Load():
			seed = 4
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page(seed, n))
	}))
	defer srv.Close()
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	a := apptest.TestApp(t.TempDir())
	a.Now = func() time.Time { return now }
	a.Network = apptest.NamedHosts{
		Addrs: map[string]string{
			"www.example.org": "93.184.216.34", "tenant.example.net": "93.184.216.34",
			"agents.example.com": "93.184.216.36", "languages.example.com": "93.184.210.37",
			"turns.example.com": "93.184.211.38", "www.exmaple.org": "93.184.212.39",
		},
		Server: srv.Listener.Addr().String(),
	}
	names := []string{
		"agents.example.com", "languages.example.com", "tenant.example.net", "turns.example.com",
		"www.exmaple.org", "gone.example.org",
	}
	var list strings.Builder
	for i := range 120 {
		for _, name := range append([]string{"www.example.org"}, names...) {
			fmt.Fprintf(&list, "http://%s/shelf%d/volume%d.html\n", name, i, i*7)
		}
	}
	study := func() map[string]StudyPair {
		t.Helper()
		got, err := StudyHosts(t.Context(), a, StudyRequest{
			Lists: []string{"-"},
			Stdin: strings.NewReader(list.String()),
			Set: []string{
				"polite.delay=0s", "polite.factor=0", "limits.retries=0", "polite.timeout=1m",
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]StudyPair{}
		for _, p := range got.Pairs {
			for _, name := range names {
				if p.Base2 == "http://www.example.org/" && p.Base1 == "http://"+name+"/" {
					out[name] = p
				} else if p.Base1 == "http://www.example.org/" && p.Base2 == "http://"+name+"/" {
					out[name] = p
				}
			}
		}
		return out
	}
	first := study()
	for name, want := range map[string]struct {
		level  string
		use    bool
		motive hosts.Motive
	}{
		"agents.example.com":    {"mismatch", false, hosts.MotiveNetwork},
		"languages.example.com": {"mismatch", false, ""},
		"tenant.example.net":    {"mismatch", false, hosts.MotiveAddress},
		"turns.example.com":     {"1", true, ""},
		"www.exmaple.org":       {"1", true, hosts.MotiveTypo},
		"gone.example.org":      {"DNS failure", false, ""},
	} {
		p := first[name]
		hasMotive := want.motive == "" || slices.Contains(p.Motives, want.motive)
		if p.Level != want.level || p.Equal != want.use || !hasMotive {
			t.Errorf("%s: %s, %t, motives %v; tests %v", name, p.Level, p.Equal, p.Motives, p.Outcomes)
		}
	}
	bad.Store(true)
	now = now.Add(29 * 24 * time.Hour)
	if p := study()["turns.example.com"]; p.Level != "1" || !p.Tested.Equal(first["turns.example.com"].Tested) {
		t.Errorf("a test of the last 30 days: %+v", p.PairRecord)
	}
	now = now.Add(2 * 24 * time.Hour)
	if p := study()["turns.example.com"]; p.Level != "mismatch" || p.Equal {
		t.Errorf("after 30 days: %+v", p.PairRecord)
	}
}

// An interrupted study continues: results are kept as they come.
func TestStudyResumes(t *testing.T) {
	var asked atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 60 {
			cancel()
		}
		w.Header().Set("Content-Type", "text/html")
		if strings.HasPrefix(r.URL.Path, "/shelf") {
			fmt.Fprint(w, r.URL.Path, mirrortest.Words(uint32(len(r.URL.Path))*2654435761, 90))
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer srv.Close()
	a := apptest.TestApp(t.TempDir())
	n := apptest.NamedHosts{Addrs: map[string]string{}, Server: srv.Listener.Addr().String()}
	var list strings.Builder
	for h := range 10 {
		name := fmt.Sprintf("host%c.example.org", 'a'+h)
		n.Addrs[name] = fmt.Sprintf("93.184.%d.34", 100+h)
		for i := range 100 {
			fmt.Fprintf(&list, "http://%s/shelf%d/volume%d.html\n", name, i, i*7)
		}
	}
	a.Network = n
	request := func() StudyRequest {
		return StudyRequest{
			Lists: []string{"-"},
			Stdin: strings.NewReader(list.String()),
			Set: []string{
				"polite.delay=0s", "polite.factor=0", "limits.retries=0", "polite.timeout=1m",
			},
		}
	}
	_, err := StudyHosts(ctx, a, request())
	if err == nil || !strings.Contains(err.Error(), "the same command continues from there") {
		t.Fatalf("interrupted: %v", err)
	}
	got, err := StudyHosts(t.Context(), a, request())
	if err != nil || len(got.Pairs) != 45 {
		t.Fatalf("%v, %d pairs", err, len(got.Pairs))
	}
	again, err := StudyHosts(t.Context(), a, request())
	if err != nil || again.Kept != 45 {
		t.Errorf("%v, %d pairs were kept", err, again.Kept)
	}
}
