// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mirrord/cluster/objects"
	"mirrord/testing/objectstest"
)

func openFolder(t *testing.T) *objects.Folder {
	t.Helper()
	f, err := objects.OpenFolder(filepath.Join(t.TempDir(), "depot"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFolder(t *testing.T) {
	objectstest.TestStore(t, func(t *testing.T) objects.Store { return openFolder(t) })
}

func TestS3(t *testing.T) {
	objectstest.TestStore(t, func(t *testing.T) objects.Store {
		return objectstest.OpenS3(t, objectstest.Serve(t, nil), "a/b")
	})
}

func TestRetry(t *testing.T) {
	for _, tc := range []struct {
		name   string
		faults int
		fault  objectstest.Failure
		err    error
	}{
		{"some 503", 2, objectstest.Before, nil},
		{"lost answers", 2, objectstest.After, nil},
		{"503 without an end", 99, objectstest.Before, objectstest.ErrFault},
	} {
		t.Run(tc.name, func(t *testing.T) {
			left := tc.faults
			f := &objectstest.Faulty{Store: openFolder(t), Decide: func(int, string, string) objectstest.Failure {
				if left--; left >= 0 {
					return tc.fault
				}
				return objectstest.None
			}}
			s := &objects.Retry{Store: f, Attempts: 3, Pause: time.Microsecond}
			_, err := s.Put(t.Context(), "x", objects.Bytes([]byte("abc")), objects.Condition{})
			if !errors.Is(err, tc.err) || errors.Is(err, objects.ErrUnavailable) != (tc.err != nil) {
				t.Fatalf("put: %v", err)
			}
			left = tc.faults
			if tc.err != nil {
				if f.Calls() != 3 {
					t.Errorf("%d attempts", f.Calls())
				}
				return
			}
			if b, _, err := s.Get(t.Context(), "x", 0, 10); string(b) != "abc" || err != nil {
				t.Errorf("get: %q, %v", b, err)
			}
			left = tc.faults
			if err := s.Delete(t.Context(), "x"); err != nil {
				t.Error(err)
			}
			if got := s.Counted.Retries; got != 6 {
				t.Errorf("%d retries", got)
			}
		})
	}
}

// What would end in the same is not repeated.
func TestNoRetry(t *testing.T) {
	f := &objectstest.Faulty{Store: openFolder(t)}
	s := &objects.Retry{Store: f, Pause: time.Hour}
	if _, _, err := s.Get(t.Context(), "x", 0, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	_, err := s.Put(t.Context(), "x", objects.Bytes(nil), objects.Condition{ETag: "y"})
	if !errors.Is(err, objects.ErrCondition) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	f.Decide = func(int, string, string) objectstest.Failure { return objectstest.Before }
	if err := s.Delete(ctx, "x"); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if f.Calls() != 3 {
		t.Errorf("%d calls", f.Calls())
	}
}

// An answer that does not come is an attempt that failed.
func TestSlowAnswer(t *testing.T) {
	var hang atomic.Bool
	hang.Store(true)
	endpoint := objectstest.Serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && hang.Swap(false) {
				<-r.Context().Done()
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	s := &objects.Retry{
		Store:    objectstest.OpenS3(t, endpoint, ""),
		Pause:    time.Millisecond,
		Patience: 300 * time.Millisecond,
	}
	if _, err := s.Put(t.Context(), "x", objects.Bytes([]byte("abc")), objects.Condition{}); err != nil {
		t.Fatal(err)
	}
	if b, _, err := s.Get(t.Context(), "x", 0, 10); string(b) != "abc" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// A store that ignores conditions is found out.
func TestStoreWithoutConditions(t *testing.T) {
	for field, want := range map[string]string{
		"If-None-Match": "ignores If-None-Match",
		"If-Match":      "ignores If-Match",
	} {
		endpoint := objectstest.Serve(t, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Header.Del(field)
				h.ServeHTTP(w, r)
			})
		})
		err := objects.CheckConditions(t.Context(), objectstest.OpenS3(t, endpoint, ""), "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// expired answers as a server does whose credentials have expired, but to those of one key.
func expired(good string) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.Header.Get("Authorization"), "Credential="+good+"/") {
				h.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, "<Error><Code>ExpiredToken</Code><Message>it has expired</Message></Error>")
		})
	}
}

func TestCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	write := func(key string) {
		t.Helper()
		text := "[default]\naws_access_key_id = " + key + "\naws_secret_access_key = something-secret\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	env := map[string]string{
		"AWS_SHARED_CREDENTIALS_FILE": file,
		"AWS_ENDPOINT_URL":            objectstest.Serve(t, expired("new")),
	}
	lookup := func(n string) (string, bool) { return env[n], true }
	s, err := objects.Open("s3://"+objectstest.Bucket+"/x", lookup)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(t.Context(), "x", objects.Bytes(nil), objects.Condition{})
	if !errors.Is(err, objects.ErrDenied) || !strings.Contains(err.Error(), "have expired; renew them") {
		t.Errorf("expired: %v", err)
	}
	write("new") // while the program runs
	if _, err := s.Put(t.Context(), "x", objects.Bytes([]byte("1")), objects.Condition{}); err != nil {
		t.Errorf("renewed: %v", err)
	}
}

func TestOpen(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	for address, want := range map[string]string{
		"/tmp/x":               "begins with neither",
		"file://tmp/x":         "file:///DIR",
		"file:tmp":             "file:///DIR",
		"s3:///x":              "s3://BUCKET/PREFIX",
		"s3://u:p@b/x":         "keys are set in the environment",
		"s3://bucket/x?quick=": `unknown parameter "quick"`,
		"s3://bucket/x":        "no credentials",
		"http://h/":            "begins with neither",
	} {
		if _, err := objects.Open(address, none); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	s := objectstest.OpenS3(t, objectstest.Serve(t, nil), "")
	keys := func(n string) (string, bool) { return "key", strings.HasPrefix(n, "AWS_") }
	other, err := objects.Open("s3://no-such-bucket/x?endpoint=http://127.0.0.1:1", keys)
	if err != nil || other.String() != "s3://no-such-bucket/x" || s.String() != "s3://depot/" {
		t.Errorf("%v, %v, %v", other, s, err)
	}
}

// A pipe in the folder of a depot is an error and blocks no reader.
func TestFolderWithPipe(t *testing.T) {
	dir := t.TempDir()
	f, err := objects.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	go func() {
		_, _, err := f.Get(t.Context(), "pipe", 0, 10)
		done <- err
		_, err = f.Put(t.Context(), "pipe", io.NewSectionReader(strings.NewReader("x"), 0, 1),
			objects.Condition{ETag: "x"})
		done <- err
	}()
	for range 2 {
		select {
		case err := <-done:
			if err == nil {
				t.Error("a pipe is an object")
			}
		case <-time.After(10 * time.Second):
			t.Fatal("a depot waits for the other end of a pipe")
		}
	}
}
