// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mirrord/testing/wiretest"
)

// wireOf returns the exchanges that were recorded from the release before.
func wireOf(t *testing.T) (all []wiretest.Talk) {
	for _, name := range []string{"looks", "run", "orders"} {
		all = append(all, wiretest.Read(t, "testdata/wire/"+name+".txt")...)
	}
	return all
}

// call makes the request of an exchange with a client, and returns what that makes of the answer, as JSON.
func call(ctx context.Context, c *Client, r wiretest.Request) (string, error) {
	path, _, _ := strings.Cut(r.Target, "?")
	name, verb, isJob := "", strings.TrimPrefix(path, "/v1/"), false
	if verb, isJob = strings.CutPrefix(verb, "jobs/"); isJob {
		name, verb, _ = strings.Cut(verb, "/")
	}
	name, err := url.PathUnescape(name)
	if err != nil {
		return "", err
	}
	switch verb {
	case "run":
		return callRun(ctx, c, name, r.Body)
	case "cancel":
		return asJSON(c.Cancel(ctx, name))
	case "pause":
		return asJSON(c.Pause(ctx, name))
	case "resume":
		return asJSON(c.Resume(ctx, name))
	case "notify":
		return asJSON(c.NotifyTest(ctx, name))
	case "runs":
		n, err := strconv.Atoi(r.Target[strings.LastIndex(r.Target, "=")+1:])
		if err != nil {
			return "", err
		}
		return asJSON(c.Runs(ctx, name, n))
	case "":
		return asJSON(c.Job(ctx, name))
	case "status":
		return asJSON(c.Status(ctx))
	case "reload":
		return asJSON(c.Reload(ctx))
	case "console":
		return asJSON(c.OpenConsole(ctx, OpenRequest{Role: "order"}))
	case "replicas":
		return asJSON(struct{}{}, c.Gather(ctx))
	case "registry":
		var v any
		err := c.Registry(ctx, &v)
		return asJSON(v, err)
	case "/healthz":
		if err := c.Health(ctx); err != nil {
			return err.Error(), nil
		}
		return "ok", nil
	}
	return "", errors.New("no call for " + r.Target)
}

// callRun is call for a run: the events that were heard.
func callRun(ctx context.Context, c *Client, name, body string) (string, error) {
	var r RunRequest
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		return "", err
	}
	var heard strings.Builder
	run, err := c.Run(ctx, name, r, func(e Event) { _ = json.NewEncoder(&heard).Encode(e) })
	if heard.Len() == 0 {
		return asJSON(run, err)
	}
	if ended := run != nil || err != nil; ended != r.Wait {
		return "", fmt.Errorf("returned %v, %w", run, err)
	}
	return heard.String(), nil
}

func asJSON[T any](v T, err error) (string, error) {
	var says *Error
	var text []byte
	var merr error
	switch {
	case errors.As(err, &says):
		text, merr = json.Marshal(says)
	case err != nil:
		return "", err
	default:
		text, merr = json.Marshal(v)
	}
	return string(text), merr
}

// serveExchange returns a client of a server that gives one answer, and says how the request differs.
func serveExchange(t *testing.T, e wiretest.Talk) (*Client, <-chan error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1) // holds the one request
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := wiretest.Sent(r)
		sent <- errors.Join(err, e.Request.Differs(got))
		e.Response.ServeHTTP(w, r)
	}))
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	t.Cleanup(srv.Close)
	return NewClient(path), sent
}

// TestWireClient lets a client talk to a server that answers as the one of the release before did: the client
// sends what the one of then sent, and understands the answers.
func TestWireClient(t *testing.T) {
	for _, e := range wireOf(t) {
		if strings.HasPrefix(e.Name, "raw: ") {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			c, sent := serveExchange(t, e)
			got, err := call(t.Context(), c, e.Request)
			if err != nil {
				t.Fatal(err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			if e.Response.Type == "text/plain" {
				if !strings.HasSuffix(got, e.Response.Body) {
					t.Errorf("understood as %q, want %q", got, e.Response.Body)
				}
			} else if err := e.Response.LacksJSON(got); err != nil {
				t.Error(err)
			}
		})
	}
}
