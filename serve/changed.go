// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"mirrord/phm/diff"
	"mirrord/replica/text"
	"mirrord/site"
)

// changedPath comes before YYYYMMDDhhmmss/URL, below a bar: what the page says in the version of that time
// beside what it said before, as plain text with the words marked that differ.
const changedPath = wellKnown + "changed/"

// changed is what the page of a change says.
type changed struct {
	W             *words
	Bar           *bar
	Title, Page   string
	Was, Now      barLink    // the state before the change, and the one after it
	Before, After barLink    // the changes before and after; may be empty
	Diff          *diff.Page // nil: there is no state before
	What          string     // says so
}

// changeTime bounds the work of a comparison.
const changeTime = time.Second

// change sends the page of the change that made u what it is in the version of a time.
func (v barred) change(u site.URL, t time.Time) error {
	if _, _, err := v.asOf(t); err != nil {
		return err
	}
	defer v.release()
	all, err := allStates(v.r.Context(), v.site, u)
	if err != nil {
		return err
	}
	has := mementosOf(all)
	if len(has) == 0 {
		v.never(v.w, v.r, u)
		return nil
	}
	w := v.wordsFor(v.r)
	c := changed{W: w, Page: u.String()}
	c.Bar, err = v.says(u, u, w, func(number int) bool {
		is := stateIn(all, number)
		return is != nil && !is.Missing
	})
	if err != nil {
		return err
	}
	i := inEffect(has, t)
	link := func(i int, at string) (l barLink) {
		if i >= 0 && i < len(has) {
			l.What = say(w.Version, "n", has[i].Number, "date", w.Day(has[i].Time))
			l.Address = strings.Replace(v.at(u, has[i].Time), mementos, at, 1)
		}
		return l
	}
	c.Was, c.Now, c.After = link(i-1, mementos), link(i, mementos), link(i+1, changedPath)
	c.What = say(w.Always, "date", w.Day(has[i].Time))
	if i > 0 {
		if c.Diff, c.Page, err = compareStates(v.view, u, has[i-1].Number, has[i].Number); err != nil {
			return err
		}
	}
	if i > 1 {
		c.Before = link(i-1, changedPath)
	}
	c.Title = w.Changed + " · " + c.Page
	v.private()
	v.sendPage(v.w, v.r, http.StatusOK, "changed", c)
	return nil
}

// compareStates compares what u says in two versions, and returns its title in the newer one. As many
// comparisons are made concurrently as compressions.
func compareStates(v *view, u site.URL, from, to int) (p *diff.Page, title string, err error) {
	ctx := v.r.Context()
	select {
	case v.codings <- struct{}{}:
		defer func() { <-v.codings }()
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	var sides [2]diff.Body
	for i, number := range []int{from, to} {
		snap, err := v.site.Snapshot(ctx, number)
		if err != nil {
			return nil, "", err
		}
		defer snap.release()
		r, ok, err := snap.Table.Find(u)
		if err != nil {
			return nil, "", err
		}
		if !ok || !isPageType(r.MIME) { // it says nothing
			continue
		}
		body, err := readPage(snap.Table, r, largestFramed)
		if err != nil {
			return nil, "", err
		}
		sides[i], title = diff.Said(diff.Body{Data: body, Type: contentType(r)}), titleOf(r, body)
	}
	return diff.Pages(sides[0], sides[1], diff.Options{Timeout: changeTime}), title, nil
}

// titleOf is the title of a page that begins so, or else its address.
func titleOf(r Resource, head []byte) string {
	title := ""
	if strings.Contains(r.MIME, "html") {
		title = strings.TrimSpace(text.Title(head, r.Charset))
	}
	return cmp.Or(title, r.URL.RequestURI())
}
