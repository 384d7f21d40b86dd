// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"mirrord/cluster/lease"
)

// Nodes call one another by HTTP requests in messages of the keepers. An answer is a row of messages, each of
// which is acknowledged before the next one, so that neither side is ahead of the other, and each learns when
// the other one is gone.
const (
	subjectCall = "mirrord.call." // NODE

	headMethod = "Mirrord-Method"
	headPath   = "Mirrord-Path"
	headCode   = "Mirrord-Code" // of the answer; without one the message only says that there is one to come
	headEnd    = "Mirrord-End"  // the last message; what it says went wrong, else ""

	callPart   = 256 << 10        // bytes of an answer in one message
	callAlive  = 3 * time.Second  // how often a node says that its answer takes longer
	callSilent = 10 * time.Second // how long the other side may say nothing
	callRead   = 2 * time.Minute  // and how long it may take to read a part: its client may be slow
	callsMost  = 256              // that a node answers at a time
)

// The header fields that go along with a request, and with its answer. Cookies and passwords do not.
func fieldsThere() []string {
	return []string{"Accept", "Accept-Encoding", "Content-Type", "Hx-Request", "If-Modified-Since",
		"If-None-Match", "If-Range", "Mirrord-Guest", "Range"}
}

func fieldsBack() []string {
	return []string{"Accept-Ranges", "Cache-Control", "Content-Disposition", "Content-Encoding",
		"Content-Length", "Content-Range", "Content-Security-Policy", "Content-Type", "Etag", "Hx-Redirect",
		"Hx-Refresh", "Last-Modified", "Location", "Mirrord-Took", "Retry-After", "Vary", "X-Accel-Buffering"}
}

// copyFields copies those of the named fields that are there.
func copyFields(names []string, from, to http.Header) {
	for _, name := range names {
		if v := from.Get(name); v != "" {
			to.Set(name, v)
		}
	}
}

// ErrNoNode says that a node of the cluster does not answer.
var ErrNoNode = errors.New("the node does not answer")

// Me is the name of this node.
func (e *Engine) Me() string { return e.Node }

// Members returns the names of the nodes that are part of the cluster now.
func (e *Engine) Members() []string { return e.t.others() }

// NodeOf returns the node that has the host of a site, or on whose disk its sites lie; "": none.
func (e *Engine) NodeOf(ctx context.Context, site string) (string, error) {
	host, home := e.t.hostOf(site)
	entry, _, err := get[lease.Entry](ctx, e.kv, keyHost+escape(host))
	if err != nil || entry.Session == "" || entry.Free {
		return home, err
	}
	return entry.Node, nil
}

// Answer lets h answer the calls of other nodes until stop is called, which waits for those under way.
func (e *Engine) Answer(h http.Handler) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	room := make(chan struct{}, callsMost)
	sub, err := e.nc.Subscribe(subjectCall+escape(e.Node), func(m *nats.Msg) {
		select {
		case room <- struct{}{}:
		default:
			return // the caller waits in vain, and calls again
		}
		wg.Go(func() {
			defer func() { <-room }()
			answer(ctx, e.nc, m, h)
		})
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("answer other nodes: %w", err)
	}
	if err := e.nc.FlushTimeout(firstAnswer); err != nil { // else the keepers know it
		e.Log.Debug("other nodes reach this one when the keepers are back", "err", err)
	}
	return func() {
		// errors: the connection has ended, and so have the calls
		_ = sub.Unsubscribe()
		_ = e.nc.FlushTimeout(callSilent) // the keepers know it
		cancel()
		wg.Wait()
	}, nil
}

func answer(ctx context.Context, nc *nats.Conn, m *nats.Msg, h http.Handler) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &answering{
		ctx:    ctx,
		nc:     nc,
		to:     m.Reply,
		cancel: cancel,
		header: http.Header{},
	}
	r, err := http.NewRequestWithContext(ctx, m.Header.Get(headMethod), "http://mirrord"+m.Header.Get(headPath),
		bytes.NewReader(m.Data))
	if err != nil {
		w.end(err.Error())
		return
	}
	copyFields(fieldsThere(), http.Header(m.Header), r.Header)
	w.headOnly = r.Method == http.MethodHead
	done := make(chan struct{})
	var alive sync.WaitGroup
	alive.Go(func() {
		t := time.NewTicker(callAlive)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				_ = w.FlushError() // it has cancelled the call
			}
		}
	})
	wrong := served(h, w, r)
	close(done)
	alive.Wait()
	w.end(wrong)
}

// served lets h answer. As in a server of net/http, a handler that panics breaks off its own answer only.
func served(h http.Handler, w http.ResponseWriter, r *http.Request) (wrong string) {
	defer func() {
		if p := recover(); p != nil {
			wrong = fmt.Sprintf("the answer breaks off: %v", p)
		}
	}()
	h.ServeHTTP(w, r)
	return ""
}

// answering is the http.ResponseWriter of a call. Safe for concurrent use.
type answering struct {
	ctx      context.Context // of the call
	nc       *nats.Conn
	to       string
	cancel   context.CancelFunc
	headOnly bool        // HEAD
	header   http.Header // the handler's, until it says the code

	mu   sync.Mutex
	code int         // 0: not known yet
	head nats.Header // of the first message with the code; nil: it is sent, or not known yet
	buf  []byte
	err  error
}

// Header implements http.ResponseWriter.
func (w *answering) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *answering) WriteHeader(code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began(code)
}

