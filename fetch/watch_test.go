// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"strings"
	"testing"

	"mirrord/fetch/reach"
)

// A request has nothing of the one before: no condition, and no secret of another origin.
func TestRequestsShareNothing(t *testing.T) {
	heads := make(chan string, 1)
	answer := func(head string, _ int) (string, bool) {
		heads <- head
		return short, false
	}
	known, _ := talk(t, answer)
	other, _ := talk(t, answer)
	c := newClient(t, Options{
		Reach:       reach.Policy{All: true},
		Retries:     -1,
		AuthOrigins: []string{"http://" + known},
		AuthHeader:  map[string]string{"Authorization": "Basic eA=="},
	})
	ask := func(req Request) string {
		t.Helper()
		if _, err := c.Do(context.Background(), req, new(memory)); err != nil {
			t.Fatal(err)
		}
		return <-heads
	}
	bare := ask(Request{URL: mustURL(t, "http://"+other+"/")})
	for range 20 { // a pool may lose what it is given
		full := ask(Request{
			URL:          mustURL(t, "http://"+known+"/long/path?query"),
			Referer:      mustURL(t, "http://"+known+"/from"),
			Accept:       "text/css",
			ETag:         `"e"`,
			LastModified: "Mon, 02 Jan 2006 15:04:05 GMT",
		})
		for _, field := range []string{"Authorization", "If-None-Match", "If-Modified-Since", "Referer"} {
			if !strings.Contains(full, field) {
				t.Fatalf("no %s in\n%s", field, full)
			}
		}
		if got := ask(Request{URL: mustURL(t, "http://"+other+"/")}); got != bare {
			t.Fatalf("%s\nwant\n%s", got, bare)
		}
	}
}
