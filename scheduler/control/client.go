// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"mirrord/scheduler/status"
)

// Client talks to the daemon behind a socket. It is safe for concurrent use.
type Client struct {
	socket string
	http   *http.Client
}

// NewClient returns a client; nothing is connected yet.
func NewClient(socket string) *Client {
	return &Client{socket: socket, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			return dial(ctx, socket)
		},
		DisableKeepAlives: true,
	}}}
}

// NewClientOver returns a client of a daemon that is reached in another way.
func NewClientOver(way http.RoundTripper) *Client {
	return &Client{http: &http.Client{Transport: way}}
}

// Status asks for everything.
func (c *Client) Status(ctx context.Context) (status.All, error) {
	var all status.All
	return all, c.call(ctx, http.MethodGet, "status", nil, &all)
}

// Job asks for one job.
func (c *Client) Job(ctx context.Context, name string) (status.Job, error) {
	var j status.Job
	return j, c.call(ctx, http.MethodGet, "jobs/"+url.PathEscape(name), nil, &j)
}

// Runs asks for the last n runs of a job, newest first.
func (c *Client) Runs(ctx context.Context, name string, n int) ([]status.Run, error) {
	var runs []status.Run
	return runs, c.call(ctx, http.MethodGet, "jobs/"+url.PathEscape(name)+"/runs?n="+strconv.Itoa(n), nil, &runs)
}

// Cancel, Pause and Resume return the state of the job afterwards.
func (c *Client) Cancel(ctx context.Context, name string) (status.Job, error) {
	return c.do(ctx, name, "cancel")
}

// Pause ends the run of a job and starts no other.
func (c *Client) Pause(ctx context.Context, name string) (status.Job, error) {
	return c.do(ctx, name, "pause")
}

// Resume takes Pause back.
func (c *Client) Resume(ctx context.Context, name string) (status.Job, error) {
	return c.do(ctx, name, "resume")
}

func (c *Client) do(ctx context.Context, name, what string) (status.Job, error) {
	var j status.Job
	return j, c.call(ctx, http.MethodPost, "jobs/"+url.PathEscape(name)+"/"+what, nil, &j)
}

// NotifyTest sends a test to everybody whom a job names.
func (c *Client) NotifyTest(ctx context.Context, name string) ([]Told, error) {
	var told []Told
	return told, c.call(ctx, http.MethodPost, "jobs/"+url.PathEscape(name)+"/notify", nil, &told)
}

// OpenConsole asks for a link that logs in to the console.
func (c *Client) OpenConsole(ctx context.Context, r OpenRequest) (OpenLink, error) {
	var link OpenLink
	return link, c.call(ctx, http.MethodPost, "console", r, &link)
}

// Health returns nil when the daemon's scheduler is alive (GET /healthz), else the reason why not.
func (c *Client) Health(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://mirrord/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.connectError(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	word, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return errors.Join(fmt.Errorf("the daemon answers %s: %s", resp.Status, bytes.TrimSpace(word)), err)
}

// Reload lets the daemon read the jobs directory again.
func (c *Client) Reload(ctx context.Context) (Reloaded, error) {
	var r Reloaded
	return r, c.call(ctx, http.MethodPost, "reload", nil, &r)
}

// Gather lets the daemon bring what other nodes of its cluster know of the pages of their mirrors.
func (c *Client) Gather(ctx context.Context) error {
	var none struct{}
	return c.call(ctx, http.MethodPost, "replicas", nil, &none)
}

// Registry asks for the registry.
func (c *Client) Registry(ctx context.Context, out any) error {
	return c.call(ctx, http.MethodGet, "registry", nil, out)
}

// ErrGone says that the daemon went away before the run had ended. The run continues when it comes back.
var ErrGone = errors.New("the daemon went away; the run continues when it starts again")

// Run asks for a run. Each event is handed to heard; with Wait it returns how the run ended, otherwise nil at
// once. When ctx ends, the run continues without us.
func (c *Client) Run(ctx context.Context, name string, r RunRequest, heard func(Event)) (*status.Run, error) {
	resp, err := c.send(ctx, http.MethodPost, "jobs/"+url.PathEscape(name)+"/run", r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	d := json.NewDecoder(resp.Body)
	for {
		var e Event
		if err := d.Decode(&e); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, ErrGone
		}
		heard(e)
		switch {
		case e.Error != nil:
			return nil, e.Error
		case e.Run != nil:
			return e.Run, nil
		case !r.Wait:
			return nil, nil
		}
	}
}

func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	resp, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("answer of the daemon: %w", err)
	}
	return nil
}

// send makes one request; an answer that is an error becomes one.
func (c *Client) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://mirrord/v1/"+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.connectError(ctx, err)
	}
	if resp.StatusCode < 400 {
		return resp, nil
	}
	defer resp.Body.Close()
	e := &Error{Code: Internal}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(e); err != nil || e.Message == "" {
		e.Message = "the daemon answers " + resp.Status
	}
	return nil, e
}

// connectError returns the error of a request that got no answer.
func (c *Client) connectError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok && c.socket == "" {
		return u.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return fmt.Errorf("connect to the daemon at %s: %w", c.socket, op.Err)
	}
	return fmt.Errorf("ask the daemon: %w", err)
}
