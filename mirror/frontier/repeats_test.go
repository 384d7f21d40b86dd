// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/record"
)

// generated is a site that a program makes: what the page at an address says and shows, and what it names.
type generated func(u string) (said string, shows, names []string)

const home = "http://h"

// crawl requests a site as a run does: by levels, but for pages that are left. before is what the mirror has.
func (g generated) crawl(
	s *StateRepeats, start string, most int, before map[string]string,
) (had map[string]string, left []string) {
	had = map[string]string{}
	all, number := []string{start}, map[string]bool{start: true}
	ask := func(id uint32) {
		page := all[id]
		u, isNew := site.Canonical(home+page), before[page] == ""
		switch {
		case isNew && s.Leaves(u):
			left = append(left, page)
			return
		case isNew && s.PutOff(id, u, u), len(had) == most:
			return
		}
		said, shows, names := g(page)
		had[page] = said
		var cs []scope.Candidate
		var links []relocate.Link
		for _, n := range names {
			cs = append(cs, scope.Candidate{URL: []byte(home + n)})
			if !number[n] {
				number[n], all = true, append(all, n)
			}
		}
		for _, n := range shows {
			links = append(links, relocate.Link{URL: []byte(home + n), Kind: relocate.Requisite})
		}
		s.Named(func() site.URL { return u }, cs)
		s.Read(u, func() []byte { return []byte(said) }, true, isNew, links)
	}
	for done := 0; ; {
		for ; done < len(all); done++ {
			ask(uint32(done))
		}
		late := s.Resume(nil)
		if len(late) == 0 {
			break
		}
		for _, id := range late {
			ask(id)
		}
	}
	for _, id := range s.Waiting() {
		left = append(left, all[id])
	}
	return had, left
}

// prose makes a text of its own for each name.
func prose(name string, n int) string {
	list := strings.Fields("harbour lamp orchard copper winter ledger stone river paper engine meadow signal " +
		"timber coast archive kettle ribbon north valley grain bridge tower")
	seed := [32]byte{}
	copy(seed[:], name)
	r, out := rand.New(rand.NewChaCha8(seed)), ""
	for range n {
		out += list[r.IntN(len(list))] + " "
	}
	return out
}

const (
	commits = 30
	files   = 12
)

// commit is the name of a commit, the newest one has the number 1.
func commit(c int) string {
	r := rand.New(rand.NewPCG(uint64(c), 7))
	return fmt.Sprintf("ab1%037x", r.Uint64())
}

// browser is a browser of code: address makes an address of a view of a file in a commit, 0 for the newest.
// Each commit changes one file. A page shows the message of its commit.
func browser(address func(verb string, file, commit int) string) (g generated, addresses, texts int) {
	verbs := []string{"file", "blame", "log", "diff", "raw", "stat"}
	for _, more := range []string{"?lines=1", "?lines=2", "?lines=3"} {
		for _, v := range verbs[:6] {
			verbs = append(verbs, v+more)
		}
	}
	type page struct {
		verb         string
		file, commit int
	}
	at := map[string]page{}
	for _, v := range append([]string{"commit", "root"}, verbs...) {
		for f := range files {
			for c := range commits + 1 {
				at[address(v, f, c)] = page{v, f, c}
			}
		}
	}
	g = func(u string) (said string, shows, names []string) {
		p := at[u]
		if u == "/" {
			for c := range commits {
				names = append(names, address("commit", 0, c+1))
			}
			return "the log of all that was done here", nil, append(names, address("root", 0, 0))
		}
		if p.commit > 0 {
			said = "<p>" + prose(fmt.Sprint("message ", p.commit), 7)
		}
		changed := max(p.commit, 1) // the commit that last changed the file
		for changed < commits && changed%files != p.file {
			changed++
		}
		verb, _, _ := strings.Cut(p.verb, "?")
		switch {
		case verb == "commit":
			said += "<p>parent and tree <p>" + prose(fmt.Sprint("diff ", p.commit), 30)
			names = []string{address("root", 0, p.commit)}
		case verb == "root":
			for f := range files {
				names = append(names, address("file", f, p.commit))
			}
			said += "<p>all files <p>" + fmt.Sprint(1000+p.commit)
		case verb == "diff" && p.commit != changed:
			said += "<p>no change"
		default:
			said += "<p>this is the " + verb + " of it <p>" + prose(fmt.Sprint(verb, p.file, " ", changed), 30)
		}
		if verb != "commit" && verb != "root" {
			for _, v := range verbs {
				names = append(names, address(v, p.file, p.commit))
			}
		}
		return said, nil, names
	}
	all := map[string]bool{}
	for u := range at {
		said, _, _ := g(u)
		all[own(said)] = true
	}
	return g, len(at), len(all)
}

