// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"mirrord/cluster/engine"
	"mirrord/fetch"
	"mirrord/testing/poll"
)

const (
	foreignHost  = "127.0.0.1"
	foreignPage  = 8 // requisites of a page
	foreignTakes = 12 * time.Millisecond
)

var foreignPolite = fetch.Politeness{Connections: 1, Delay: 250 * time.Millisecond, By: "job"}

// foreign is a node that requests a host which another node has for its own site.
type foreign struct {
	e     *engine.Engine
	hosts *fetch.Hosts
	url   string
}

// BenchmarkForeignHost compares three ways in which pages of nodes b and c can get their requisites from a
// host that node a has and requests without a pause: turns that a lends, as it is; a lease of the host that
// goes from node to node with each page, or eight requests of a; and batches, of which a makes the requests
// and passes the bodies on. The last two are made here with as little as they can be made of.
func BenchmarkForeignHost(b *testing.B) {
	for _, way := range []struct {
		name string
		page func(b *testing.B, nodes map[string]*foreign) func(name string)
	}{
		{"turns", byTurns}, {"leases", byLeases}, {"batches", byBatches},
	} {
		b.Run(way.name, func(b *testing.B) { benchForeign(b, way.page) })
	}
}

func benchForeign(b *testing.B, way func(b *testing.B, nodes map[string]*foreign) func(name string)) {
	body := bytes.Repeat([]byte("twenty bytes of it. "), 1000)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(foreignTakes) // as a site takes for a page
		_, _ = w.Write(body)     // an error: the client is away
	}))
	defer srv.Close()
	o := keepers(b, 1)
	o.Term = engine.DefaultTerm()
	nodes := map[string]*foreign{}
	for _, name := range []string{"a", "b", "c"} {
		o.Node = name
		e := node(b, o)
		nodes[name] = &foreign{e, &fetch.Hosts{Beyond: e}, srv.URL}
		stop, err := e.Lend(nodes[name].hosts)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(stop)
		if name == "a" {
			e.Want(map[string]string{"site": foreignHost}, nil, "")
			poll.Until(b, "a share", func() bool { return len(e.Shared()) > 0 })
		}
	}
	page := way(b, nodes)
	before := traffic(nodes)
	began := time.Now()
	ended := make(chan struct{})
	var wg sync.WaitGroup
	own := 0
	wg.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
				page("a")
				own++
			}
		}
	})
	for b.Loop() { // a page of each
		var both sync.WaitGroup
		for _, name := range []string{"b", "c"} {
			both.Go(func() { page(name) })
		}
		both.Wait()
	}
	pages := time.Since(began)
	close(ended)
	wg.Wait()
	all := time.Since(began)
	after := traffic(nodes)
	theirs := float64(2 * b.N * foreignPage)
	requests := theirs + float64(own*foreignPage)
	b.ReportMetric(requests*float64(foreignPolite.Delay+foreignTakes)/float64(all), "of-the-most")
	b.ReportMetric(theirs/requests, "theirs")
	b.ReportMetric(pages.Seconds()*1000/float64(b.N), "ms/page")
	b.ReportMetric((after.messages-before.messages)/theirs, "messages/request")
	b.ReportMetric((after.bytes-before.bytes)/theirs, "B/request")
	b.ReportMetric(0, "ns/op")
}

// sent is what nodes have sent to one another and to the keepers.
type sent struct{ messages, bytes float64 }

func traffic(nodes map[string]*foreign) (s sent) {
	for _, n := range nodes {
		stats := n.e.Connection().Stats()
		s.messages += float64(stats.OutMsgs)
		s.bytes += float64(stats.OutBytes)
	}
	return s
}

// request makes a request when the host's turn has come.
func (f *foreign) request(b *testing.B, p fetch.Politeness) []byte {
	for {
		ok, again := f.hosts.Acquire(foreignHost, p, time.Now())
		if ok {
			break
		}
		time.Sleep(max(time.Until(again), time.Millisecond)) // the gap of the host is measured
	}
	defer func() { f.hosts.Release(foreignHost, p, time.Now(), fetch.Observation{Status: http.StatusOK}) }()
	res, err := http.Get(f.url)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.Error(err)
	}
	return body
}

func byTurns(b *testing.B, nodes map[string]*foreign) func(name string) {
	return func(name string) {
		for range foreignPage {
			nodes[name].request(b, foreignPolite)
		}
	}
}

// byLeases has an entry of the bucket that names who has the host. Who lets it go writes that down, and who
// takes it waits for the gap.
func byLeases(b *testing.B, nodes map[string]*foreign) func(name string) {
	const key, free = "try.host", "free"
	first := nodes["a"].e.Bucket()
	if _, err := first.Put(b.Context(), key, []byte(free)); err != nil {
		b.Fatal(err)
	}
	for _, n := range nodes {
		n.hosts = new(fetch.Hosts) // a lease stands for itself
	}
	take := func(kv jetstream.KeyValue, name string) (revision uint64) {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		w, err := kv.Watch(ctx, key)
		if err != nil {
			b.Error(err)
			return 0
		}
		defer w.Stop()
		for e := range w.Updates() {
			if e == nil || string(e.Value()) != free {
				continue
			}
			if revision, err = kv.Update(ctx, key, []byte(name), e.Revision()); err == nil {
				return revision
			}
		}
		return 0
	}
	return func(name string) {
		kv := nodes[name].e.Bucket()
		revision := take(kv, name)
		time.Sleep(foreignPolite.Delay) // the gap after the requests of the node before
		for range foreignPage {
			nodes[name].request(b, foreignPolite)
		}
		if _, err := kv.Update(b.Context(), key, []byte(free), revision); err != nil {
			b.Error(err)
		}
	}
}

// byBatches has node a make the requests of the others, which it answers with the bodies.
func byBatches(b *testing.B, nodes map[string]*foreign) func(name string) {
	const subject = "mirrord.try.batch"
	owner := nodes["a"]
	sub, err := owner.e.Connection().Subscribe(subject, func(m *nats.Msg) {
		go func() { // requests of one batch follow one another, and batches take turns
			p := foreignPolite
			p.By = string(m.Data)
			for range foreignPage {
				if err := m.Respond(owner.request(b, p)); err != nil {
					b.Error(err)
				}
			}
		}()
	})
	if err == nil {
		err = owner.e.Connection().Flush()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sub.Unsubscribe() })
	return func(name string) {
		if name == "a" {
			for range foreignPage {
				owner.request(b, foreignPolite)
			}
			return
		}
		nc := nodes[name].e.Connection()
		inbox := nc.NewInbox()
		answers, err := nc.SubscribeSync(inbox)
		if err == nil {
			defer func() { _ = answers.Unsubscribe() }()
			err = nc.PublishRequest(subject, inbox, []byte(name))
		}
		for i := 0; err == nil && i < foreignPage; i++ {
			_, err = answers.NextMsg(time.Minute)
		}
		if err != nil {
			b.Error(err)
		}
	}
}
