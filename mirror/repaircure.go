package mirror

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mirrord/site"
	"mirrord/store"
)

// cures adds what a mirror knows to be broken under one side of a pair and some mirror knows to be well under the other. What a better pair cured stays.
func (k *neighbours) cures(ctx context.Context, name string, w direction, out map[string]cure) error {
	n, err := k.get(name)
	if err != nil || n == nil {
		return err
	}
	r := k.r
	return n.ResourcesUnder(w.from, func(rec *store.Resource) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		why := n.broken(rec, r.now())
		if why == "" || r.scope.Covers(rec.URL) {
			return nil
		}
		u := rec.URL.String()
		if _, ok := out[u]; ok {
			return nil
		}
		rest, ok := strings.CutPrefix(u, w.from.String())
		if !ok {
			return nil
		}
		to, _, err := site.Parse(w.to.String() + rest)
		if err != nil || !strings.HasPrefix(to.String(), w.to.String()) || r.scope.Covers(to) {
			return nil
		}
		well, err := k.isWell(to, rec)
		if err != nil || !well {
			return err
		}
		if len(out) >= mostCures {
			r.notes.cap(fmt.Sprintf("repair: more than %d broken pages of other sites are known: links to the rest stay as they are", mostCures))
			return nil
		}
		out[strings.Clone(u)] = cure{to.String(), why + " by the mirror of " + name}
		return nil
	})
}

// broken says how a resource of this mirror's site is broken; "" when it is not, or not known to be.
func (n *neighbour) broken(rec *store.Resource, now time.Time) string {
	gone := isGone(rec) && (rec.Outcome == site.Gone && rec.Gone >= 2 || rec.InSet && rec.Source != "") // the mirror repaired it from an alternate
	switch {
	case gone && now.Sub(time.Unix(rec.Checked, 0)) <= brokenFor:
		return fmt.Sprintf("status %d", rec.Status)
	case rec.Outcome == site.Failed && rec.Failures >= lastingFailures && (rec.Status == 0 || rec.Status >= 500): // 403 may be for us alone
		return fmt.Sprintf("failed in %d runs", lastingFailures)
	case n.silent[rec.URL.Hostname()] && rec.InSet:
		return "its host does not answer"
	}
	return ""
}

// isWell reports whether some mirror has recorded that a URL gives a page: the mirror of that site itself, or one that took the body of the broken page from there.
func (k *neighbours) isWell(u site.URL, broken *store.Resource) (bool, error) {
	if broken.InSet && broken.Source == u.String() {
		return true, nil
	}
	for _, name := range k.of(u) {
		n, err := k.get(name)
		if err != nil {
			return false, err
		}
		if n == nil || n.silent[u.Hostname()] || n.verdict != Complete.String() {
			continue
		}
		rec, ok, err := n.Get(u)
		if err != nil {
			return false, err
		}
		if ok && rec.InSet && rec.Source == "" && !isGone(&rec) && rec.Outcome != site.Failed && rec.Failures == 0 {
			return true, nil
		}
	}
	return false, nil
}
