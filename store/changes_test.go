// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"maps"
	"testing"

	"mirrord/store/facts"
	"mirrord/store/record"
)

// checkChanges lays what changed since a version over what it had, which must give what there is now.
func checkChanges(t testing.TB, site *Site, p *facts.Past, bodies map[string]string) {
	t.Helper()
	body := map[bool]map[string][sha256.Size]byte{true: {}, false: {}} // now, and with the changes
	for u, b := range bodies {
		body[false][u] = sha256.Sum256([]byte(b))
	}
	note := func(now bool, r *record.Resource) {
		if delete(body[now], r.URL.String()); r.InSet {
			body[now][r.URL.String()] = r.Digest
		}
	}
	err := site.Records.Resources(func(r *record.Resource) error {
		note(true, r)
		return nil
	})
	if err == nil {
		err = p.Changes(func(was, now *record.Resource) error {
			if b, in := bodies[was.URL.String()]; (was.InSet != in) || (in && was.Digest != sha256.Sum256([]byte(b))) {
				t.Errorf("version %d had %s: %v, want %v", p.Version, was.URL, was.InSet, in)
			}
			note(false, now)
			return nil
		})
	}
	if err != nil || !maps.Equal(body[true], body[false]) {
		t.Errorf("what changed since version %d: %v; %d resources, want %d", p.Version, err, len(body[false]),
			len(body[true]))
	}
}
