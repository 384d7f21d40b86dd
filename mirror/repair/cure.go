// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/mirror/result"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store"
)

// cures adds what a mirror knows to be broken below a directory, and some mirror knows to be well at the other end of the best of ways.
func (k *neighbours) cures(ctx context.Context, name string, dir site.URL, ways []direction, out map[string]render.Cure) {
	n, err := k.get(name)
	if n != nil {
		err = n.Records.ResourcesUnder(dir, func(rec *store.Resource) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			why, at := n.broken(rec, k.Now)
			if why == "" || k.Covers(rec.URL) {
				return nil
			}
			u := rec.URL.String()
			if _, ok := out[u]; ok {
				return nil
			}
			to, err := k.copyOf(n, rec, at, u, ways)
			switch {
			case err != nil:
				k.leave(site.Canonical(strings.Clone(u)))
			case to == "":
			case len(out) >= mostCures:
				k.Note(fmt.Sprintf("repair: more than %d broken pages of other sites are known: links to the rest stay as they are", mostCures))
				return errFull
			default:
				out[strings.Clone(u)] = render.Cure{To: to, Why: why + " by the mirror of " + name}
			}
			return nil
		})
	}
	if err != nil && err != errFull && ctx.Err() == nil {
		k.unread[name] = err
		k.blind[dir.Origin()] = true
	}
}

var errFull = errors.New("no more links are repaired")

// copyOf returns the URL of the best copy of a page u that was seen broken at a time; "" when there is none, or none that may stand for it, or the page came back.
// An error is that of a mirror which would have to tell.
func (k *neighbours) copyOf(n *neighbour, broken *store.Resource, at int64, u string, ways []direction) (string, error) {
	if later, err := k.answeredLater(n, broken.URL, at); err != nil || later {
		return "", err
	}
	for i := range ways {
		if to, err := k.copyBy(n, broken, u, &ways[i]); err != nil || to != "" {
			return to, err
		}
	}
	return "", nil
}

// copyBy is copyOf by one way.
func (k *neighbours) copyBy(n *neighbour, broken *store.Resource, u string, w *direction) (string, error) {
	rest, ok := strings.CutPrefix(u, w.from.String())
	if !ok {
		return "", nil
	}
	to, _, err := site.Parse(w.to.String() + rest)
	if err != nil || !strings.HasPrefix(to.String(), w.to.String()) || k.Covers(to) {
		return "", nil
	}
	if broken.InSet && broken.Source == to.String() { // that mirror has it from there
		return to.String(), nil
	}
	for _, name := range k.of(to) {
		m, err := k.get(name)
		if err != nil {
			return "", err
		}
		if m == nil || m.isSilent(to) || m.verdict != result.Complete.String() {
			continue
		}
		rec, ok, err := m.Records.Get(to)
		if err != nil {
			k.unread[name] = err
			return "", err
		}
		if ok && isWell(&rec) && (w.named || k.hadWhat(n, broken, m, &rec)) {
			return to.String(), nil
		}
	}
	return "", nil
}

// broken says how a resource of this mirror's site is broken, and when that was seen, in Unix seconds; "" when it is not, or not known to be.
func (n *neighbour) broken(rec *store.Resource, now time.Time) (why string, at int64) {
	gone := ledger.IsGone(rec) && (rec.Outcome == site.Gone && rec.Gone >= 2 || rec.InSet && rec.Source != "") // the mirror repaired it from an alternate
	switch {
	case gone && now.Sub(time.Unix(rec.Checked, 0)) <= brokenFor:
		return fmt.Sprintf("status %d", rec.Status), rec.Checked
	case rec.Outcome == site.Failed && rec.Failures >= ledger.LastingFailures && rec.Run >= n.since && (rec.Status == 0 || rec.Status >= 500): // 403 may be for us alone
		return fmt.Sprintf("failed in %d runs", ledger.LastingFailures), n.ended.Unix()
	case n.isSilent(rec.URL) && rec.InSet:
		return "its host does not answer", n.ended.Unix()
	}
	return "", 0
}

// isWell reports whether the site itself last gave a page.
func isWell(rec *store.Resource) bool {
	return rec.InSet && rec.Source == "" && !ledger.IsGone(rec) && rec.Outcome != site.Failed && rec.Failures == 0
}

// answeredLater reports whether another mirror of the same site has a page that one saw broken at a time, and had it after that.
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
		if ok && isWell(&rec) && rec.Checked > at {
			return true, nil
		}
	}
	return false, nil
}

// hadWhat reports whether the broken page, when its mirror last had it, was what another mirror has of the copy: the same bytes, or nearly the same text. Whoever
// copies a site must not say what is found at the paths that it loses.
func (k *neighbours) hadWhat(n *neighbour, broken *store.Resource, m *neighbour, copied *store.Resource) bool {
	if copied.Body == store.NoBody {
		return false
	}
	if broken.Body != store.NoBody && broken.Digest == copied.Digest {
		return true
	}
	if k.compared >= mostCompared {
		return false
	}
	k.compared++
	had, ok := n.lastHad(broken)
	if !ok || had.Digest == copied.Digest {
		return ok
	}
	if had.Body != store.PackBody || copied.Body != store.PackBody || had.Size > hosts.MaxCompared || copied.Size > hosts.MaxCompared {
		return false
	}
	one, ok := k.page(n, had)
	if !ok {
		return false
	}
	two, ok := k.page(m, copied)
	if !ok {
		return false
	}
	how, _ := one.Compare(two)
	return how == hosts.FullMatch || how == hosts.FullSimilar || how == hosts.HighSimilar
}

// lastHad returns the record of what the mirror last had of a page, which a collection of garbage leaves to the kept versions alone.
func (n *neighbour) lastHad(rec *store.Resource) (*store.Resource, bool) {
	if rec.Body != store.NoBody {
		return rec, true
	}
	versions, err := n.Versions.History(rec.URL)
	if err != nil {
		return nil, false
	}
	for i := len(versions) - 1; i >= 0; i-- {
		if v := &versions[i]; v.Known && v.Record.InSet && v.Record.Body != store.NoBody {
			return &v.Record, true
		}
	}
	return nil, false
}

// page reads what a mirror has stored of a document. It may be there no more.
func (k *neighbours) page(n *neighbour, rec *store.Resource) (hosts.PageBody, bool) {
	if k.frames == nil {
		k.frames = store.NewFrameReader()
	}
	fr, err := n.Frames.ReadFrame(k.frames, rec.At)
	if err != nil || sha256.Sum256(fr.Body) != rec.Digest {
		return hosts.PageBody{}, false
	}
	return hosts.AnswerBody(rec.MIME, rec.URL, fr.Body), true
}
