// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"encoding/json"
	"fmt"
	"testing"

	"mirrord/mirror/urls"
	"mirrord/site"
)

// Addresses that redirect as eight others of their place do are redirects without a request, where the mirror
// has what they lead to.
func TestLeads(t *testing.T) {
	at := func(form string, n int) site.URL { return site.Canonical(fmt.Sprintf("http://h/"+form, n)) }
	another := func(s *SessionIDs) { s.Led(at("?item%d", 12), at("shaare/other%d", 12)) }
	page := func(s *SessionIDs) { s.Read(at("?item%d", 12), nil, nil, nil) }
	gone := func(s *SessionIDs) { s.Led(at("?gone%d", 12), at("?all%d", 1)) }
	for name, c := range map[string]struct {
		from, to string
		led      int                 // URLs that redirected
		then     func(s *SessionIDs) // what comes after that
		want     bool
	}{
		"short":          {"?item%d", "shaare/item%d", 8, nil, true},
		"tags":           {"add-tag/t%d", "?tags=t%d", 8, nil, true},
		"inside":         {"node/n%d", "n%d/view?a=1", 20, nil, false},
		"seven":          {"?item%d", "shaare/item%d", 7, nil, false},
		"a slash":        {"dir%d", "dir%d/", 20, nil, false},
		"another way":    {"?item%d", "shaare/item%d", 8, another, false},
		"a page":         {"?item%d", "shaare/item%d", 8, page, false},
		"elsewhere, too": {"?item%d", "shaare/item%d", 8, gone, true},
	} {
		t.Run(name, func(t *testing.T) {
			var in []site.URL
			for n := range 20 {
				in = append(in, at(c.to, n))
			}
			table := newTable(in...)
			s := NewSessionIDs(nil, 1, table, true)
			for n := range c.led {
				s.Led(at(c.from, n), in[n])
			}
			if c.then != nil {
				c.then(s)
			}
			stored, err := json.Marshal(s.Learned())
			if err != nil {
				t.Fatal(err)
			}
			var learned map[string]*urls.SessionID
			if err = json.Unmarshal(stored, &learned); err != nil {
				t.Fatal(err)
			}
			for _, s := range []*SessionIDs{s, NewSessionIDs(learned, 2, table, true)} {
				led := 0
				for n := range in {
					switch to, why := s.Main(at(c.from, n)); {
					case to == in[n] && why == LedAlike:
						led++
					case to != at(c.from, n):
						t.Errorf("%s redirects to %s, %q", at(c.from, n), to, why)
					}
				}
				if (led > 15) != c.want || (!c.want && led > 0) {
					t.Errorf("%d of %d redirect, want %t", led, len(in), c.want)
				}
			}
			if to, _ := s.Main(at(c.from, 50)); to != at(c.from, 50) {
				t.Errorf("to %s, which the mirror does not have", to)
			}
		})
	}
}
