// SPDX-License-Identifier: Apache-2.0

package deadlinks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mirrord/mirror/render"
	"mirrord/mirror/result"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// cures are what was found, by the URL that is broken.
type cures map[string]render.Cure

// errFull says that no more cures are held.
var errFull = errors.New("no more links are repaired")

const tooManyCures = "repair: more than %d broken pages of other sites are known: " +
	"links to the rest stay as they are"

// addCures adds the pages below a directory that a mirror knows to be broken, and of which some mirror knows
// a healthy copy at the other end of one of ways.
func (k *neighbours) addCures(ctx context.Context, name string, dir site.URL, ways []direction, out cures) {
	n, err := k.get(name)
	if n != nil {
		err = n.Records.ResourcesUnder(dir, func(rec *record.Resource) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return k.addCure(n, rec, ways, out)
		})
	}
	if (err != nil) && (err != errFull) && (ctx.Err() == nil) {
		k.unread[name] = err
		k.blind[dir.Origin()] = true
	}
}

func (k *neighbours) addCure(n *neighbour, rec *record.Resource, ways []direction, out cures) error {
	why, at := n.broken(rec, k.Now)
	if (why == "") || k.Covers(rec.URL) {
		return nil
	}
	u := rec.URL.String()
	if _, ok := out[u]; ok {
		return nil
	}
	to, err := k.copyOf(n, rec, at, ways)
	switch {
	case err != nil:
		k.undecide(site.Canonical(strings.Clone(u)))
	case to == "":
	case len(out) >= mostCures:
		k.Note(fmt.Sprintf(tooManyCures, mostCures))
		return errFull
	default:
		out[strings.Clone(u)] = render.Cure{To: to, Why: why + " by the mirror of " + n.name}
	}
	return nil
}

// copyOf returns the URL of the best copy of a page that was seen broken at a time, in Unix seconds. It is ""
// without one, or one that may stand for it, or when the page came back. The error is one of reading a
// mirror that has to be read for the answer.
func (k *neighbours) copyOf(n *neighbour, rec *record.Resource, at int64, ways []direction) (string, error) {
	if later, err := k.answeredLater(n, rec.URL, at); err != nil || later {
		return "", err
	}
	for i := range ways {
		if to, err := k.copyBy(n, rec, &ways[i]); (err != nil) || (to != "") {
			return to, err
		}
	}
	return "", nil
}

// copyBy is copyOf by one way.
func (k *neighbours) copyBy(n *neighbour, broken *record.Resource, w *direction) (string, error) {
	rest, ok := strings.CutPrefix(broken.URL.String(), w.from.String())
	if !ok {
		return "", nil
	}
	to, _, err := site.Parse(w.to.String() + rest)
	if (err != nil) || !strings.HasPrefix(to.String(), w.to.String()) || k.Covers(to) {
		return "", nil
	}
	if broken.InSet && (broken.Source == to.String()) { // that mirror has it from there
		return to.String(), nil
	}
	for _, name := range k.of(to) {
		m, err := k.get(name)
		if err != nil {
			return "", err
		}
		if (m == nil) || m.isSilent(to) || !m.isFinished() {
			continue
		}
		rec, ok, err := m.Records.Get(to)
		if err != nil {
			k.unread[name] = err
			return "", err
		}
		if ok && isHealthy(&rec) && (w.named || k.wasLike(n, broken, m, &rec)) {
			return to.String(), nil
		}
	}
	return "", nil
}

// isFinished reports whether the last run got what could be had.
func (n *neighbour) isFinished() bool {
	return (n.verdict == result.Complete.String()) || (n.verdict == result.Gaps.String())
}

// broken says how a resource of this mirror's site is broken, and when that was seen, in Unix seconds; ""
// when it is not, or not known to be.
func (n *neighbour) broken(rec *record.Resource, now time.Time) (why string, at int64) {
	replaced := rec.InSet && (rec.Source != "") // by the copy of an alternate
	confirmed := (rec.Outcome == site.Gone) && (rec.Gone >= 2)
	recent := now.Sub(time.Unix(rec.Checked, 0)) <= brokenFor
	switch {
	case urls.IsGone(rec) && (confirmed || replaced) && recent:
		return fmt.Sprintf("status %d", rec.Status), rec.Checked
	case n.keepsFailing(rec):
		return fmt.Sprintf("failed in %d runs", urls.LastingFailures), n.ended.Unix()
	case n.isSilent(rec.URL) && rec.InSet:
		return "its host does not answer", n.ended.Unix()
	}
	return "", 0
}

// keepsFailing reports whether a URL failed in several runs, and in one of late. A 403 may be for us alone.
func (n *neighbour) keepsFailing(rec *record.Resource) bool {
	lasting := (rec.Outcome == site.Failed) && (rec.Failures >= urls.LastingFailures)
	forAll := (rec.Status == 0) || (rec.Status >= 500)
	return lasting && forAll && (rec.Run >= n.since)
}

// isHealthy reports whether the site itself gave a page when it was last requested.
func isHealthy(rec *record.Resource) bool {
	fails := (rec.Outcome == site.Failed) || (rec.Failures > 0) || urls.IsGone(rec)
	return rec.InSet && (rec.Source == "") && !fails
}

// answeredLater reports whether another mirror of the same site has a page that one saw broken at a time, and
// got it after that.
func (k *neighbours) answeredLater(n *neighbour, u site.URL, at int64) (bool, error) {
	for _, name := range k.of(u) {
		if name == n.name {
			continue
		}
		m, err := k.get(name)
		if err != nil {
			return false, err
		}
		if m == nil {
			continue
		}
		rec, ok, err := m.Records.Get(u)
		if err != nil {
			k.unread[name] = err
			return false, err
		}
		if ok && isHealthy(&rec) && rec.Checked > at {
			return true, nil
		}
	}
	return false, nil
}
