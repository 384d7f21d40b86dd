// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
)

// A setting for one run is logged by its key: the value may be a password.
func TestSetIsNotLogged(t *testing.T) {
	var log bytes.Buffer
	api := &fakeAPI{run: make(chan struct{})}
	close(api.run)
	srv := NewServer(Host{Daemon: api}, slog.New(slog.NewTextHandler(&log, nil)))
	w := httptest.NewRecorder()
	srv.ServeHTTP(w,
		httptest.NewRequest("POST", "/v1/jobs/a/run",
			strings.NewReader(`{"set":["auth.headers.Cookie=hunter2","limits.retries=5"]}`)))
	if s := log.String(); w.Code >= 400 || strings.Contains(s, "hunter2") ||
		!strings.Contains(s, "auth.headers.Cookie") || !strings.Contains(s, "limits.retries") {
		t.Errorf("%d\n%s\n%s", w.Code, s, w.Body)
	}
}
