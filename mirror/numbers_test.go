// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"mirrord/evolution/policy"
	jobfile "mirrord/job"
)

// uneven is a news site that answers each page later than others, in an order of its own, and notes the
// requests.
type uneven struct {
	*newsSite
	order byte
	mu    sync.Mutex
	weeks [][]string // by week: the paths
}

func (s *uneven) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := fnv.New32a()
	h.Write(append([]byte(r.URL.Path), s.order))
	time.Sleep(time.Duration(h.Sum32()%4) * time.Millisecond) // another order of answers
	s.mu.Lock()
	for len(s.weeks) <= s.week {
		s.weeks = append(s.weeks, nil)
	}
	s.weeks[s.week] = append(s.weeks[s.week], fmt.Sprint(r.URL.Path, " ", r.Header.Get("If-None-Match")))
	s.mu.Unlock()
	s.newsSite.ServeHTTP(w, r)
}

// TestOrderOfAnswersDecidesNothing: with eight connections URLs are found, and numbered, in an order that
// depends on how answers overlap. All runs request the same all the same.
func TestOrderOfAnswersDecidesNothing(t *testing.T) {
	t.Parallel()
	var want [][]string
	for order := range byte(2) {
		s := &uneven{newsSite: newNewsSite(nothingSaid), order: order}
		keep(t, s, policy.Adaptive, sized(6, 31), func(j *jobfile.Job) {
			j.Adaptive.Price, j.Limits.MaxSkipTime = 0.03, "0"
		})
		for _, week := range s.weeks {
			slices.Sort(week)
		}
		if order == 0 {
			want = s.weeks
		}
		for i, week := range s.weeks {
			if !slices.Equal(week, want[i]) {
				t.Errorf("week %d: %d requests in one order of answers, %d in another", i, len(week), len(want[i]))
			}
		}
	}
}
