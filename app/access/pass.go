// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Guest is for whom a node of a cluster passes a request on to another one. That one believes it: only nodes
// reach its Door.
type Guest struct {
	Name string
	Role Role
	Via  string // how the account was authenticated
	From string // the client's address
	Base string // where the client reached the console, such as https://HOST
}

// The header fields of requests that are passed on.
const (
	GuestField = "Mirrord-Guest" // for whom
	TookField  = "Mirrord-Took"  // of the answer: the node knows what that means
)

// Below is where nodes take requests of the consoles of others.
const Below = "/node/pass"

type guestKey struct{}

// GuestOf returns for whom another node has passed the request on; nil if it came directly.
func GuestOf(r *http.Request) *Guest {
	g, _ := r.Context().Value(guestKey{}).(*Guest)
	return g
}

// Passable reports whether nodes pass on requests of a route of the console or the API.
func Passable(pattern string) bool {
	return strings.Contains(pattern, "/jobs/{job}/") || strings.Contains(pattern, "/orders/{n}") ||
		pattern == "GET /order"
}

// Door lets h answer what other nodes pass on. It trusts every client: only nodes may reach it.
func Door(h http.Handler) http.Handler {
	return http.StripPrefix(Below, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := url.ParseQuery(r.Header.Get(GuestField))
		g := Guest{
			Name: q.Get("name"),
			Role: RoleOf(q.Get("role")),
			Via:  q.Get("via"),
			From: q.Get("from"),
			Base: q.Get("base"),
		}
		if err != nil || g.Role == Anonymous {
			http.Error(w, "for whom?", http.StatusBadRequest)
			return
		}
		w.Header().Set(TookField, "1")
		r = r.WithContext(context.WithValue(r.Context(), guestKey{}, &g))
		r.RemoteAddr = g.From
		_, r.Host, _ = strings.Cut(g.Base, "://")
		h.ServeHTTP(w, r)
	}))
}

// AwayError says that a node does not answer a request that was passed on.
type AwayError struct {
	Node string
	Err  error
}

func (e *AwayError) Error() string {
	return fmt.Sprintf("node %s has it and does not answer: %v", e.Node, e.Err)
}

// Unwrap returns why.
func (e *AwayError) Unwrap() error { return e.Err }

// ErrOlder says that the program of a node is older than what it is asked.
var ErrOlder = errors.New("its program is older and does not know the question")

// passFor is how long an answer that is passed on may take.
const passFor = 24 * time.Hour

// PassOn has a request answered by another node. An answer that breaks off there breaks off here.
func PassOn(w http.ResponseWriter, r *http.Request, node string, way http.RoundTripper, g Guest) error {
	body := r.Body
	if r.PostForm != nil { // it was read
		body = io.NopCloser(strings.NewReader(r.PostForm.Encode()))
	}
	at := "http://mirrord" + Below + r.URL.RequestURI()
	out, err := http.NewRequestWithContext(r.Context(), r.Method, at, body)
	if err != nil {
		return err
	}
	out.Header = r.Header.Clone()
	out.Header.Del("Cookie")
	out.Header.Del("Authorization")
	out.Header.Set(GuestField, url.Values{
		"name": {g.Name},
		"role": {g.Role.String()},
		"via":  {g.Via},
		"from": {g.From},
		"base": {g.Base},
	}.Encode())
	// a server that cannot move its deadline sends what it can
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(passFor))
	resp, err := way.RoundTrip(out)
	if err != nil {
		return &AwayError{node, err}
	}
	defer resp.Body.Close()
	if resp.Header.Get(TookField) == "" {
		return &AwayError{node, ErrOlder}
	}
	for name := range resp.Header {
		if name != TookField {
			w.Header().Set(name, resp.Header.Get(name))
		}
	}
	w.WriteHeader(resp.StatusCode)
	if err := relay(w, resp); err != nil {
		panic(http.ErrAbortHandler) // so that the client sees that the response is incomplete
	}
	return nil
}

// relay sends the body of an answer, each part as it comes.
func relay(w http.ResponseWriter, resp *http.Response) error {
	rc := http.NewResponseController(w)
	part := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(part)
		if n > 0 {
			if _, werr := w.Write(part[:n]); werr != nil {
				return werr
			}
			if ferr := rc.Flush(); ferr != nil && !errors.Is(ferr, http.ErrNotSupported) {
				return ferr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
