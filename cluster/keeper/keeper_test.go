// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"mirrord/testing/poll"
)

// A server that stopped to keep, as when its disk was full, is started again with what it had, and who was
// connected within the process is connected again.
func TestRevive(t *testing.T) {
	k, err := Start(Options{Name: "a", Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	nc, err := nats.Connect("", nats.InProcessServer(k), nats.MaxReconnects(-1),
		nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.CreateKeyValue(&nats.KeyValueConfig{Bucket: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString("key", "kept"); err != nil {
		t.Fatal(err)
	}
	before := k.srv
	if err := k.revive(); err != nil || k.srv != before {
		t.Fatalf("a server that keeps was started again: %v", err)
	}
	if err := k.srv.ShutdownJetStream(); err != nil { // what it does when a write fails for lack of room
		t.Fatal(err)
	}
	if _, err := kv.PutString("key", "lost"); err == nil {
		t.Fatal("it keeps")
	}
	if err := k.revive(); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "an answer", func() bool {
		v, err := kv.Get("key")
		if err == nil && string(v.Value()) != "kept" {
			t.Errorf("it has %q", v.Value())
		}
		return err == nil
	})
}
