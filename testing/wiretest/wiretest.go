// SPDX-License-Identifier: Apache-2.0

// Package wiretest reads transcripts of HTTP exchanges between a server and a client of an earlier
// version of
// the program, and compares what today's say with them.
//
// A transcript is a text of blocks with an empty line between them. A block that begins with # is a
// comment.
// One that begins with ~ lists values of answers that differ from time to time, such as .jobs[].added.
// Each other
// one is an exchange: a line with its name, the request in lines that begin with >, the answer in
// lines that begin
// with <. The first line of a request has the method and the target, the first line of an answer the
// code and the
// media type; what follows are bodies.
//
//	pause
//	> POST /v1/jobs/a/pause
//	< 200 application/json
//	< {"job":"a"}
package wiretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// Talk is one exchange: a request and its answer.
type Talk struct {
	Name     string
	Request  Request
	Response Response
}

// Request is what a client sends.
type Request struct {
	Method, Target string
	Body           string
}

// Response is what a server sends as the answer.
type Response struct {
	Code int
	Type string // without parameters
	Body string // of a stream: one JSON value a line

	varies map[string]bool // values that another answer need not have, only their keys
}

// Read returns the exchanges of a transcript.
func Read(t *testing.T, file string) []Talk {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []Talk
	varies := map[string]bool{}
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		if strings.HasPrefix(block, "#") {
			continue
		}
		if strings.HasPrefix(block, "~") {
			for at := range strings.FieldsSeq(strings.ReplaceAll(block, "~", " ")) {
				varies[at] = true
			}
			continue
		}
		e, err := exchangeOf(block)
		if err != nil {
			t.Fatalf("%s: %q: %v", file, block, err)
		}
		e.Response.varies = varies
		all = append(all, e)
	}
	return all
}

func exchangeOf(block string) (e Talk, err error) {
	var ask, answer []string
	for i, line := range strings.Split(block, "\n") {
		switch {
		case i == 0:
			e.Name = line
		case strings.HasPrefix(line, "> "):
			ask = append(ask, line[2:])
		case strings.HasPrefix(line, "< "):
			answer = append(answer, line[2:])
		default:
			return e, fmt.Errorf("neither > nor <: %q", line)
		}
	}
	if len(ask) == 0 || len(answer) == 0 {
		return e, errors.New("no request, or no answer")
	}
	e.Request.Method, e.Request.Target, _ = strings.Cut(ask[0], " ")
	e.Request.Body = strings.Join(ask[1:], "\n")
	code, kind, _ := strings.Cut(answer[0], " ")
	e.Response.Code, err = strconv.Atoi(code)
	e.Response.Type, e.Response.Body = kind, strings.Join(answer[1:], "\n")
	return e, err
}

// Send makes the request of an HTTP server.
func (r Request) Send(t *testing.T, way http.RoundTripper, base string) Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, base+r.Target, strings.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := way.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return Received(t, resp)
}

// Received is the answer that came.
func Received(t *testing.T, resp *http.Response) Response {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return Response{Code: resp.StatusCode, Type: kind, Body: strings.TrimSpace(string(body))}
}

// ServeHTTP gives the answer.
func (a Response) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", a.Type)
	w.WriteHeader(a.Code)
	_, _ = io.WriteString(w, a.Body+"\n") // an error: the client has disconnected
}

// Sent is the request that a server got.
func Sent(r *http.Request) (Request, error) {
	if r.Body == nil { // of a request that did not come from a connection
		return Request{Method: r.Method, Target: r.URL.RequestURI()}, nil
	}
	body, err := io.ReadAll(r.Body)
	return Request{r.Method, r.URL.RequestURI(), string(body)}, err
}

// Lacks says what a recorded answer has that another one has not, or has differently; nil: nothing. Objects
// may have more keys than were recorded.
func (a Response) Lacks(got Response) error {
	if got.Code != a.Code || got.Type != a.Type {
		return fmt.Errorf("%d %s, want %d %s: %s", got.Code, got.Type, a.Code, a.Type, got.Body)
	}
	if !strings.HasSuffix(a.Type, "json") {
		if got.Body != a.Body {
			return fmt.Errorf("%q, want %q", got.Body, a.Body)
		}
		return nil
	}
	return a.LacksJSON(got.Body)
}

// Differs says how a request differs from the one that was recorded; nil: not at all.
func (r Request) Differs(got Request) error {
	if got.Method != r.Method || got.Target != r.Target {
		return fmt.Errorf("%s %s, want %s %s", got.Method, got.Target, r.Method, r.Target)
	}
	sent, err := values(got.Body)
	want, werr := values(r.Body)
	if err = errors.Join(err, werr); err != nil {
		return err
	}
	if !reflect.DeepEqual(sent, want) {
		return fmt.Errorf("%s %s: %s, want %s", r.Method, r.Target, got.Body, r.Body)
	}
	return nil
}

// LacksJSON says what the body of an answer has in its JSON values that a text has not, or has differently.
func (a Response) LacksJSON(text string) error {
	got, err := values(text)
	want, werr := values(a.Body)
	if err = errors.Join(err, werr); err != nil {
		return err
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d values, want %d: %s", len(got), len(want), text)
	}
	var errs []error
	for i := range want {
		errs = append(errs, a.lacks("", got[i], want[i]))
	}
	return errors.Join(errs...)
}

// Ends is the answer without the events of a stream that are neither the first nor the last one.
func (a Response) Ends() Response {
	if lines := strings.Split(a.Body, "\n"); strings.HasSuffix(a.Type, "ndjson") && len(lines) > 1 {
		a.Body = lines[0] + "\n" + lines[len(lines)-1]
	}
	return a
}

// values are the JSON values of a text, with numbers as they are written.
func values(text string) (all []any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		var v any
		switch err := d.Decode(&v); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%.200q: %w", text, err)
		}
		all = append(all, v)
	}
}

// lacks compares two values at a place such as .jobs[].added.
func (a Response) lacks(at string, got, want any) error {
	if a.varies[at] {
		return nil
	}
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: %v, want an object", at, got)
		}
		var errs []error
		for key, v := range want {
			if other, ok := g[key]; ok {
				errs = append(errs, a.lacks(at+"."+key, other, v))
			} else {
				errs = append(errs, fmt.Errorf("%s.%s: missing, want %v", at, key, v))
			}
		}
		return errors.Join(errs...)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			return fmt.Errorf("%s: %v, want %v", at, got, want)
		}
		var errs []error
		for i := range want {
			errs = append(errs, a.lacks(at+"[]", g[i], want[i]))
		}
		return errors.Join(errs...)
	}
	if got != want {
		return fmt.Errorf("%s: %v, want %v", at, got, want)
	}
	return nil
}
