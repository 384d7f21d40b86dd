// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/site"
)

// roundTrip is a transport in memory.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// always is that transport for every mirror.
func always(f roundTrip) func(string) http.RoundTripper {
	return func(string) http.RoundTripper { return f }
}

func answer(status int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{
		StatusCode:    status,
		Header:        h,
		Body:          io.NopCloser(strings.NewReader(body)),
		ContentLength: -1,
	}
}

func TestForward(t *testing.T) {
	var asked []*http.Request
	var sent string
	next := func(*http.Request) (*http.Response, error) {
		return answer(200, "dynamic", "Content-Type", "text/html"), nil
	}
	s := testServer(t, func(o *Options) {
		o.Forward = &Forward{
			Transport: always(func(r *http.Request) (*http.Response, error) {
				asked = append(asked, r)
				if r.Body != nil {
					b, err := io.ReadAll(r.Body)
					if err != nil {
						return nil, err
					}
					sent = string(b)
				}
				return next(r)
			}),
			Programs: func(name string) *site.ProgramRule {
				if name != "two" {
					return nil
				}
				rule, err := site.Programs{Suffixes: []string{".own"}, Dirs: []string{}}.Compile()
				if err != nil {
					panic(err)
				}
				return rule
			},
		}
	})
	post := func(address, body string) *http.Response {
		r := httptest.NewRequest("POST", address, strings.NewReader(body))
		r.Host = r.URL.Host
		r.Header.Set("Cookie", "a=b")
		r.Header.Set("Authorization", "Basic x")
		r.Header.Set("Origin", "null")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Result()
	}

	for _, tc := range []struct {
		address string
		up      string // URL that the origin gets a request for
		status  int
	}{
		{byHost + "/cgi-bin/find?x=1", "https://one.test/cgi-bin/find?x=1", 200},
		{byPath + "/run.cgi/a/b", "https://one.test/run.cgi/a/b", 200},
		{byHost + "/docs/", "", 200},                   // mirrored
		{byHost + "/none", "", 302},                    // no program
		{"http://two.mirrors.test/cgi-bin/x", "", 302}, // by its own rule no program
		{"http://two.mirrors.test/x.own", "http://two.test:81/x.own", 200},
		{byHost + wellKnown + "timegate/https://one.test/cgi-bin/x", "", 404},
		{byHost + "//evil.test/cgi-bin/x", "https://one.test//evil.test/cgi-bin/x", 200},
		{byHost + "/x/../cgi-bin/find", "https://one.test/cgi-bin/find", 200},
	} {
		asked = nil
		res := ask(t, s, "GET", tc.address, "Cookie", "a=b", "Authorization", "Basic x", "X-Forwarded-For",
			"192.0.2.1", "Accept-Language", "de", "Referer", "http://secret.test/")
		if res.StatusCode != tc.status || (len(asked) == 1) != (tc.up != "") {
			t.Errorf("%s: %d, %d requests", tc.address, res.StatusCode, len(asked))
			continue
		}
		if tc.up == "" {
			continue
		}
		up := asked[0]
		if up.URL.String() != tc.up || up.Header.Get("Accept-Language") != "de" || up.Header.Get("Via") == "" {
			t.Errorf("%s: asked for %s with %v", tc.address, up.URL, up.Header)
		}
		for _, name := range []string{"Cookie", "Authorization", "X-Forwarded-For", "Referer", "Origin"} {
			if up.Header.Get(name) != "" {
				t.Errorf("%s: %s passed on", tc.address, name)
			}
		}
	}

	asked = nil
	if res := post(byHost+"/contact", "a=1&b=2"); res.StatusCode != 200 || sent != "a=1&b=2" ||
		len(asked) != 1 || asked[0].Header.Get("Cookie") != "" || asked[0].Header.Get("Content-Type") == "" {
		t.Errorf("form: %d, sent %q", res.StatusCode, sent)
	}
	for name, res := range map[string]*http.Response{
		"index":    post("http://mirrors.test/", "x"),
		"time map": post(byHost+wellKnown+"timemap/link/https://one.test/", "x"),
	} {
		if res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("post to the %s: %d", name, res.StatusCode)
		}
	}
	if res := post(byHost+"/contact",
		strings.Repeat("x", forwardRequest+1)); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("large request: %d", res.StatusCode)
	}

	// What comes back.
	const program = "/cgi-bin/find"
	next = func(*http.Request) (*http.Response, error) {
		return answer(200, "x", "Content-Type", "text/html", "Set-Cookie", "a=b", "Content-Security-Policy",
			"default-src *", "Access-Control-Allow-Origin", "*", "Refresh", "0",
			"Content-Encoding", "br", "Service-Worker-Allowed", "/", "Clear-Site-Data", "*"), nil
	}
	res := ask(t, s, "GET", byPath+program)
	if res.Header.Get("Content-Encoding") != "br" || res.Header.Get("Content-Security-Policy") != sandboxPolicy {
		t.Errorf("headers: %v", res.Header)
	}
	for _, name := range []string{
		"Set-Cookie", "Access-Control-Allow-Origin", "Refresh", "Service-Worker-Allowed", "Clear-Site-Data",
	} {
		if res.Header.Get(name) != "" {
			t.Errorf("%s passed back", name)
		}
	}
	for loc, want := range map[string]string{
		"/docs/?ok#part":      "/one/docs/?ok#part",
		"https://else.test/x": "https://else.test/x",
		"../x":                "/one/x",
	} {
		next = func(*http.Request) (*http.Response, error) { return answer(303, "", "Location", loc), nil }
		if res := ask(t, s, "GET", byPath+program); res.StatusCode != 303 || res.Header.Get("Location") != want {
			t.Errorf("redirect to %s: %d %s", loc, res.StatusCode, res.Header.Get("Location"))
		}
	}
	for name, tc := range map[string]struct {
		answer *http.Response
		err    error
		status int
	}{
		"redirect to a script": {answer(302, "", "Location", "javascript:alert(1)"), nil, 502},
		"unreachable":          {nil, errors.New("forbidden address"), 502},
		"stated too large": {&http.Response{
			StatusCode:    200,
			Header:        http.Header{},
			Body:          http.NoBody,
			ContentLength: forwardAnswer + 1,
		}, nil, 502},
		"exactly the bound":   {answer(200, strings.Repeat("x", forwardAnswer)), nil, 200},
		"error of the origin": {answer(500, "oops"), nil, 500},
		"no status":           {answer(99, ""), nil, 502},
		"other protocol":      {answer(101, ""), nil, 502},
	} {
		next = func(*http.Request) (*http.Response, error) { return tc.answer, tc.err }
		if res := ask(t, s, "GET", byHost+program); res.StatusCode != tc.status {
			t.Errorf("%s: %d, want %d", name, res.StatusCode, tc.status)
		}
	}
	next = func(*http.Request) (*http.Response, error) {
		return answer(200, strings.Repeat("x", forwardAnswer+1)), nil
	}
	func() {
		defer func() {
			if r := recover(); r != http.ErrAbortHandler {
				t.Errorf("too large: ended with %v", r)
			}
		}()
		ask(t, s, "GET", byHost+program)
	}()
}

// One more than may be under way is refused at once; an origin that does not answer in time is given up.
func TestForwardBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testServer(t, func(o *Options) {
			silent := always(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
			o.Forward = &Forward{Transport: silent}
		})
		start := time.Now()
		status := make(chan int, forwardsMost)
		for range forwardsMost {
			go func() { status <- ask(t, s, "GET", byHost+"/x.cgi").StatusCode }()
		}
		synctest.Wait()
		if res := ask(t, s, "GET", byHost+"/x.cgi"); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
			t.Errorf("one more: %d", res.StatusCode)
		}
		for range forwardsMost {
			if got := <-status; got != 504 {
				t.Errorf("%d, want 504", got)
			}
		}
		if d := time.Since(start); d != forwardTime {
			t.Errorf("ended after %s", d)
		}
	})
}