// own is what a page says beside the message of its commit.
func own(said string) string { return said[strings.LastIndex(said, "<p>")+3:] }

// A browser of code ends in three requests for each text: whether commits stand in the query or in the path.
func TestCodeSitesEnd(t *testing.T) {
	for name, address := range map[string]func(verb string, file, c int) string{
		"query": func(verb string, file, c int) string {
			verb, more, _ := strings.Cut(verb, "?")
			u := fmt.Sprintf("/%s/%c.txt", verb, 'g'+rune(file))
			if verb == "commit" || verb == "root" {
				u = "/" + verb + "/"
			}
			if c > 0 {
				more = strings.TrimPrefix(more+"&id="+commit(c), "&")
			}
			return strings.TrimSuffix(u+"?"+more, "?")
		},
		"path": func(verb string, file, c int) string {
			verb, more, _ := strings.Cut(verb, "?")
			at, name := "tip", fmt.Sprintf("/%c.txt", 'g'+rune(file))
			if c > 0 {
				at = commit(c)
			}
			if verb == "commit" || verb == "root" {
				name = ""
			}
			return strings.TrimSuffix("/"+verb+"/"+at+name+"?"+more, "?")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStateRepeats(nil, 1, newTable())
			g, addresses, texts := browser(address)
			had, left := g.crawl(s, "/", addresses, nil)
			newest, has := 0, map[string]bool{}
			for _, said := range had {
				has[own(said)] = true
			}
			for u := range had {
				if strings.HasPrefix(u, "/file/") && !strings.Contains(u, commit(1)[:3]) {
					newest++
				}
			}
			for c := range commits {
				if u := address("commit", 0, c+1); had[u] == "" {
					t.Errorf("without %s", u)
				}
			}
			if len(had) > 3*texts || 5*len(has) < 4*texts || newest != 4*files {
				t.Errorf("%d requests for %d of %d texts, %d files", len(had), len(has), texts, newest/4)
			}
			t.Logf("%d addresses, %d texts: %d requests, %d texts had", addresses, texts, len(had), len(has))
			out := map[site.URL]bool{}
			for run := 2; run < 9; run++ { // nothing new is requested
				var in []site.URL
				for _, u := range left {
					out[site.Canonical(home+u)] = true
				}
				for u := range had {
					if id := site.Canonical(home + u); s.LeavesNow(id) {
						delete(had, u)
						out[id] = true
					} else {
						in = append(in, id)
					}
				}
				table, n := newTable(in...), uint32(len(in))-1
				table.Settled().Reserve(uint32(len(in) + len(out)))
				for u := range out {
					n++
					rec := record.Resource{ID: n, URL: u, Outcome: site.OutOfScope}
					table.Settled().Load(&rec, urls.Run{Number: 2, Version: 2})
				}
				s = NewStateRepeats(s.Learned(), run, table)
				var all map[string]string
				all, left = g.crawl(s, "/", addresses, had)
				for u := range all {
					if had[u] == "" {
						t.Errorf("run %d requests %s", run, u)
					}
				}
			}
			if len(had) > 3*texts {
				t.Errorf("%d pages of %d texts", len(had), texts)
			}
		})
	}
}

// hex is a name of a page.
func hex(i int) string { return commit(i)[:12] }

