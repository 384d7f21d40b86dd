// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"mirrord/testing/objectstest"
)

// TestClusterConditions has an S3 server that ignores conditions: the keepers have the pointers. Nodes are
// killed; a node that names no keeper writes nothing.
func TestClusterConditions(t *testing.T) {
	long(t, "three minutes")
	endpoint := objectstest.Serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-Match")
			r.Header.Del("If-None-Match")
			h.ServeHTTP(w, r)
		})
	})
	w := newClusterWorld(t, 6, 3, "s3://"+objectstest.Bucket+"/x", "AWS_ENDPOINT_URL="+endpoint,
		"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=something-secret")
	w.start("a", "b", "c")
	w.allRun("at first")
	gc := []string{"cluster", "gc", "--depot", w.depot}
	if out, err := w.command(gc...); err == nil || !strings.Contains(string(out), "MIRRORD_CLUSTER") {
		t.Errorf("without keepers: %v\n%s", err, out)
	}
	named := *w
	named.env = append(named.env, "MIRRORD_CLUSTER="+w.servers, "MIRRORD_CLUSTER_SECRET_FILE="+w.secret)
	if out, err := named.command(gc...); err != nil {
		t.Errorf("with them: %v\n%s", err, out)
	}
	w.signal(syscall.SIGKILL, "b")
	w.allRun("a node is killed")
	w.start("b")
	w.allRun("it is back")
	w.finish()
}