// began keeps the code and the fields of the answer. The caller holds the lock.
func (w *answering) began(code int) {
	if w.code == 0 {
		w.code, w.head = code, nats.Header{}
		copyFields(fieldsBack(), w.header, http.Header(w.head))
	}
}

// Write implements http.ResponseWriter.
func (w *answering) Write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began(http.StatusOK)
	if w.headOnly {
		return len(p), w.err
	}
	for n < len(p) && w.err == nil {
		more := min(len(p)-n, callPart-len(w.buf))
		w.buf = append(w.buf, p[n:n+more]...)
		n += more
		if len(w.buf) == callPart {
			w.send(nil)
		}
	}
	return n, w.err
}

// FlushError sends what there is, or that there will be something.
func (w *answering) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.send(nil)
	return w.err
}

// end sends the rest.
func (w *answering) end(wrong string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began(http.StatusOK)
	w.send(&wrong)
}

// send sends the buffer, and waits until it has arrived. The caller holds the lock.
func (w *answering) send(end *string) {
	if w.err != nil {
		return
	}
	m := nats.NewMsg(w.to)
	m.Data = w.buf
	if w.head != nil {
		m.Header, w.head = w.head, nil
		m.Header.Set(headCode, strconv.Itoa(w.code))
	}
	if end != nil {
		m.Header.Set(headEnd, *end)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), callRead)
	defer cancel()
	defer context.AfterFunc(w.ctx, func() { time.AfterFunc(callSilent, cancel) })()
	got, err := w.nc.RequestMsgWithContext(ctx, m)
	if err == nil && len(got.Data) > 0 {
		err = errGone
	}
	if w.err = err; err != nil {
		w.cancel() // no caller waits for it
	}
	w.buf = w.buf[:0]
}

// To returns what carries HTTP requests to a node. Their bodies are small.
func (e *Engine) To(node string) http.RoundTripper { return carrier{e.nc, node} }

type carrier struct {
	nc   *nats.Conn
	node string
}

// RoundTrip implements http.RoundTripper.
func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	m := nats.NewMsg(subjectCall + escape(c.node))
	m.Reply = c.nc.NewInbox()
	m.Header.Set(headMethod, r.Method)
	m.Header.Set(headPath, r.URL.RequestURI())
	copyFields(fieldsThere(), r.Header, http.Header(m.Header))
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if m.Data, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	b := &answered{
		ctx:  r.Context(),
		node: c.node,
		came: make(chan *nats.Msg, 2), // each waits for its acknowledgement; one more says that no node answers
	}
	var err error
	if b.sub, err = c.nc.ChanSubscribe(m.Reply, b.came); err != nil {
		return nil, b.no(err)
	}
	if err = c.nc.PublishMsg(m); err != nil {
		err = b.no(err)
	}
	for b.head == nil && err == nil {
		err = b.next()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.Close()
		return nil, err
	}
	code, err := strconv.Atoi(b.head.Get(headCode))
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("node %s: answer: %w", c.node, err)
	}
	header := http.Header{}
	copyFields(fieldsBack(), http.Header(b.head), header)
	length, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	if err != nil {
		length = -1
	}
	return &http.Response{
		Status:        strconv.Itoa(code) + " " + http.StatusText(code),
		StatusCode:    code,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          b,
		ContentLength: length,
		Request:       r,
	}, nil
}

// answered is the body of an answer.
type answered struct {
	ctx  context.Context // of the request
	node string
	sub  *nats.Subscription
	came chan *nats.Msg

	head nats.Header // of the first message with a code
	rest []byte
	end  error
}

// Read implements io.Reader.
func (b *answered) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.end != nil {
			return 0, b.end
		}
		if err := b.next(); err != nil && b.end == nil {
			return 0, err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// next takes the next message; io.EOF: it was the last one.
func (b *answered) next() error {
	t := time.NewTimer(callSilent)
	defer t.Stop()
	var m *nats.Msg
	select {
	case <-b.ctx.Done():
		return b.ctx.Err()
	case <-t.C:
		return b.no(nats.ErrTimeout)
	case m = <-b.came:
	}
	if m.Reply == "" { // the server's, instead of a node's
		b.end = b.no(nats.ErrNoResponders)
		return b.end
	}
	if err := m.Respond(nil); err != nil {
		return b.no(err)
	}
	b.rest = m.Data
	if b.head == nil && m.Header.Get(headCode) != "" {
		b.head = m.Header
	}
	if wrong, last := m.Header[headEnd]; last {
		if b.end = io.EOF; len(wrong) > 0 && wrong[0] != "" {
			b.end = fmt.Errorf("node %s: %s", b.node, wrong[0])
		}
	}
	return b.end
}

// no says that the node does not answer.
func (b *answered) no(err error) error { return fmt.Errorf("node %s: %w: %w", b.node, ErrNoNode, err) }

// Close implements io.Closer. The other node learns it from the answer to its next message, which may be
// under way already.
func (b *answered) Close() error {
	if b.end != nil {
		if err := b.sub.Unsubscribe(); !errors.Is(err, nats.ErrConnectionClosed) {
			return err
		}
		return nil
	}
	go func() {
		t := time.NewTimer(callSilent)
		defer t.Stop()
		select {
		case m := <-b.came:
			if m.Reply != "" {
				_ = m.Respond([]byte(errGone.Error())) // an error: the connection has ended
			}
		case <-t.C: // it is silent
		}
		_ = b.sub.Unsubscribe() // likewise
	}()
	return nil
}

// errGone reports that the reader of a response has disconnected.
var errGone = errors.New("gone")