// Other sites that have hashes in their addresses are requested as a whole.
func TestOtherSitesStay(t *testing.T) {
	list := func(n int, of ...func(i int) string) (names []string) {
		for _, f := range of {
			for i := range n {
				names = append(names, f(i+1))
			}
		}
		return names
	}
	thread := func(i int) string { return "/t/" + hex(i) }
	last := func(i int) string { return "/t/" + hex(i) + "/last" }
	item := func(i int) string { return "/item/" + hex(i) + "?from=list" }
	views := func(i int) string { return "/item/" + hex(i) + "/pictures" }
	number := map[string]int{}
	for i := range 101 {
		for _, f := range []func(int) string{thread, last, item, views} {
			number[f(i)] = i
		}
	}
	const template = "<p>welcome to the forum of those who like to read by the light of lamps"
	for name, g := range map[string]generated{
		"forum": func(u string) (string, []string, []string) {
			if u == "/" {
				return template, nil, list(100, thread)
			}
			i := number[u]
			said := template + "<p>" + prose(fmt.Sprint("post ", i), 6)
			if u == last(i) {
				return said + "<p>" + prose(fmt.Sprint("last ", i), 6), nil, nil
			}
			return said, nil, []string{last(i), thread(i%100 + 1)}
		},
		"shop": func(u string) (string, []string, []string) {
			i := number[u]
			switch u {
			case "/":
				return "all lamps", nil, list(100, item)
			case views(i):
				return "lamp in pictures", []string{fmt.Sprintf("/p/%s.jpg", hex(i))}, nil
			}
			return fmt.Sprintf("a lamp that is good <p>price %d", 100+i), nil, []string{views(i), item(i%100 + 1)}
		},
		"documentation": func(u string) (string, []string, []string) {
			if u == "/" {
				return "all builds", nil, list(12, func(i int) string { return "/docs/" + hex(i) + "/" })
			}
			build, page, _ := strings.Cut(strings.TrimPrefix(u, "/docs/"), "/")
			if page == "" {
				return "documentation of a build " + prose(build, 9), nil, list(40, func(i int) string {
					return fmt.Sprintf("/docs/%s/chapter%d", build, i)
				})
			}
			said := prose(page, 40)
			if len(page)%2 == 0 || strings.ContainsAny(page[len(page)-1:], "13579") {
				said += prose(build+page, 9)
			}
			return said, nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStateRepeats(nil, 1, newTable())
			had, left := g.crawl(s, "/", 10000, nil)
			if slices.Sort(left); len(left) > 0 {
				t.Errorf("%d of %d are left: %q", len(left), len(had)+len(left), left[:min(len(left), 3)])
			}
		})
	}
}

// URLs of one page are judged together: one that repeats another URL of its page gives its request back, one
// that waits is requested when it stands for a page that said something new, and others wait with it.
func TestURLsOfOnePage(t *testing.T) {
	at := func(view string, c int) site.URL {
		return site.Canonical(fmt.Sprintf("%s/%s/a.txt?id=%s", home, view, commit(c)))
	}
	for name, c := range map[string]struct {
		to    func(u site.URL) site.URL // the main one
		turns bool
	}{
		"all differ": {to: func(u site.URL) site.URL { return u }},
		"one page": {
			to: func(u site.URL) site.URL {
				if u == at("file", 9) {
					return u
				}
				return at("file", 1)
			},
			turns: true,
		},
		"main": {
			to: func(u site.URL) site.URL {
				if u == at("new", 8) {
					return at("file", 9)
				}
				return u
			},
			turns: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStateRepeats(nil, 1, newTable())
			read := func(u site.URL, said string) {
				s.Read(u, func() []byte { return []byte("<p>" + prose(said, 30)) }, true, true, nil)
			}
			for i := range 2 + placeCredit { // the first page of the view is new, the others repeat it
				read(at("blame", 1+i), fmt.Sprint("blame ", i))
				read(at("file", 1+i), "one")
			}
			read(at("new", 8), "two")
			if !s.PutOff(9, at("file", 9), at("file", 9)) || s.PutOff(1, at("file", 1), at("file", 1)) {
				t.Fatal("a page without credit has its turn, or one waits that was read")
			}
			if !s.PutOff(10, at("tree", 10), at("file", 9)) || s.PutOff(11, at("tree", 11), at("tree", 11)) {
				t.Error("a page does not wait with its main one, or one waits that has credit")
			}
			if !s.LeavesNow(at("file", 9)) || s.Leaves(at("file", 9)) || s.LeavesNow(at("new", 8)) {
				t.Error("other pages are left")
			}
			s.sampled[urls.StatedOf(at("file", 9)).Place] = sampled // it has no more
			ids := s.Resume(s.Share(func(u site.URL) site.URL {
				if u == at("tree", 10) {
					return at("file", 9)
				}
				return c.to(u)
			}))
			if got := slices.Contains(ids, 9); got != c.turns || slices.Contains(ids, 10) {
				t.Errorf("%d have their turn", ids)
			}
		})
	}
}
