// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/testing/apptest"
	"mirrord/testing/browsertest"
)

// askReplay asks the service worker of ReplayWeb.page about the archive.
const askReplay = `new Promise(async done => {
	const f = document.createElement('iframe') // within the scope of the service worker
	f.src = '/replay/blank.html'
	document.body.append(f)
	await new Promise(ready => f.onload = ready)
	const r = await f.contentWindow.fetch('/replay/w/api/c/demo%s')
	done({Text: r.status + ' ' + await r.text()})
})`

// readChecks lists what ReplayWeb.page has checked, and whether it was valid.
const readChecks = `new Promise(async done => {
	const answer = (q, f) => new Promise(ready => q.onsuccess = () => ready(f(q.result)))
	const db = await answer(indexedDB.open('db:demo'), db => db)
	const all = await answer(db.transaction('verification').objectStore('verification').getAll(), all => all)
	done({Text: all.map(c => c.id + ' ' + c.matched).join('; ')})
})`

// TestReplaySigned opens a signed WACZ in ReplayWeb.page: its signature is valid there, its list of pages has
// titles, and its search has their texts. Without a parameter of its worker it does not compare digests of
// files.
func TestReplaySigned(t *testing.T) {
	dir := os.Getenv("MIRRORD_REPLAYWEB")
	if dir == "" {
		t.Skip("MIRRORD_REPLAYWEB is not set: run MIRRORD_LONG=1 .ci/run oracles")
	}
	s := &apptest.Changing{App: apptest.TestApp(t.TempDir())}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>A curious title</title><p>kingfisher and dipper")
	}))
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	s.Mirror(t, 1)
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	file := filepath.Join(t.TempDir(), "site.wacz")
	signing := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(signing, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Export(t.Context(), s.App, ExportRequest{Job: "site", Out: file, Sign: signing}); err != nil {
		t.Fatal(err)
	}
	ctx := browsertest.New(t)
	replay := replayServer(t, dir, file, s.URL+"/")
	openReplay(t, ctx, replay)
	ask := func(what string) string { return evaluate(t, ctx, replay+"/", fmt.Sprintf(askReplay, what)).Text }
	browse(t, ctx, replay+"/replay/blank.html", "/replay/w/demo/mp_/"+s.URL+"/")
	if checks := evaluate(t, ctx, replay+"/", readChecks).Text; !strings.Contains(checks, "signature true") {
		t.Errorf("the signature is not valid: %s", checks)
	}
	if got := ask("/pages"); !strings.Contains(got, "A curious title") {
		t.Errorf("pages are %s", got)
	}
	if got := ask("/textIndex"); !strings.Contains(got, "kingfisher and dipper") {
		t.Errorf("the texts are %s", got)
	}
}
